import Testing

@testable import Outbound

/// Tests how the replies of a relay are read.
@Suite struct SMTPReplyTests {
  private func replies(_ lines: [String]) -> SMTPReplies? {
    var replies = SMTPReplies()
    return lines.allSatisfy { replies.take($0.utf8) } ? replies : nil
  }

  @Test func `the lines of a reply are one text`() throws {
    let read = try #require(replies(["220 hello\r\n", "250-first\r", "250-", "250 last \u{7}é"]))
    #expect(read.isWhole)
    #expect(read.last?.code == 250 && read.last?.text == "first  last ?" + "?")
    #expect(read.last?.isFirst == false)
    #expect(replies(["554 no"])?.last?.isFirst == true)
    #expect(replies(["250-first"])?.isWhole == false)
    #expect(replies(["250"])?.isWhole == true)
  }

  @Test(arguments: [
    [""], ["25"], ["abc d"], ["250x"], ["199 x"], ["600 x"], ["+25 x"], ["２50 x"],
    ["250-a", "251 b"], Array(repeating: "250-a", count: 101),
  ])
  func `other lines are refused`(_ lines: [String]) {
    #expect(replies(lines) == nil)
  }

  @Test func `a message is sent with doubled dots and one end`() {
    func sent(_ text: String) -> String {
      String(decoding: SMTPDialogue.stuffed(Array(text.utf8)), as: UTF8.self)
    }
    #expect(sent("a\r\n.\r\n..b\r\n") == "a\r\n..\r\n...b\r\n.\r\n")
    #expect(sent(".") == "..\r\n.\r\n")
    #expect(sent("") == ".\r\n")
  }
}
