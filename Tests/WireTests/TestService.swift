import Localization
import HostedPages
import Imaging
import Declarations
import Configuration
import Accounts
import Administration
import Delivery
import Records
import Runtime
import Sessions
import Tenancy
import EventLoop
import Federation
import FoundationEssentials
import Glibc
import HTTP
import JSON
import OpenIDWire
import Outbound
import Postgres
import RESTWire
import TestSupport
import Transfer
import LogStreams
import Webhooks
import WireKit

@testable import dossierd

/// The service of a worker on its own database, called in memory without a web server.
@EventLoop final class TestService {
  static let shared = EventLoop.task { () -> Result<TestService, any Error> in
    do { return .success(try await TestService()) } catch { return .failure(error) }
  }
  /// Each lasts as long as the process, like the service of a worker.
  private static var all: [TestService] = []
  let service: Service
  private let dependencies: Dependencies
  let mails: String
  /// The file names of the mails in `texts`.
  private var read: Set<String> = []
  private var texts: [String] = []
  let calculator: FairPool
  private let operatorKey: String
  let administration: Database
  let conninfo: String
  private var casts = 0
  private var known: Fixtures?

  /// Runs on the thread that ends the process, not on the event loop.
  private nonisolated static func removeMailsAtExit() {
    atexit { try? FileManager.default.removeItem(atPath: "/tmp/dossier-mails-\(getpid())") }
  }

  /// - Parameter waiting: the length of the queue for costly work.
  /// - Throws: an error without PostgreSQL.
  init(waiting: Int = 100_000) async throws {
    // Each world has its own folder, since several run at once with the same addresses.
    let folder = "/tmp/dossier-mails-\(getpid())"
    mkdir(folder, 0o700)
    mails = "\(folder)/\(UserID())"
    mkdir(mails, 0o700)
    TestService.removeMailsAtExit()
    let name = try await TestCluster.shared.createMigratedDatabase()
    let connection = try await Connection.open(.patient(name, applicationName: "wire"))
    try await connection.script(Self.refusal)
    connection.close()
    var settings = DatabaseSettings.patient(name, applicationName: "wire")
    settings.exclusiveWaiting = 100_000
    settings.searchWaiting = 100_000
    let database = Database(settings)
    database.start()
    let keys = Keyring(master: MasterKey(Array(repeating: 7, count: 32)), database: database)
    let pool = BlockingPool(name: "wire", threads: 2, waiting: 100_000)
    let calculator = FairPool(
      name: "calculator", threads: 2, waiting: waiting, patience: .seconds(600)
    )
    self.calculator = calculator
    let passwords = PasswordHasher(
      pool: FairPool(
        name: "hashes", threads: 2, reserve: 0, waiting: 100_000, patience: .seconds(600)
      )
    )
    // A change of an app takes effect at the next request.
    let apps = Apps(database: database, .all, fallback: "default", age: .zero)
    let pages = AppPages(.shipped, issuer: "https://test.example")
    let mailer = MailQueue(isConfigured: true, design: pages) { _ in }
    let relaySettings = MailRelaySettings(.folder(mails))
    let relay = try MailRelay(relaySettings)
    let external = ExternalTokens(database: database, source: HTTPSource(), keys: keys)
    let program =
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      .split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/dossier-pictures"
    let pictures = PictureService(
      decoder: PictureDecoder(program: program, pool: calculator),
      shelf: PictureStorage(folder: nil, pool: pool)
    )
    let tokens = AccessTokens(keys: keys, issuer: "https://test.example") {
      time(nil) + TokenClock.ahead
    }
    let readiness = ReadinessCheck(database, keys.master, app: "default")
    let dependencies = Dependencies(
      database: database,
      keys: keys,
      calculator: calculator,
      services: [
        tokens, apps, mailer, passwords, external, pictures, pages,
        ServiceAddress(fallback: "https://id.example"), ConsoleAddress("https://id.example"),
        BreachedPasswordCheck(nil, pool: pool),
        Upstream(HTTPSource(), allowsPlainHTTP: false), WebhookCalls(HTTPSourceSettings()),
        LogStreamSender(
          HTTPSourceSettings(), syslog: "/nowhere",
          SyslogSender(host: "test", process: 1, version: "1")),
        DeploymentCheck(
          readiness, mail: relaySettings, host: "test", version: "0", connections: 1),
      ]
    )
    self.dependencies = dependencies
    OutboxWorker(dependencies, relay, [Outbox.requestKind: AccountMail.resolve]).start()
    operatorKey =
      try await ClientRecord.create(
        JSONObject([("name", "test"), ("kind", "machine")]), in: nil,
        Self.operatorContext(dependencies)
      ).newSecret ?? ""
    administration = database
    conninfo = name
    service = Service(wires: TestService.wires(readiness), dependencies)
    TestService.all.append(self)
  }

  private static func operatorContext(_ dependencies: Dependencies) -> RequestContext {
    RequestContext(
      dependencies, principal: Principal(.operator, in: .deployment, scopes: .everything))
  }

  var operatorContext: RequestContext { Self.operatorContext(dependencies) }

  /// A context of a request without a credential.
  var anyContext: RequestContext { RequestContext(dependencies) }

  /// Runs SQL on the database, and returns the rows of its last statement.
  @discardableResult
  func script(_ sql: String) async throws -> [[String?]] {
    let connection = try await Connection.open(.patient(conninfo, applicationName: "script"))
    defer { connection.close() }
    return try await connection.script(sql).last?.rows ?? []
  }

  /// Returns the number that a statement selects.
  func number(_ sql: String) async throws -> Int {
    try await script(sql).first?.first.flatMap { $0.flatMap { Int($0) } } ?? -1
  }

  /// Returns a worker of jobs, which runs when a test says so.
  func jobWorker() -> JobWorker {
    JobWorker(dependencies, userField: { _ in "_id" }, report: { _ in })
  }

  /// Returns a service with other wires for the same users.
  func service(of wires: [any Wire]) -> Service {
    Service(wires: wires, dependencies)
  }

  /// SQL of a trigger that refuses the audit events of apps with a certain `mail_from_name`.
  private static let refusal = """
    create function refuse_entry() returns trigger language plpgsql as $$
    begin
      if exists (select from apps where app_id = new.app_id
        and settings ->> 'mail_from_name' = 'nobody') then
        raise 'this entry is refused';
      end if;
      return new;
    end $$;
    create trigger refuse_entry before insert on audit for each row execute function refuse_entry();
    """

  /// Statements that no route needs.
  private enum Queries {
    static let remove = Statement<NoRow, String>("wire.remove", "delete from apps where name = $1")
    static let age = Statement<NoRow, String>(
      "wire.age",
      """
      update sessions set authenticated_at = authenticated_at - interval '1 year' where user_id = $1
      """)
    static let narrow = Statement<NoRow, String>(
      "wire.narrow", "update sessions set scope = '' where user_id = $1"
    )
    static let refuseEntries = Statement<NoRow, String>(
      "wire.refuse_entries",
      """
      update apps set settings = settings || '{"mail_from_name": "nobody"}' where name = $1
      """)
    static let giveUpMail = Statement<String, String>(
      "wire.give_up_mail",
      """
      insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at, next_attempt_at)
      select new_object_id(), app_id, 'reset', '', now() + interval '1 hour', null
      from apps where name = $1 returning mail_id
      """)
    static let allow = Statement<NoRow, String, String>(
      "wire.allow", "insert into consents (user_id, client_id, scope) values ($1, $2, 'openid')")
    static let entries = Statement<Int, String, String>(
      "wire.entries",
      """
      select count(*) from audit a join apps p using (app_id)
      where p.name = $1 and a.actor = 'client:' || $2
      """)
  }

  /// The current load of the database.
  var load: DatabaseLoad { administration.load }

  /// Locks a table until the connection is closed, so that its readers wait.
  func hold(_ table: String) async throws -> Postgres.Connection {
    let connection = try await Connection.open(.patient(conninfo, applicationName: "holder"))
    _ = try await connection.script("begin; lock table \(table) in access exclusive mode")
    return connection
  }

  /// The heads and text parts of the sent mails, the oldest first.
  ///
  /// Each file is read once, since hundreds of tests look here.
  func readMails() throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: mails)
    for name in names.sorted() where name.hasSuffix(".eml") && read.insert(name).inserted {
      let text = try String(contentsOfFile: "\(mails)/\(name)", encoding: .utf8)
      let plain = String(text.split(separator: "Content-Type: text/html").first ?? "")
      texts.append(plain.replacing("=\r\n", with: "").replacing("=\n", with: ""))
    }
    return texts
  }

  /// Removes an app, since each request of the tests reads all apps.
  func remove(_ app: String) async { _ = try? await administration.write(Queries.remove, app) }

  /// Returns shared fixtures of another app, which no test changes.
  func foreigners() async throws -> Fixtures {
    if let known { return known }
    let made = try await cast()
    known = made
    return made
  }

  /// Backdates the user's logins by one year.
  func age(_ user: String) async throws { _ = try await administration.write(Queries.age, user) }

  /// Removes all scopes from the sessions of a user.
  func narrow(_ user: String) async throws {
    _ = try await administration.write(Queries.narrow, user)
  }

  /// Returns the context of a request to an app, for tests that call the domain without a route.
  func context(of app: String) async throws -> RequestContext {
    RequestContext(dependencies, app: try await dependencies[Apps.self].app(named: app, host: nil))
  }

  /// Makes the audit log refuse all further events of an app.
  func refuseEntries(of app: String) async throws {
    _ = try await administration.write(Queries.refuseEntries, app)
  }

  /// Queues a mail that is abandoned, since the relay has refused it permanently, and returns its id.
  func giveUpMail(of app: String) async throws -> String {
    try await administration.write(Queries.giveUpMail, app).first ?? ""
  }

  /// Stores that a user has allowed a client something.
  func allow(_ client: String, by user: String) async throws {
    _ = try await administration.write(Queries.allow, user, client)
  }

  /// Returns the number of audit events of an API client.
  func entries(of app: String, by client: String) async throws -> Int {
    try await administration.write(Queries.entries, app, client).first ?? 0
  }

  nonisolated static func wires(_ readiness: ReadinessCheck) -> [any Wire] {
    [RESTWire(), OperationsWire(readiness: readiness, metrics: { "" })]
  }

  /// The routes of every wire of a worker.
  @EventLoop static let routes: [Route] = {
    let unused = Database(DatabaseSettings(conninfo: "", applicationName: "unused"))
    return wires(ReadinessCheck(unused, MasterKey([7]), app: nil)).flatMap(\.routes)
  }()

  /// Returns the fixtures of one test in a new app.
  func cast() async throws -> Fixtures {
    casts += 1
    return try await Fixtures(self, number: casts, operatorKey: operatorKey)
  }

  /// Sends a request as a web server would pass it on.
  ///
  /// - Parameters:
  ///   - question: the request.
  ///   - other: another service than that of the world.
  ///   - byOperator: whether the operator makes the call in this process.
  ///   - administrator: the administrator who makes the call in this process; nil for none.
  /// - Returns: the response and its log entry.
  func ask(
    _ question: TestRequest, of other: Service? = nil, byOperator: Bool = false,
    by administrator: Administrator? = nil
  ) async -> TestResponse {
    let service = other ?? service
    let request = Request(
      method: question.method, target: question.path,
      fields: FieldDictionary(question.fields, clientAddress: question.address)
    )
    let source = Memory(question)
    let call =
      if let administrator {
        service.administratorCall(request, source, administrator)
      } else if byOperator {
        service.operatorCall(request, source)
      } else {
        service.call(request, source)
      }
    let response = await TokenClock.$ahead.withValue(question.isLate ? 86_400 : 0) {
      await service.answer(call)
    }
    return TestResponse(
      response: response, route: call.route, error: call.failure?.report, wasRead: source.wasRead
    )
  }
}
