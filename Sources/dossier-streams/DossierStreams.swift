package import ArgumentParser
import Configuration
import EventLoop
import Glibc
import JSON
import Postgres
import Streams

/// The program that holds the streams of changes of users' pages.
package struct DossierStreams: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "dossier-streams",
    abstract: "Holds the streams of changes that pages of users receive.",
    discussion: """
      nginx connects clients to it by SCGI, at streams.sock in socket_directory, after a worker has \
      answered GET /v1/me/events. One program serves a host. It can be stopped and started at any \
      time: clients then connect again, and ask by GET /v1/me/changes meanwhile. If systemd passes a \
      socket, the program uses it. SIGTERM and SIGINT let all clients connect again, and end it.
      """,
    version: Version.text
  )
  @OptionGroup var options: ConfigurationOptions

  package init() {}

  package func run() throws {
    ProcessHardening.keep()
    do {
      let configuration = try Configuration(options.values, serves: false)
      let socket = try Program.socket(configuration)
      EventLoop.reactor.takeGlobalJobs()
      EventLoop.reactor.start { Program.run(configuration, socket) }
    } catch {
      Program.log("error", "\(error)")
      // A restart does not help.
      throw ExitCode(error is ConfigurationError ? 78 : 1)
    }
  }
}

/// The process from its start to its end.
@EventLoop private enum Program {
  private static let signals = [SIGTERM, SIGINT]
  /// Descriptors beside those of streams.
  private nonisolated static let reserve = 64
  private static var server: StreamServer?
  private static var listener: Signals?

  /// Returns the socket that systemd has passed, or a new one.
  nonisolated static func socket(
    _ configuration: Configuration
  ) throws(SocketError) -> ListeningSocket {
    raiseLimit()
    if let given = ListeningSocket.inherited().first { return given }
    let path = "\(configuration.socketDirectory)/streams.sock"
    return try ListeningSocket.listen(on: path, configuration)
  }

  /// Allows a descriptor for each stream, as far as the system does.
  private nonisolated static func raiseLimit() {
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0 else { return }
    let wanted = rlim_t(StreamServer.Limit.program + reserve)
    limit.rlim_cur = min(max(limit.rlim_cur, wanted), limit.rlim_max)
    setrlimit(kind, &limit)
  }

  static func run(_ configuration: Configuration, _ socket: ListeningSocket) {
    // Before other threads start.
    Signals.block(signals)
    var settings = DatabaseSettings(
      conninfo: configuration.database, applicationName: "dossier-streams")
    settings.pooler = configuration.pooler
    settings.writeConnections = 1
    // A statement for 500 users takes milliseconds.
    settings.searchTimeout = .seconds(5)
    let database = Database(settings)
    database.start { state in
      switch state {
      case .connecting: break
      case .connected: log("info", "the database is connected")
      case .incomplete(let reason):
        log("warning", "the database refuses further connections: \(reason)")
      case .away(let reason): log("error", "the database is unavailable: \(reason)")
      }
    }
    do {
      let server = try StreamServer(on: socket.descriptor, configuration.masterKey, database)
      self.server = server
      listener = try Signals(signals) { _ in
        log("info", "ending with \(server.count) streams")
        socket.stop()
        server.drain()
        exit(0)
      }
    } catch {
      log("error", "\(error)")
      exit(1)
    }
    log("info", "ready")
  }

  /// Writes a line of the log, a JSON object.
  nonisolated static func log(_ level: String, _ message: String) {
    let line = JSONObject([
      ("time", .number(JSONNumber(time(nil)))), ("level", .string(level)),
      ("program", "dossier-streams"), ("pid", .number(JSONNumber(Int(getpid())))),
      ("message", .string(message)),
    ])
    Output.write(JSON.object(line).text + "\n", to: 1)
  }
}
