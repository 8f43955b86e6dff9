import EventLoop
import JSON
import Postgres
import Runtime
import TestSupport
import Testing

@testable import Changes

/// Tests what `dossier-streams` reads from outside.
@Suite struct StreamTests {
  private let master = MasterKey([UInt8](repeating: 7, count: 32))

  private func head(_ fields: String...) -> [UInt8] {
    let block = fields.map { "\($0)\0" }.joined()
    return Array("\(block.utf8.count):\(block),".utf8)
  }

  @Test func `a head is read when it is whole`() {
    let bytes = head(
      "CONTENT_LENGTH", "0", "SCGI", "1", "QUERY_STRING", "ticket=x", "REMOTE_ADDR", "192.0.2.1",
      "HTTP_LAST_EVENT_ID", "")
    for count in 0..<bytes.count {
      #expect(SCGIHead.read(Array(bytes.prefix(count))) == .incomplete)
    }
    guard case .whole(let head) = SCGIHead.read(bytes + [1, 2]) else {
      Issue.record("no head")
      return
    }
    #expect(head.query == "ticket=x")
    #expect(head.address == "192.0.2.1")
    #expect(head.lastEventID?.isEmpty == true)
  }

  @Test(arguments: ["x", ":", "0:,", "-1:,", "99999:", "123456", "3:a\0b,", "4:a\0b\0;", "2:a\0,"])
  func `another text is refused`(text: String) {
    #expect(SCGIHead.read(Array(text.utf8)) == .invalid)
  }

  private var ticket: StreamTicket {
    StreamTicket(
      user: UserID(), session: SessionID(), cursor: "c", hidesAppMetadata: true, expiresAt: 17)
  }

  @Test func `a ticket opens with its key alone`() throws {
    let ticket = ticket
    let text = try ticket.text(master)
    let opened = try #require(StreamTicket(text, master))
    #expect(opened.user == ticket.user)
    #expect(opened.session == ticket.session)
    #expect(opened.cursor == "c")
    #expect(opened.hidesAppMetadata)
    #expect(opened.expiresAt == 17)
    #expect(StreamTicket.path(text).hasSuffix("?ticket=\(text)"))
    #expect(StreamTicket(inQuery: "ticket=\(text)", master) != nil)
    #expect(StreamTicket(inQuery: text, master) == nil)
    let other = MasterKey([UInt8](repeating: 8, count: 32))
    #expect(StreamTicket(text, other) == nil)
  }

  @Test func `an old ticket and a text for something else are refused`() throws {
    let content = JSONObject([
      ("user", .string(UserID().text)), ("session", .string(SessionID().text)), ("expires_at", 17),
    ])
    for (name, lifetime, isValid) in [
      ("stream ticket", 60, true), ("stream ticket", 0, false), ("another", 60, false),
    ] {
      let text = try master.sealedText(content, as: name, for: .seconds(lifetime))
      #expect((StreamTicket(text, master) != nil) == isValid, "\(name) \(lifetime)")
    }
  }

  @Test func `an event has one line of data`() {
    let state = UserState([3, 1, 0, -4, 0, 9, 0, 0, 0, 0, 0])
    let event = StreamEvent.change([.metadata, .customData, .sessions], of: state, "abc")
    let data = #"{"metadata":{"version":1},"custom_data":{"version":0},"sessions":{}}"#
    #expect(String(decoding: event, as: UTF8.self) == "event: change\nid: abc\ndata: \(data)\n\n")
    #expect(
      String(decoding: StreamEvent.end("logout"), as: UTF8.self)
        == "event: end\ndata: {\"reason\":\"logout\"}\n\n")
  }
}
