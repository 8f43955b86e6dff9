import EventLoop
import Events
import Outbound
import Postgres
import Records
import Runtime
import Tenancy
import TestSupport
import Testing

@testable import LogStreams

/// Tests the messages of log streams, and that workers together keep their positions.
@Suite struct LogStreamTests {
  init() { LoopThread.start() }

  // MARK: Syslog

  private func message(
    type: String = "user.created", position: Int = 7, host: String = "host", version: String = "1.0"
  ) -> String {
    let event = FeedMessage(
      event: "0", type: type, at: Timestamp(microseconds: 1_769_860_800_133_488),
      data: Array("{\"a\":\n\"\\u00e9\"}".utf8))
    let sender = SyslogSender(host: host, process: 12, version: version)
    return String(
      decoding: SyslogMessage(event, at: position, of: "siem", from: sender).bytes, as: UTF8.self)
  }

  @Test func `a message is that of the specification`() {
    #expect(
      message() == """
        <86>1 2026-01-31T12:00:00.133488Z host dossier 12 user.created \
        [origin software="Dossier" swVersion="1.0"][meta sequenceId="7"] \
        {"stream":"siem","event":{"id":"evt_0","type":"user.created",\
        "timestamp":"2026-01-31T12:00:00.133488+00:00","data":{"a": "\\u00e9"}}}
        """)
  }

  @Test func `fields of the header are bounded and visible`() {
    let long = message(
      type: String(repeating: "t", count: 40), host: String(repeating: "h", count: 300))
    let words = long.split(separator: " ")
    #expect(words[2].utf8.count == 255)
    #expect(words[5].utf8.count == 32)
    #expect(message(host: "").split(separator: " ")[2] == "-")
    #expect(message(host: "a b\u{e9}\n").split(separator: " ")[2] == "ab")
  }

  @Test func `values of structured data are escaped`() {
    #expect(message(version: "a\"]\\").contains(#"swVersion="a\"\]\\"]"#))
    #expect(SyslogMessage.value("12345", 3) == "\"123\"")
  }

  @Test(
    arguments: [
      (0, 1), (1, 1), (2_147_483_647, 2_147_483_647), (2_147_483_648, 1),
    ] as [(Int, Int)])
  func `sequenceId stays in its range`(position: Int, number: Int) {
    #expect(message(position: position).contains("sequenceId=\"\(number)\"]"))
  }

  // MARK: Claims

  private static let app = String(repeating: "a", count: 24)
  private static let stream = String(repeating: "c", count: 24)
  private static let events = 1_300

  /// An app with a feed, and a stream that wants two thirds of it.
  private static let rows = """
    insert into apps (app_id, name) values ('\(app)', 'fed');
    insert into log_streams (stream_id, app_id, attributes) values ('\(stream)', '\(app)',
      '{"name": "siem", "kind": "file", "types": ["user.*"]}');
    insert into event_feeds (feed_id, last_position) values ('\(app)', \(events));
    insert into feed_events (feed_id, position, event_id, user_id, type, at, data)
    select '\(app)', g, lpad(to_hex(g), 24, '0'), lpad((g % 7)::text, 24, 'e'),
      (array['user.created', 'session.ended', 'user.updated'])[g % 3 + 1],
      now() + interval '1 minute', '{}'
    from generate_series(1, \(events)) g;
    insert into log_stream_progress (stream_id, position) values ('\(stream)', 0);
    """

  @EventLoop private static func dependencies(_ database: Database) -> Dependencies {
    let master = MasterKey(Array(repeating: 7, count: 32))
    let catalog = AppCatalog(
      settings: RecordShape([EventSettings.self]), parts: [AppLogStreams.self])
    return Dependencies(
      database: database, keys: Keyring(master: master, database: database),
      calculator: FairPool(name: "streams", threads: 1, waiting: 1, patience: .seconds(600)),
      services: [
        Apps(database: database, catalog, fallback: "fed"),
        LogStreamSender(
          HTTPSourceSettings(), syslog: "/nowhere",
          SyslogSender(host: "h", process: 1, version: "1")),
      ])
  }

  private enum Queries {
    static let release = Statement<NoRow, String>(
      "test.release_stream",
      "update log_stream_progress set not_before = null, leased_until = now() where stream_id = $1")
  }

  @Test @EventLoop func `several workers write each event once, in order`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let database = try await Database.started(on: name, after: Self.rows)
    defer { database.stop() }
    let dependencies = Self.dependencies(database)
    let app = try await dependencies[Apps.self].app(AppID(trusted: Self.app))
    #expect(app.logStreams.map(\.key) == [Self.stream])
    #expect(app.events.feed.contains(.userCreated))
    #expect(!app.events.feed.contains(.sessionEnded))
    var (written, failures): ([String], Int) = ([], 0)
    dependencies[LogStreamSender.self].writesLine = { event, _ in
      // Every 200th line fails once.
      if written.count % 200 == 199, failures <= written.count / 200 {
        failures += 1
        return false
      }
      written.append(String(decoding: event, as: UTF8.self))
      return true
    }
    let workers = (0..<3).map { _ in LogStreamWorker(dependencies) { _ in } }
    let expected = (1...Self.events).filter { $0 % 3 != 1 }.map { number in
      let digits = String(number, radix: 16)
      return "evt_" + String(repeating: "0", count: 24 - digits.utf8.count) + digits
    }
    while written.count < expected.count {
      _ = try await database.write(Queries.release, Self.stream)
      let tasks = workers.map { worker in
        EventLoop.task { try? await worker.send(Self.stream, of: Self.app) }
      }
      for task in tasks { await task.value }
    }
    let found = written.compactMap { $0.split(separator: "\"").first { $0.hasPrefix("evt_") } }
    #expect(found.map(String.init) == expected)
    #expect(failures > 2)
    let status = try await database.write(LogStreamQueries.status, Self.stream).first
    #expect(status?.position == Self.events)
    #expect(status?.lost == 0)
  }
}
