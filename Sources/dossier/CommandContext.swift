import Administration
import Configuration
import Accounts
import Runtime
import Tenancy
import EventLoop
import FoundationEssentials
import HTTP
import JSON
import Outbound
import Postgres

/// The execution context of a command: the database and the configured defaults.
@EventLoop final class CommandContext {
  private let api: ManagementAPI
  /// The context of commands that concern no app.
  let deployment: RequestContext
  /// The name of the default app.
  let defaultApp: String
  /// The host, and the port if any, of the deployment's URL.
  let deploymentHost: String
  /// Whether the workers send the mail that a command queues.
  let sendsMail: Bool
  /// The time for which a worker may still use the old settings of a changed app.
  let appCacheTTL: Duration
  private let database: Database
  /// The check of everything that a request needs, including the app.
  let servingReadiness: ReadinessCheck
  private let readiness: ReadinessCheck

  init(_ configuration: Configuration, isLarge: Bool) {
    var settings = DatabaseSettings(conninfo: configuration.database, applicationName: "dossier")
    if isLarge {
      settings.writeTimeout = .seconds(60)
      settings.searchTimeout = .seconds(60)
      settings.largeTimeout = .seconds(60)
      settings.lockTimeout = max(.seconds(10), configuration.lockTimeout)
    }
    database = Database(settings)
    database.start()
    let pool = BlockingPool(name: "files", threads: 1, waiting: 1)
    let calculator = FairPool(name: "calculator", threads: 1, waiting: 1, patience: .seconds(60))
    // The system user who runs the command.
    let agent = "dossier (\(ProcessInfo.processInfo.userName))"
    let dependencies = configuration.dependencies(
      on: database,
      Pools(passwords: calculator, pictures: calculator, files: pool, calculator: calculator),
      // The workers send the queued mail.
      sendsMail: configuration.mail.isSomewhere,
      report: say
    )
    deployment = RequestContext(
      dependencies, principal: Principal(.operator, in: .deployment, scopes: .everything),
      agent: agent
    )
    api = ManagementAPI(dependencies, agent: agent)
    readiness = ReadinessCheck(database, configuration.masterKey, app: nil)
    servingReadiness = ReadinessCheck(database, configuration.masterKey, app: configuration.app)
    appCacheTTL = configuration.appCacheTTL
    sendsMail = configuration.mail.isSomewhere
    defaultApp = configuration.app
    let issuer = configuration.issuer
    let start = issuer.firstRange(of: "://")?.upperBound ?? issuer.startIndex
    deploymentHost = String(issuer[start...])
  }

  /// Waits until a connection exists or has failed.
  func settle() async { await database.settle() }

  /// Checks that the workers can use what this command stores.
  ///
  /// - Parameter lacksKey: whether secrets may be encrypted with another master key.
  /// - Throws: an error if the database, its schema or the master key does not fit.
  func requireReadiness(lacksKey: Bool) async throws(CommandFailure) {
    await database.settle()
    guard let fault = await readiness.fault(), !lacksKey || fault.check != .masterKey else {
      return
    }
    throw CommandFailure(fault)
  }

  /// Sends a request, and returns the JSON of the response; null without a body.
  func send(
    _ method: HTTP.Method, _ path: String, _ body: APIRequest.Body = .none, to app: String? = nil,
    ifVersion: Int? = nil
  ) async throws(CommandFailure) -> JSON {
    var request = APIRequest(method, path, body)
    (request.app, request.ifVersion) = (app, ifVersion)
    return try await send(request).json
  }

  /// Sends a request, and returns the response.
  func send(_ request: APIRequest) async throws(CommandFailure) -> APIResponse {
    try await api.send(request)
  }

  /// Returns the text of a resource, as it is stored.
  func text(of path: String, in app: String?) async throws(CommandFailure) -> [UInt8] {
    var request = APIRequest(.get, path)
    request.app = app
    return try await send(request).body
  }

  /// Returns the table of a list, with the cursor of what follows.
  ///
  /// - Parameters:
  ///   - path: the path of the list.
  ///   - query: its parameters; those without a value are omitted.
  ///   - app: the app; nil for the default app.
  ///   - options: which part of the list.
  ///   - columns: the columns of the table.
  /// - Returns: the output.
  /// - Throws: an error of the API.
  func list(
    _ path: String, _ query: [String: String?] = [:], of app: String? = nil, options: ListOptions,
    columns: [String]
  ) async throws(CommandFailure) -> CommandOutput {
    let limit = options.all ? nil : options.limit
    let (rows, next) = try await items(path, query, of: app, limit: limit, from: options.cursor)
    let remark = next.map { "there may be more: --cursor \($0), or --all" }
    return CommandOutput(.array(rows), columns: columns, remark: remark)
  }

  /// Returns items of a list, all without a limit, and the cursor of what follows.
  func items(
    _ path: String, _ query: [String: String?] = [:], of app: String? = nil, limit: Int?,
    from start: String? = nil
  ) async throws(CommandFailure) -> (rows: [JSON], next: String?) {
    var rows: [JSON] = []
    var cursor = start
    repeat {
      var request = APIRequest(.get, path)
      request.app = app
      let size = min(PageLimit.most, (limit ?? .max) - rows.count)
      request.query = query.compactMap { name, value in value.map { (name, $0) } }
      request.query.append(("limit", "\(size)"))
      if let cursor { request.query.append(("cursor", cursor)) }
      let page = try await send(request)
      rows += page.json.array ?? []
      cursor = page.next
    } while cursor != nil && rows.count < limit ?? .max
    return (rows, cursor)
  }

  /// Runs an operation of the domain that the API does not have.
  ///
  /// - Throws: the failure as the API reports it.
  func run<Result>(
    _ body: @EventLoop (RequestContext) async throws(Failure) -> Result
  ) async throws(CommandFailure) -> Result {
    do throws(Failure) {
      return try await body(deployment)
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Runs an operation of the domain in an app that the API does not have.
  ///
  /// - Throws: the failure as the API reports it.
  func run<Result>(
    in app: String?, _ body: @EventLoop (RequestContext) async throws(Failure) -> Result
  ) async throws(CommandFailure) -> Result {
    try await run { context async throws(Failure) in
      let app = try await context.apps.app(named: app ?? defaultApp, host: nil)
      let `operator` = Principal(.operator, in: app.id, scopes: .everything)
      return try await body(
        RequestContext(context.dependencies, app: app, principal: `operator`, agent: context.agent)
      )
    }
  }

  /// Returns the app with this name.
  func record(of name: String?) async throws(CommandFailure) -> AppRecord {
    try await run { context async throws(Failure) in
      try await Apps.record(of: name ?? defaultApp, context)
    }
  }

  /// Returns the id of the user with this id or address.
  func user(_ name: String, of app: String?) async throws(CommandFailure) -> String {
    if UserID(name) != nil { return name }
    let holder = try await run(in: app) { context async throws(Failure) in
      try await Users.holder(of: name, context)
    }
    guard let holder else {
      throw CommandFailure("No user has the address \(name).", .notFound)
    }
    return holder.text
  }
}
