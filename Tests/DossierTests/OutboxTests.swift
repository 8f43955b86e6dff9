import EventLoop
import Postgres
import Runtime
import TestSupport
import Testing

@testable import Delivery

/// Tests that several workers share the outbox.
@Suite struct OutboxTests {
  init() { LoopThread.start() }

  /// Rows of which all workers read the same pages.
  private static let rows = """
    insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at)
    select lpad(to_hex(g), 24, '0'), app_id, 'logout', '', now() + interval '1 hour'
    from apps, generate_series(1, 300) g
    """

  private final class PlainDesign: MailDesign {
    func name(of app: App) -> String { "" }
    func language(of app: App) -> String { "en" }
    func html(of mail: QueuedMail, for app: AppID, _ context: RequestContext) -> String { "" }
  }

  @Test func `several workers handle each row once`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let handled = try await deliver(on: database, workers: 4)
    #expect(handled.count == 300)
    #expect(Set(handled).count == 300)
  }

  @Test func `the state counts 10,000 rows at most, and the age of unsent ones`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let state = try await state(
      of: name,
      """
      insert into mail_outbox (mail_id, app_id, kind, sealed, created_at, next_attempt_at, expires_at)
      select lpad(to_hex(g), 24, '0'), app_id, 'logout', '',
        now() - case when g < 3 then interval '2 hours' else interval '1 hour' end,
        case when g > 2 then now() end, now() + interval '1 day'
      from apps, generate_series(1, 10001) g
      """
    )
    #expect(state.count == 10_000)
    #expect(state.age.wholeSeconds / 60 == 60)
  }

  @EventLoop private func state(of name: String, _ script: String) async throws -> OutboxState {
    let database = try await Database.started(on: name, after: script)
    defer { database.stop() }
    return try await database.write(OutboxQueries.state)[0]
  }

  /// Returns the ids of the rows that the workers have handled, until none is left.
  @EventLoop private func deliver(on name: String, workers: Int) async throws -> [String] {
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(Self.rows)
    var handled: [String] = []
    var databases: [Database] = []
    for _ in 0..<workers {
      let database = Database(.patient(name))
      database.start()
      databases.append(database)
      let calculator = FairPool(
        name: "outbox",
        threads: 1,
        waiting: 1,
        patience: .seconds(600)
      )
      let master = MasterKey(Array(repeating: 7, count: 32))
      let dependencies = Dependencies(
        database: database,
        keys: Keyring(master: master, database: database),
        calculator: calculator,
        services: [MailQueue(isConfigured: true, design: PlainDesign()) { _ in }]
      )
      let handler: OutboxWorker.Handler = { row, _ in
        handled.append(row.id.text)
        return .finished
      }
      OutboxWorker(dependencies, nil, ["logout": handler]).start()
    }
    while try await connection.query("select 1 from mail_outbox limit 1", []).rows.count > 0 {
      await EventLoop.sleep(for: .milliseconds(10))
    }
    for database in databases { database.stop() }
    return handled
  }
}
