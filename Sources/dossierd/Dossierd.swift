import ArgumentParser
import EventLoop
import FoundationEssentials
import Glibc
import RESTWire
import Wiring

@main
struct Dossierd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dossierd",
    abstract: "The server of Dossier: FastCGI workers for nginx.",
    subcommands: [Run.self, WorkerCommand.self, Config.self, Routes.self, Upstream.self],
    defaultSubcommand: Run.self
  )
}

/// What all commands take.
struct Options: ParsableArguments {
  @Option(name: .long, help: "A file of settings, name = value a line.")
  var config: String?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A setting, over the environment (DOSSIER_NAME) and the file.",
      valueName: "name=value"
    )
  )
  var settings: [String] = []

  var values: SettingValues {
    let environment = ProcessInfo.processInfo.environment
    return SettingValues(flags: settings, environment: environment, file: config)
  }

  func configuration() throws -> Configuration {
    do throws(ConfigurationError) {
      return try Configuration(values)
    } catch {
      throw Self.failure(error.description)
    }
  }

  /// The same words for a process that is started.
  var arguments: [String] {
    (config.map { ["--config", $0] } ?? []) + settings.flatMap { ["--set", $0] }
  }
}

extension Options {
  /// Exit code 78 is EX_CONFIG: starting again will not help.
  static func failure(_ message: String) -> any Error {
    Log.write("error", message)
    return ExitCode(78)
  }
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make the sockets, start the workers and keep them running.",
    discussion: """
      SIGTERM and SIGINT end all workers when they have answered what they accepted. SIGHUP
      replaces the workers, with the settings as they are then, without a refused request. Takes
      its sockets from systemd where that gives any, one for each worker.
      """
  )
  @OptionGroup var options: Options

  func run() throws {
    let configuration = try options.configuration()
    EventLoop.reactor.start { Supervisor.run(configuration, arguments: options.arguments) }
  }
}

struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Answer requests on the listening socket that is descriptor 0.",
    discussion: "What `run` starts; also for spawn-fcgi."
  )
  @OptionGroup var options: Options

  @Option(help: .hidden)
  var slot: Int?

  func run() throws {
    let configuration = try options.configuration()
    EventLoop.reactor.start { [slot] in Worker.run(configuration, slot: slot) }
  }
}

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the settings in force and where each comes from."
  )
  @OptionGroup var options: Options

  func run() throws {
    print(options.values.listing)
    _ = try options.configuration()
  }
}

struct Routes: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print every route of the API: method, path, access and what it does."
  )

  func run() throws {
    for route in RESTWire().routes {
      print("\(route.name)\t\(route.access)\t\(route.summary)")
    }
  }
}

struct Upstream: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the upstream block for nginx."
  )
  @OptionGroup var options: Options

  func run() throws {
    let configuration = try options.configuration()
    let servers = (0..<configuration.workers).map { index in
      "  server \(SocketName(index, configuration).nginx) max_fails=0;"
    }
    // A worker that ends waits until nginx has closed its connections: the last three lines bound
    // that time.
    print(
      """
      upstream dossier_workers {
      \(servers.joined(separator: "\n"))
        keepalive 64;
        keepalive_requests 100000;
        keepalive_time 10s;
        keepalive_timeout 5s;
      }
      """
    )
  }
}
