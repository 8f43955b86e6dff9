import ArgumentParser
import Configuration
import Dossier
import EventLoop
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

extension ConfigurationOptions {
  /// What is in force; exit code 78 is EX_CONFIG: starting again will not help.
  func configuration() throws -> Configuration {
    do throws(ConfigurationError) {
      return try Configuration(values)
    } catch {
      Log.write("error", error.description)
      throw ExitCode(78)
    }
  }

  /// What is in force, when the lists are there that serving needs.
  func configuration(
    with lists: () throws(ReferenceListError) -> Void
  ) throws -> Configuration {
    let configuration = try configuration()
    do throws(ReferenceListError) {
      try lists()
    } catch {
      Log.write("error", error.description)
      throw ExitCode(78)
    }
    return configuration
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
  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.configuration(with: ReferenceLists.check)
    EventLoop.reactor.start { Supervisor.run(configuration, arguments: options.arguments) }
  }
}

struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Answer requests on the listening socket that is descriptor 0.",
    discussion: "What `run` starts; also for spawn-fcgi."
  )
  @OptionGroup var options: ConfigurationOptions

  @Option(help: .hidden)
  var slot: Int?

  func run() throws {
    let configuration = try options.configuration(with: ReferenceLists.load)
    EventLoop.reactor.takeGlobalJobs()
    EventLoop.reactor.start { [slot] in Worker.run(configuration, slot: slot) }
  }
}

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the settings in force and where each comes from."
  )
  @OptionGroup var options: ConfigurationOptions

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
  @OptionGroup var options: ConfigurationOptions

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
