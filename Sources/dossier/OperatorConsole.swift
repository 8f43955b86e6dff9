import ArgumentParser
import Configuration
import Dossier
import EventLoop
import FoundationEssentials
import Glibc
import JSON
import Outbound
import Postgres

/// What a command does, on the loop.
typealias CommandBody =
  @EventLoop @Sendable (OperatorConsole) async throws(CommandFailure) -> CommandOutput

/// What all commands take that work on the database.
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
  ///   - format: of the output.
  ///   - isLarge: it writes much at once, for which the database has a minute.
  ///   - lacksKey: secrets may be sealed by another master key than the one that is given.
  ///   - signals: those that it listens to itself.
  ///   - body: what is done.
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
      // Before there are other threads, to which they would go.
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

/// What the commands take that are about one app.
struct AppOptions: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Option(help: "The app; without it the one of the setting app.")
  var app: String?
}

/// The operator at work on the database: what every command has at hand.
@EventLoop final class OperatorConsole {
  /// The context of commands that are about no app.
  let context: RequestContext
  /// The name of the app of those who name none.
  let usualApp: String
  /// How long a worker may serve an app that has changed.
  let appAge: Duration
  private let database: Database
  /// Of all that a request needs, also the app.
  let servingReadiness: ReadinessCheck
  private let readiness: ReadinessCheck

  init(_ configuration: Configuration, isLarge: Bool) {
    var settings = DatabaseSettings(conninfo: configuration.database, applicationName: "dossier")
    if isLarge {
      settings.writeTimeout = .seconds(60)
      settings.searchTimeout = .seconds(60)
      settings.largeTimeout = .seconds(60)
      settings.lockTimeout = .seconds(10)
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
      // The workers send it.
      sendsMail: configuration.mail.isSomewhere,
      report: say
    )
    context = RequestContext(
      dependencies,
      principal: Principal(.operator, in: .deployment, scopes: .everything),
      // The person that uses the command line.
      agent: "dossier (\(ProcessInfo.processInfo.userName))"
    )
    readiness = ReadinessCheck(database, configuration.masterKey, app: nil)
    servingReadiness = ReadinessCheck(database, configuration.masterKey, app: configuration.app)
    appAge = configuration.appAge
    usualApp = configuration.app
  }

  /// Waits until there is a connection, or it is known why not.
  func settle() async { await database.settle() }

  /// Makes sure that what is done here is understood by those who serve.
  ///
  /// - Parameter lacksKey: whether secrets may be sealed by another master key.
  /// - Throws: `.notReady`.
  func requireReadiness(lacksKey: Bool) async throws(CommandFailure) {
    await database.settle()
    guard let fault = await readiness.fault(), !lacksKey || fault.check != .masterKey else {
      return
    }
    throw .notReady(fault)
  }

  /// Does what can be refused, in a context; without one, in that of commands that are about no app.
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

  /// A list of what an app has; `read` is given the app's name.
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

  /// The id of an app by its name.
  func app(_ name: String?) async throws(CommandFailure) -> AppID {
    try await record(of: name).id
  }

  /// An app by its name.
  func record(of name: String?) async throws(CommandFailure) -> AppRecord {
    let name = name ?? usualApp
    return try await doing { context async throws(Failure) in
      try await Apps.record(of: name, context)
    }
  }

  /// An app as a request finds it, for what is done in its settings.
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

  /// The user that an id or an address names.
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

/// Ends the process with what went wrong.
func end(_ reasons: [String], _ status: ExitStatus) -> Never {
  for line in reasons.joined(separator: "\n").split(separator: "\n") { say(String(line)) }
  exit(status.rawValue)
}

/// A line for whoever watches.
func say(_ line: String) { write("dossier: \(line)\n", to: 2) }

/// Writes all of it, or what the reader takes.
func write(_ text: String, to descriptor: Int32) {
  var bytes = Array(text.utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 || errno == EINTR else { return }
    bytes = bytes.dropFirst(max(0, count))
  }
}
