import Localization
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
    insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at, receiver)
    select lpad(to_hex(g), 24, '0'), app_id, 'logout', '', now() + interval '1 hour', 'client'
    from apps, generate_series(1, 300) g where name = 'default'
    """

  /// The id 1,000, after which the rows do not hang.
  private static let firstHealthy = "0000000000000000000003e8"

  private final class PlainDesign: MailDesign {
    func support(of app: App) -> String? { nil }
    func name(of app: App) -> String { "" }
    func languages(of app: App) -> Languages { .shipped }
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
      from apps, generate_series(1, 10001) g where name = 'default'
      """)
    #expect(state.count == 10_000)
    #expect(state.age.wholeSeconds / 60 == 60)
  }

  @EventLoop private func state(of name: String, _ script: String) async throws -> OutboxState {
    let database = try await Database.started(on: name, after: script)
    defer { database.stop() }
    return try await database.write(OutboxQueries.state)[0]
  }

  /// Messages to 50 receivers of an app, then one of another app, and a request for a mail.
  private static let hangingRows = """
    insert into apps (app_id, name) values (lpad('2', 24, '0'), 'quiet');
    insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at, receiver)
    select lpad(to_hex(g), 24, '0'), app_id, 'logout', '', now() + interval '1 hour', g % 50
    from apps, generate_series(1, 300) g where name = 'default';
    insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at, receiver, next_attempt_at)
    select lpad(to_hex(g), 24, '0'), app_id, kind, '', now() + interval '1 hour', receiver, now()
    from apps, (values (1001, 'logout', 'healthy'), (1002, 'request', null)) r (g, kind, receiver)
    where name = 'quiet';
    """

  @Test func `receivers that hang delay neither a mail nor a message of another app`() async throws
  {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let handled = try await deliverBesideHanging(on: database)
    #expect(Set(handled) == ["logout", "request"])
  }

  /// Returns the kinds of the rows that a worker has handled while all others hang.
  @EventLoop private func deliverBesideHanging(on name: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(Self.hangingRows)
    var handled: [String] = []
    let gate = Gate()
    let handler: OutboxWorker.Handler = { row, _ in
      if row.id.text < Self.firstHealthy {
        gate.waiting += 1
        while !gate.isOpen { await EventLoop.sleep(for: .milliseconds(10)) }
        return .unreachable(reason: "it hangs")
      }
      handled.append(row.kind)
      return .finished
    }
    let database = startWorker(on: name, ["logout": handler, "request": handler])
    while handled.count < 2 { await EventLoop.sleep(for: .milliseconds(10)) }
    #expect(gate.waiting > 0)
    gate.isOpen = true
    database.stop()
    return handled
  }

  /// A gate for the handlers that hang.
  @EventLoop private final class Gate {
    var waiting = 0
    var isOpen = false
  }

  /// Starts a worker, and returns its database.
  @EventLoop private func startWorker(
    on name: String, _ handlers: [String: OutboxWorker.Handler]
  ) -> Database {
    let database = Database(.patient(name))
    database.start()
    let calculator = FairPool(name: "outbox", threads: 1, waiting: 1, patience: .seconds(600))
    let master = MasterKey(Array(repeating: 7, count: 32))
    let dependencies = Dependencies(
      database: database, keys: Keyring(master: master, database: database), calculator: calculator,
      services: [MailQueue(isConfigured: true, design: PlainDesign()) { _ in }]
    )
    OutboxWorker(dependencies, nil, handlers).start()
    return database
  }

  /// Returns the ids of the rows that the workers have handled, until none is left.
  @EventLoop private func deliver(on name: String, workers: Int) async throws -> [String] {
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(Self.rows)
    var handled: [String] = []
    let handler: OutboxWorker.Handler = { row, _ in
      handled.append(row.id.text)
      return .finished
    }
    let databases = (0..<workers).map { _ in startWorker(on: name, ["logout": handler]) }
    while try await connection.query("select 1 from mail_outbox limit 1", []).rows.count > 0 {
      await EventLoop.sleep(for: .milliseconds(10))
    }
    for database in databases { database.stop() }
    return handled
  }
}
