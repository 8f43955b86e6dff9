import Streams
import Runtime

extension FuzzTarget {
  /// The head of a request by SCGI.
  ///
  /// It is read in parts as in one piece, and has no field that the input does not have.
  static let streamHeads = FuzzTarget(
    "stream-heads",
    words: ["QUERY_STRING", "REMOTE_ADDR", "HTTP_LAST_EVENT_ID", "\u{0}", ",", ":"],
    bound: MemoryBound(factor: 80, base: 65_536)
  ) { input in
    let reading = SCGIHead.read(input)
    guard case .whole(let head) = reading else { return }
    expect(SCGIHead.read(input + [0]) == reading, "later bytes change the head")
    for count in stride(from: 0, to: input.count, by: max(1, input.count / 16)) {
      let part = SCGIHead.read(Array(input.prefix(count)))
      expect(part == .incomplete || part == reading, "a part is another head: \(part)")
    }
    for text in [head.query, head.address ?? "", head.lastEventID ?? ""] {
      // A byte that is not UTF-8 becomes a character of three.
      expect(text.utf8.count <= 3 * input.count, "a field is longer than the input")
    }
    expect(StreamTicket(inQuery: head.query, key) == nil, "a forged ticket opens: \(head.query)")
  }

  private static let key = MasterKey([UInt8](repeating: 7, count: 32))
}
