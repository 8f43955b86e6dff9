import ArgumentParser
import Configuration
import Dossier
import EventLoop
import FoundationEssentials
import Glibc
import JSON
import Outbound
import Postgres

/// The body of a command, which runs on the loop.
typealias CommandBody =
  @EventLoop @Sendable (OperatorConsole) async throws(CommandFailure) -> CommandOutput

/// The options of all commands that use the database.
struct CommonOptions: ParsableArguments {
  @OptionGroup var settings: ConfigurationOptions
  @OptionGroup var output: OutputOptions

  /// Runs `body` on the loop, prints its output and ends the process.
  func run(_ body: @escaping CommandBody) -> Never {
    settings.run(output.output, body)
  }
}

extension ConfigurationOptions {
  /// Runs `body` on the loop, prints its output and ends the process.
  ///
  /// - Parameters:
  ///   - format: the format of the output.
  ///   - isLarge: whether the command changes much at once. The database then allows it a minute.
  ///   - lacksKey: whether secrets may be encrypted with a master key other than the given one.
  ///   - signals: the signals that the command handles itself.
  ///   - body: the command.
  func run(
    _ format: OutputFormat,
    isLarge: Bool = false,
    lacksKey: Bool = false,
    signals: [Int32] = [],
    _ body: @escaping CommandBody
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
      let console = OperatorConsole(configuration, isLarge: isLarge)
      do throws(CommandFailure) {
        try await console.requireReadiness(lacksKey: lacksKey)
        let output = try await body(console)
        write(output.text(format), to: 1)
        if let remark = output.remark { say(remark) }
        end([], output.status)
      } catch {
        end([error.words], error.status)
      }
    }
    EventLoop.reactor.run()
    end([], .unforeseen)
  }
}

/// The options of commands that concern one app.
struct AppOptions: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Option(help: "The app; without it the one of the setting app.")
  var app: String?
}

/// The execution context of a command: the database and the configured defaults.
@EventLoop final class OperatorConsole {
  /// The context of commands that concern no app.
  let context: RequestContext
  /// The name of the default app.
  let usualApp: String
  /// The time for which a worker may still use the old settings of a changed app.
  let appAge: Duration
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
    let pool = BlockingPool(name: "outbound", threads: 1, waiting: 1)
    let calculator = FairPool(name: "calculator", threads: 1, waiting: 1, patience: .seconds(60))
    let dependencies = configuration.dependencies(
      on: database,
      Pools(
        passwords: calculator,
        issuers: pool,
        pictures: calculator,
        files: pool,
        calculator: calculator
      ),
      // The workers send the queued mail.
      sendsMail: configuration.mail.isSomewhere,
      report: say
    )
    context = RequestContext(
      dependencies,
      principal: Principal(.operator, in: .deployment, scopes: .everything),
      // The system user who runs the command.
      agent: "dossier (\(ProcessInfo.processInfo.userName))"
    )
    readiness = ReadinessCheck(database, configuration.masterKey, app: nil)
    servingReadiness = ReadinessCheck(database, configuration.masterKey, app: configuration.app)
    appAge = configuration.appAge
    usualApp = configuration.app
  }

  /// Waits until a connection exists or has failed.
  func settle() async { await database.settle() }

  /// Checks that the workers can use what this command stores.
  ///
  /// - Parameter lacksKey: whether secrets may be encrypted with another master key.
  /// - Throws: `.notReady` if the database, its schema or the master key does not fit.
  func requireReadiness(lacksKey: Bool) async throws(CommandFailure) {
    await database.settle()
    guard let fault = await readiness.fault(), !lacksKey || fault.check != .masterKey else {
      return
    }
    throw .notReady(fault)
  }

  /// Runs an operation that may throw `Failure`, in a context.
  ///
  /// The default is the context without an app.
  func doing<Result>(
    _ own: RequestContext? = nil,
    _ body: @EventLoop (RequestContext) async throws(Failure) -> Result
  ) async throws(CommandFailure) -> Result {
    do throws(Failure) {
      return try await body(own ?? context)
    } catch {
      throw .refused(error)
    }
  }

  /// Returns a list that belongs to an app.
  ///
  /// `read` receives the app's name.
  func list(
    of app: String?,
    columns: [String],
    _ read: @EventLoop (String, RequestContext) async throws(Failure) -> [JSON]
  ) async throws(CommandFailure) -> CommandOutput {
    let rows = try await doing { context async throws(Failure) in
      try await read(app ?? usualApp, context)
    }
    return CommandOutput(.array(rows), columns: columns)
  }

  /// Returns the id of the app with this name.
  func app(_ name: String?) async throws(CommandFailure) -> AppID {
    try await record(of: name).id
  }

  /// Returns the app with this name.
  func record(of name: String?) async throws(CommandFailure) -> AppRecord {
    let name = name ?? usualApp
    return try await doing { context async throws(Failure) in
      try await Apps.record(of: name, context)
    }
  }

  /// Returns the context of a request to an app, for operations that depend on its settings.
  func context(of name: String?) async throws(CommandFailure) -> RequestContext {
    try await doing { context async throws(Failure) in
      let app = try await context.apps.app(named: name ?? usualApp, host: nil)
      return RequestContext(
        context.dependencies,
        app: app,
        principal: Principal(.operator, in: app.id, scopes: .everything),
        agent: context.agent
      )
    }
  }

  /// Returns the user with this id or address.
  func user(_ name: String, _ context: RequestContext) async throws(CommandFailure) -> UserID {
    if let id = UserID(name) { return id }
    return try await doing(context) { context async throws(Failure) in
      guard let user = try await Users.holder(of: name, context) else {
        throw .notFound
      }
      return user
    }
  }
}

/// Prints the reasons and ends the process.
func end(_ reasons: [String], _ status: ExitStatus) -> Never {
  for line in reasons.joined(separator: "\n").split(separator: "\n") { say(String(line)) }
  exit(status.rawValue)
}

/// Prints a progress line for the operator.
func say(_ line: String) { write("dossier: \(line)\n", to: 2) }

/// Writes all of the text, or as much as the reader accepts.
func write(_ text: String, to descriptor: Int32) {
  var bytes = Array(text.utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 || errno == EINTR else { return }
    bytes = bytes.dropFirst(max(0, count))
  }
}
