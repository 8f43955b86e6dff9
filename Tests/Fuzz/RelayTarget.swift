@testable import Outbound

extension FuzzTarget {
  /// The lines of a mail relay.
  static let relayReplies = FuzzTarget(
    "relay-replies",
    words: ["220 ", "250-", "250 ", "354 ", "421 ", "450 ", "550-", "550 ", "\r\n"],
    bound: MemoryBound(factor: 40, base: 65_536)
  ) { input in
    var replies = SMTPReplies()
    for line in lines(input) where replies.take(line) {
      guard let last = replies.last else { return expect(false, "a line without a reply") }
      expect((200...599).contains(last.code), "an unknown code: \(last.code)")
      let isPrintable = last.text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
      expect(isPrintable && last.text.utf8.count <= 300, "not printable: \(last.text)")
    }
  }
}
