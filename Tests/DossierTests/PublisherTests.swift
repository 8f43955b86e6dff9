import EventLoop
import JSON
import Postgres
import Records
import Runtime
import Tenancy
import TestSupport
import Testing

@testable import Events

/// Tests that each event is published once, at positions without gaps, after any interruption.
@Suite struct PublisherTests {
  init() { LoopThread.start() }

  private static let writers = 400
  private static let users = 20
  private static let app = AppID(trusted: String(repeating: "a", count: 24))

  /// An app with both feeds, and users with a document and many live sessions.
  private static let rows = """
    insert into apps (app_id, name, settings) values (repeat('a', 24), 'fed',
      '{"event_feed": true, "event_types": ["metadata.changed"], "revocation_feed": true}');
    insert into users (user_id, app_id, anonymous)
    select lpad(g::text, 24, '0'), repeat('a', 24), true from generate_series(1, \(users)) g;
    insert into documents (user_id, kind, body, version)
    select user_id, 'metadata', '{}', 0 from users where app_id = repeat('a', 24);
    insert into devices (device_id, app_id, secret_hash, user_ids)
    values (repeat('d', 24), repeat('a', 24), '', '{}');
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      expires_at)
    select lpad((g % \(users) + 1)::text, 24, '0'), lpad(g::text, 24, 'e'), repeat('a', 24),
      repeat('d', 24), 'anonymous', '', '', now() + interval '10 days'
    from generate_series(0, \(writers - 1)) g;
    """

  private enum Queries {
    static let change = Statement<Int, UserID>(
      "test.change",
      """
      update documents set version = version + 1 where user_id = $1 and kind = 'metadata'
      returning version::bigint
      """)
    static let end = Statement<NoRow, UserID, SessionID>(
      "test.end",
      "update sessions set ended_at = now(), end_reason = 'logout' where user_id = $1 and session_id = $2"
    )
    static let kill = Statement<NoRow, String>(
      "test.kill",
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1"
    )
    static let left = Statement<Int>(
      "test.left",
      """
      select (select count(*) from audit where pending) + (select count(*) from unpublished_changes)
        + (select count(*) from sessions where ended_at is not null and revocation_position is null)
      """)
    static let positions = Statement<EventPlaceInFeed, String>(
      "test.positions",
      "select event_id, position from feed_events where feed_id = $1 order by position")
    /// The versions of documents in the order of the feed, by the user.
    static let versions = Statement<String, String>(
      "test.versions",
      """
      select user_id || string_agg(' ' || (data ->> 'version'), '' order by position)
      from feed_events where feed_id = $1 and type = 'metadata.changed' group by user_id
      """)
    static let ended = Statement<String>(
      "test.ended", "select session_id from sessions where ended_at is not null")
    static let kept = Statement<Int>(
      "test.kept", "select count(*) from audit where action = 'data_change'")
  }

  @EventLoop private static func dependencies(_ database: Database) -> Dependencies {
    let master = MasterKey(Array(repeating: 7, count: 32))
    let catalog = AppCatalog(settings: RecordShape([EventSettings.self]), parts: [])
    return Dependencies(
      database: database, keys: Keyring(master: master, database: database),
      calculator: FairPool(name: "publisher", threads: 1, waiting: 1, patience: .seconds(600)),
      services: [Apps(database: database, catalog, fallback: "default")])
  }

  @EventLoop private static func database(_ name: String, _ label: String, _ count: Int) -> Database
  {
    var settings = DatabaseSettings.patient(name, applicationName: label)
    settings.writeConnections = count
    let database = Database(settings)
    database.start()
    return database
  }

  /// The commits of the writers.
  @EventLoop private final class Committed {
    /// The last version of the document of each user.
    var versions: [UserID: Int] = [:]
    var running = 0
    var count = 0
    /// How many of them the audit log keeps.
    var logged = 0
  }

  @Test @EventLoop func `late, rolled back and killed writers and publishers lose nothing`()
    async throws
  {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let admin = try await Database.started(on: name, after: Self.rows)
    let writers = Self.database(name, "writer", 24)
    let committed = Committed()
    committed.running = Self.writers
    let dependencies = Self.dependencies(writers)
    let app = try await dependencies[Apps.self].app(Self.app)
    for number in 0..<Self.writers {
      EventLoop.task {
        await write(number, RequestContext(dependencies, app: app), committed)
        committed.running -= 1
      }
    }
    // Each publisher is another one after its connections were killed.
    let labels = (1...3).map { "publisher-\($0)" }
    var publishing: [Task<Int, Never>] = []
    for label in labels {
      publishing.append(
        EventLoop.task {
          let database = Self.database(name, label, 1)
          defer { database.stop() }
          var deaths = 0
          var publisher = EventPublisher(Self.dependencies(database)) { _ in }
          while true {
            let isLast = committed.running == 0
            do {
              let count = try await publisher.publish()
              if isLast, count == 0, try await admin.write(Queries.left) == [0] { return deaths }
            } catch {
              deaths += 1
              publisher = EventPublisher(Self.dependencies(database)) { _ in }
            }
            await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...5)))
          }
        })
    }
    while committed.running > 0 {
      await EventLoop.sleep(for: .milliseconds(Int.random(in: 5...60)))
      _ = try await admin.write(Queries.kill, labels.randomElement() ?? "")
    }
    var deaths = 0
    for task in publishing { deaths += await task.value }
    #expect(deaths > 3)
    try await check(admin, committed)
    admin.stop()
    writers.stop()
  }

  /// Changes a document and ends a session, each with a late commit; a tenth is rolled back.
  @EventLoop private func write(
    _ number: Int, _ context: RequestContext, _ committed: Committed
  ) async {
    let user = UserID(trusted: padded(number % Self.users + 1, "0"))
    let isRolledBack = number % 10 == 3
    context.principal = Principal(
      user, SessionID(trusted: padded(number, "e")),
      DeviceID(trusted: String(repeating: "d", count: 24)),
      in: Self.app, scopes: .everything)
    let version = try? await context.transaction { (transaction) async throws(Failure) -> Int in
      let version = try await transaction.run(Queries.change, user).first ?? 0
      let event =
        if isLogged(number) {
          Event("data_change", of: user, detail: ["what": "metadata"])
        } else {
          try Event(changeOf: "metadata", of: user, context).orGone(context)
        }
      event.adding(version: version).record(in: transaction)
      if number % 4 == 0 {
        _ = transaction.send(Queries.end, user, SessionID(trusted: padded(number, "e")))
      }
      await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...20)))
      if isRolledBack { throw .notFound }
      return version
    }
    guard let version else {
      if !isRolledBack { Issue.record("writer \(number) has failed") }
      return
    }
    committed.count += 1
    if isLogged(number) { committed.logged += 1 }
    committed.versions[user] = max(committed.versions[user] ?? 0, version)
  }

  /// Whether the audit log keeps the change of a writer; the others are only published.
  private nonisolated func isLogged(_ number: Int) -> Bool { number % 5 == 1 }

  private nonisolated func padded(_ number: Int, _ digit: Character) -> String {
    let text = "\(number)"
    return String(repeating: digit, count: 24 - text.count) + text
  }

  @EventLoop private func check(_ database: Database, _ committed: Committed) async throws {
    let feed = Self.app.text
    let events = try await database.write(Queries.positions, feed)
    let ended = try await database.write(Queries.ended)
    #expect(ended.count > 50)
    #expect(events.map(\.position) == Array(1...events.count))
    #expect(Set(events.map(\.id)).count == events.count)
    #expect(events.count == committed.count + ended.count)
    #expect(Set(ended).subtracting(events.map(\.id)) == [])
    // Each document's versions, in their order and without a gap.
    let versions = try await database.write(Queries.versions, feed)
    let expected = committed.versions.map { user, last in
      user.text + (1...last).map { " \($0)" }.joined()
    }
    #expect(versions.sorted() == expected.sorted())
    let refused = try await database.write(Queries.positions, EventFeed.revocations(of: Self.app))
    #expect(refused.map(\.position) == Array(1...refused.count))
    #expect(refused.map(\.id).sorted() == ended.sorted())
    #expect(committed.logged > 50)
    #expect(try await database.write(Queries.kept) == [committed.logged])
  }
}
