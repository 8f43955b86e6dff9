import Accounts
import Administration
package import Configuration
package import EventLoop
import FoundationEssentials
import Glibc
package import HTTP
package import JSON
import Outbound
import Postgres
package import Runtime
package import Tenancy

/// The execution context of a command: the database and the configured defaults.
@EventLoop package final class CommandContext {
  private let api: ManagementAPI
  /// The context of commands that concern no app.
  package let deployment: RequestContext
  /// The name of the default app.
  package let defaultApp: String
  /// The URL of the deployment, without a path.
  nonisolated package let issuer: String
  /// Whether the workers serve the console.
  package let hasConsole: Bool
  /// Whether the workers send the mail that a command queues.
  package let sendsMail: Bool
  /// The time for which a worker may still use the old settings of a changed app.
  package let appCacheTTL: Duration
  private let database: Database
  /// The check of everything that a request needs, including the app.
  package let servingReadiness: ReadinessCheck
  private let readiness: ReadinessCheck

  package init(_ configuration: Configuration, isLarge: Bool, writers: Int? = nil) {
    var settings = DatabaseSettings(conninfo: configuration.database, applicationName: "dossier")
    settings.pooler = configuration.pooler
    if isLarge {
      settings.writeTimeout = .seconds(60)
      settings.searchTimeout = .seconds(60)
      settings.largeTimeout = .seconds(60)
      settings.lockTimeout = max(.seconds(10), configuration.lockTimeout)
    }
    if let writers { settings.writeConnections = writers }
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
      dependencies, principal: Principal(operator: nil, in: .deployment), agent: agent
    )
    api = ManagementAPI(dependencies, agent: agent)
    readiness = ReadinessCheck(database, configuration.masterKey, app: nil)
    servingReadiness = ReadinessCheck(database, configuration.masterKey, app: configuration.app)
    appCacheTTL = configuration.appCacheTTL
    sendsMail = configuration.mail.isSomewhere
    defaultApp = configuration.app
    issuer = configuration.issuer
    hasConsole = configuration.console != .off
  }

  /// Waits until a connection exists or has failed.
  package func settle() async { await database.settle() }

  /// Checks that the workers can use what this command stores.
  ///
  /// - Parameter lacksKey: whether secrets may be encrypted with another master key.
  /// - Throws: an error if the database, its schema or the master key does not fit.
  package func requireReadiness(lacksKey: Bool) async throws(CommandFailure) {
    await database.settle()
    guard let fault = await readiness.fault(), !lacksKey || fault.check != .masterKey else {
      return
    }
    throw CommandFailure(fault)
  }

  /// Finds the person who uses the command line, whom events name from now on.
  ///
  /// - Parameter name: what `--as` states; nil without it.
  /// - Throws: an error for a text that cannot be a name; errors of the database.
  package func identify(as name: String?) async throws(CommandFailure) {
    let variable = ProcessInfo.processInfo.environment[SettingValues.personVariable]
    let stated = name ?? variable.flatMap { $0.isEmpty ? nil : $0 }
    let user =
      ProcessInfo.processInfo.environment["SUDO_USER"].flatMap { $0.isEmpty ? nil : $0 }
      ?? ProcessInfo.processInfo.userName
    let account = try await run { context async throws(Failure) in
      try await AdministratorRecord.account(of: stated ?? user, context)
    }
    var person = account.map { CommandLinePerson($0) }
    if person == nil, let stated {
      person = CommandLinePerson(named: stated)
      guard person != nil else {
        throw CommandFailure(
          "\(name == nil ? SettingValues.personVariable : "--as") needs the address of an "
            + "administrator, or a name with 1 to 64 of a-z, A-Z, 0-9, and . _ @ + -.", .usage)
      }
    }
    let found = person ?? CommandLinePerson(systemUser: user)
    api.person = found
    deployment.principal = Principal(operator: found, in: .deployment)
  }

  /// Sends a request, and returns the JSON of the response; null without a body.
  package func send(
    _ method: HTTP.Method, _ path: String, _ body: APIRequest.Body = .none, to app: String? = nil,
    ifVersion: Int? = nil
  ) async throws(CommandFailure) -> JSON {
    var request = APIRequest(method, path, body)
    (request.app, request.ifVersion) = (app, ifVersion)
    return try await send(request).json
  }

  /// Sends a request, and returns the response.
  package func send(_ request: APIRequest) async throws(CommandFailure) -> APIResponse {
    try await api.send(request)
  }

  /// Returns the text of a resource, as it is stored.
  package func text(of path: String, in app: String?) async throws(CommandFailure) -> [UInt8] {
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
  package func list(
    _ path: String, _ query: [String: String?] = [:], of app: String? = nil, options: ListOptions,
    columns: [String]
  ) async throws(CommandFailure) -> CommandOutput {
    let limit = options.all ? nil : options.limit
    let (rows, next) = try await items(path, query, of: app, limit: limit, from: options.cursor)
    let remark = next.map { "there may be more: --cursor \($0), or --all" }
    return CommandOutput(.array(rows), columns: columns, remark: remark)
  }

  /// Returns items of a list, all without a limit, and the cursor of what follows.
  package func items(
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
  package func run<Result>(
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
  package func run<Result>(
    in app: String?, _ body: @EventLoop (RequestContext) async throws(Failure) -> Result
  ) async throws(CommandFailure) -> Result {
    try await run { context async throws(Failure) in
      let app = try await context.apps.app(named: app ?? defaultApp, host: nil)
      let caller = Principal(operator: context.principal.person, in: app.id)
      return try await body(
        RequestContext(context.dependencies, app: app, principal: caller, agent: context.agent)
      )
    }
  }

  /// Returns the app with this name.
  package func record(of name: String?) async throws(CommandFailure) -> AppRecord {
    try await run { context async throws(Failure) in
      try await Apps.record(of: name ?? defaultApp, context)
    }
  }

  /// Returns the id of the user with this id or address.
  package func user(_ name: String, of app: String?) async throws(CommandFailure) -> String {
    if UserID(name) != nil { return name }
    let holder = try await run(in: app) { context async throws(Failure) in
      try await UserAdministration.holder(of: name, context)
    }
    guard let holder else {
      throw CommandFailure("No user has the address \(name).", .notFound)
    }
    return holder.text
  }
}

/// The body of a command, which runs on the loop.
package typealias CommandBody =
  @EventLoop @Sendable (CommandContext) async throws(CommandFailure) -> CommandOutput

extension ConfigurationOptions {
  /// Runs `body` on the loop, prints its output and ends the process.
  ///
  /// - Parameters:
  ///   - asJSON: whether to print JSON instead of a table.
  ///   - person: the name of the person who runs the command; nil for the user of the system.
  ///   - isLarge: whether the command changes much at once. The database then allows it a minute.
  ///   - writers: the number of connections for writes; nil for the default.
  ///   - lacksKey: whether secrets may be encrypted with a master key other than the given one.
  ///   - signals: the signals that the command handles itself.
  ///   - body: the command.
  package func run(
    asJSON: Bool, as person: String? = nil, isLarge: Bool = false, writers: Int? = nil,
    lacksKey: Bool = false, signals: [Int32] = [], _ body: @escaping CommandBody
  ) -> Never {
    let configuration: Configuration
    do throws(ConfigurationError) {
      configuration = try Configuration(values, serves: false)
    } catch {
      end([error.description], .configuration)
    }
    EventLoop.task {
      // Blocked before any other thread exists, since it could receive the signals.
      Signals.block(signals)
      let context = CommandContext(configuration, isLarge: isLarge, writers: writers)
      do throws(CommandFailure) {
        try await context.requireReadiness(lacksKey: lacksKey)
        try await context.identify(as: person)
        let output = try await body(context)
        Output.write(output.text(asJSON: asJSON), to: 1)
        if let remark = output.remark { say(remark) }
        end([], output.status)
      } catch {
        end([error.reason], error.status)
      }
    }
    EventLoop.reactor.run()
    end([], .internalError)
  }
}

/// Prints the reasons and ends the process.
package func end(_ reasons: [String], _ status: ExitStatus) -> Never {
  for line in reasons.joined(separator: "\n").split(separator: "\n") { say(String(line)) }
  exit(status.rawValue)
}

/// Prints a progress line for the operator.
package func say(_ line: String) { Output.write("dossier: \(line)\n", to: 2) }

/// The reason why a command failed, and the exit status of the process.
package struct CommandFailure: Error {
  /// Lines for standard error.
  package let reason: String
  package let status: ExitStatus

  package init(_ reason: String, _ status: ExitStatus) {
    (self.reason, self.status) = (reason, status)
  }

  /// Creates the error for a failure of the domain or the API, with the texts of its type.
  ///
  /// - Parameters:
  ///   - failure: the failure.
  ///   - path: the path of the request; nil without one.
  package init(_ failure: Failure, at path: String? = nil) {
    var lines = [failure.type.title, failure.explanation]
    for fault in failure.faults.prefix(FieldError.limit) {
      lines.append(
        "\(fault.place.isEmpty ? "" : "\(fault.place): ")\(fault.detail) (\(fault.code))"
      )
    }
    if let offset = failure["offset"] { lines.append("At byte \(offset.text).") }
    if let paths = failure["indexed"]?.array {
      lines.append("Indexed: " + paths.compactMap(\.string).joined(separator: ", "))
    }
    lines += [failure.cause?.serverFault?.remedy, failure.report].compactMap(\.self)
    if let path, failure.type.kind == .notFound { lines.append("Path: \(path)") }
    self.init(lines.map(Table.visible).joined(separator: "\n"), ExitStatus(failure))
  }

  /// Creates the error for a database or a master key that the workers could not use.
  package init(_ fault: ReadinessCheck.Fault) {
    switch fault.check {
    case .database:
      self.init("PostgreSQL cannot be reached: \(fault.reason)", .cannotConnect)
    case .masterKey: self.init(fault.description, .configuration)
    case .pooler, .readOnly, .schema, .grants, .app, .writes:
      self.init(fault.description, .notReady)
    }
  }
}
