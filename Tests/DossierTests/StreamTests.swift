import EventLoop
import JSON
import Postgres
import Runtime
import TestSupport
import Testing

@testable import Changes
@testable import Streams

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

  @Test func `a ticket opens with its key alone`() throws {
    let subject = StreamTicket.UserSubject(
      user: UserID(), session: SessionID(), cursor: "c", hidesAppMetadata: true, expiresAt: 17)
    let ticket = StreamTicket(.user(subject))
    let text = try ticket.text(master)
    guard case .user(let opened) = StreamTicket(text, master)?.subject else {
      Issue.record("no ticket of a user")
      return
    }
    #expect(opened.user == subject.user)
    #expect(opened.session == subject.session)
    #expect(opened.cursor == "c")
    #expect(opened.hidesAppMetadata)
    #expect(opened.expiresAt == 17)
    #expect(try ticket.path(master).hasPrefix("/-/streams/open?ticket="))
    #expect(StreamTicket(inQuery: "ticket=\(text)", master) != nil)
    #expect(StreamTicket(inQuery: text, master) == nil)
    let other = MasterKey([UInt8](repeating: 8, count: 32))
    #expect(StreamTicket(text, other) == nil)
  }

  @Test func `a ticket for a feed keeps its filter`() throws {
    let all = EventTypes(EventType.allCases)
    for (types, user) in [(nil, nil), (all, UserID()), (EventTypes(.userCreated), nil)] {
      let subject = StreamTicket.FeedSubject(feed: "f", position: 9, types: types, user: user)
      let text = try StreamTicket(.feed(subject)).text(master)
      guard case .feed(let opened) = StreamTicket(text, master)?.subject else {
        Issue.record("no ticket for a feed")
        continue
      }
      #expect(opened.feed == "f")
      #expect(opened.position == 9)
      #expect(opened.types == types)
      #expect(opened.user == user)
    }
    let later = JSONObject([("feed", "f"), ("position", 9), ("types", "user.unheard_of")])
    let text = try master.sealedText(later, as: "stream ticket", for: .seconds(60))
    #expect(StreamTicket(text, master) == nil)
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
    let event = StreamEvent.change(
      state.changed([.metadata, .customData, .sessions]), "abc")
    let data = #"{"metadata":{"version":1},"custom_data":{"version":0},"sessions":{}}"#
    #expect(String(decoding: event, as: UTF8.self) == "event: change\nid: abc\ndata: \(data)\n\n")
    #expect(
      String(decoding: StreamEvent.end("logout"), as: UTF8.self)
        == "event: end\ndata: {\"reason\":\"logout\"}\n\n")
  }
}
