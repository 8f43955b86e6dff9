package import ArgumentParser
import Configuration
import EventLoop
import Glibc
import JSON
import RESTWire
import ReferenceData
import Tenancy
import WireKit

/// The command of the server.
package struct Dossierd: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "dossierd",
    abstract: "The server of Dossier: FastCGI workers for nginx.",
    version: Version.text,
    subcommands: [
      Run.self, WorkerCommand.self, ReloadCommand.self, Config.self, Settings.self, Routes.self,
      ReferenceCommand.self, Upstream.self, SocketUnit.self, FastCGIParameters.self,
      BodyLimits.self, ErrorPages.self,
    ],
    defaultSubcommand: Run.self
  )

  package init() {}
}

extension ConfigurationOptions {
  /// Reads the settings, and checks that the reference lists for serving exist.
  ///
  /// - Parameters:
  ///   - lists: reads or checks the lists.
  ///   - tell: receives the errors.
  /// - Returns: the settings.
  /// - Throws: `ExitCode` 78 (EX_CONFIG) if one is invalid, since a restart does not help.
  func configuration(
    with lists: () throws(ReferenceListError) -> Void = {}, tell: (String) -> Void
  ) throws -> Configuration {
    do {
      let configuration = try Configuration(values, serves: true)
      try lists()
      return configuration
    } catch {
      tell("\(error)")
      throw ExitCode(Run.unusable)
    }
  }
}

extension ConfigurationOptions {
  /// Returns the arguments of a worker.
  func arguments(hasSnapshot: Bool) -> [String] {
    let descriptor = String(SettingsSnapshot.inherited)
    return arguments + (hasSnapshot ? ["--config-descriptor", descriptor] : [])
  }
}

/// Writes an error to stderr, for a terminal or for the supervisor of a worker.
func complain(_ message: String) {
  Output.write("\(message)\n", to: 2)
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Creates the sockets, starts the workers and keeps them running.",
    discussion: """
      SIGTERM and SIGINT end all workers after their accepted requests. SIGHUP replaces the workers \
      with the current settings, and refuses no request. `dossierd reload` does the same, and \
      reports the result. If systemd passes sockets, one for each worker, the workers use them.
      """)
  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    _ = OwnProgram.path
    let given = ListeningSocket.inherited()
    do {
      let configuration = try options.configuration(with: ReferenceLists.check) {
        Log.write("error", $0)
      }
      try Self.check(given, configuration)
      EventLoop.reactor.start { [options] in
        Supervisor.run(configuration, options, given: given)
      }
    } catch {
      if !given.isEmpty { sleep(Self.pause) }
      throw error
    }
  }

  /// EX_CONFIG, the exit status for errors that a restart does not fix.
  static let unusable: Int32 = 78

  /// The delay, in seconds, of an exit with that status if systemd created the sockets.
  ///
  /// Waiting clients make systemd start this program again at once, until it gives up the sockets
  /// too. A fix takes effect after `systemctl restart` or at the next start.
  static let pause: UInt32 = 10

  /// Checks that systemd created one socket per worker, with the names that nginx derives from the
  /// settings.
  private static func check(_ given: [ListeningSocket], _ configuration: Configuration) throws {
    guard !given.isEmpty else { return }
    let cure = """
      let systemd create those of the settings: write the output of `dossierd socket-unit` to \
      /etc/systemd/system/dossierd.socket, then systemctl daemon-reload, and systemctl restart \
      dossierd.socket dossierd
      """
    if given.count != configuration.workers {
      Log.write(
        "error",
        "\(given.count) sockets were given and workers is \(configuration.workers), which nginx "
          + "uses too: set workers = \(given.count), or \(cure)"
      )
      throw ExitCode(unusable)
    }
    for (index, socket) in given.enumerated() {
      let name = SocketName(index, configuration)
      guard let found = socket.name, !name.isReached(by: found) else { continue }
      Log.write(
        "error",
        "systemd passed the socket \(found), but nginx uses \(name.nginx) by the settings listen "
          + "and socket_directory: \(cure)"
      )
      throw ExitCode(unusable)
    }
  }
}

struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Answers requests on the listening socket that is descriptor 0.",
    discussion: "`run` and spawn-fcgi start this command."
  )
  @OptionGroup var options: ConfigurationOptions

  @Option(help: .hidden)
  var slot: Int?

  @Flag(help: .hidden)
  var whenReady = false

  @Flag(name: .customLong("maintenance"), help: .hidden)
  var runsMaintenance = false

  func run() throws {
    ProcessHardening.keep()
    let configuration = try options.configuration(
      with: ReferenceLists.check, tell: Worker.complaint(slot: slot)
    )
    EventLoop.reactor.takeGlobalJobs()
    EventLoop.reactor.start { [slot, whenReady, runsMaintenance] in
      Worker.run(
        configuration, slot: slot, whenReady: whenReady,
        runsMaintenance: runsMaintenance || slot == nil
      )
    }
  }
}

struct ReloadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload",
    abstract: "Replaces the workers of a running dossierd, and waits for the result.",
    discussion: """
      If the new workers do not become ready, the old workers keep running, and the command prints \
      the reason and exits with 1.
      """)

  @Argument(help: "The process id of `dossierd run`.")
  var process: Int32

  func run() throws {
    guard let reason = ControlSocket.ask(process) else { return }
    complain(reason)
    throw ExitCode(1)
  }
}

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints the settings in force, and the source of each."
  )
  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    print(options.values.listing)
    _ = try options.configuration(tell: complain)
  }
}

struct Settings: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints all settings with their defaults and meanings."
  )

  func run() throws { print(SettingValues.table) }
}

struct Routes: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints all routes of the API with method, path, access and summary."
  )

  @Flag(help: "Print the routes of all APIs, also of those for clients of other services.")
  var all = false

  func run() throws {
    for route in all ? clientWires.flatMap(\.routes) : RESTWire().routes {
      print("\(route.name)\t\(route.access)\t\(route.summary)")
    }
  }
}

struct ReferenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reference",
    abstract: "Prints the pages of /reference and the index of their search as JSON.",
    discussion: "`deploy/docs` makes a site of them and the guides, which needs no server."
  )

  func run() {
    EventLoop.task {
      let reference = await RESTWire.referenceSite(AppCatalog.all.settings)
      Output.write(reference.text + "\n", to: 1)
      Glibc.exit(0)
    }
    EventLoop.reactor.run()
  }
}

struct Upstream: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints nginx's upstream block, and its servers for retries."
  )
  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.configuration(tell: complain)
    // A socket file outlives its worker, and its connections wait for the next one. So such a
    // server never counts as failed. If another host is silent, max_fails keeps requests from
    // trying each of its ports repeatedly.
    let failures = configuration.listen == nil ? "max_fails=0" : "max_fails=1 fail_timeout=30s"
    let servers = (0..<configuration.workers).map { index in
      "  server \(SocketName(index, configuration).nginx) \(failures);"
    }
    print(
      """
      upstream dossier_workers {
      \(servers.joined(separator: "\n"))
        keepalive 64;
        keepalive_requests 100000;
      }
      # Where a request goes whose first worker ended. A connection to a socket by its path is new: one
      # that nginx has kept may be to the worker that ended.
      map $upstream_status:$upstream_addr $dossier_another {
        default dossier_workers;
      \(Self.neighbours(configuration).joined(separator: "\n"))
      }
      """)
  }

  /// Returns lines that map each Unix socket to the next one.
  ///
  /// Workers that listen on a network have none. Their host may have failed with all its workers.
  private static func neighbours(_ configuration: Configuration) -> [String] {
    guard configuration.listen == nil else { return [] }
    let names = (0..<configuration.workers).map { SocketName($0, configuration).nginx }
    return zip(names, names.dropFirst() + names.prefix(1)).map { own, next in
      // A regular expression, since nginx rejects a plain key as long as a path may be.
      #"  "~^502:\Q\#(own)\E$" \#(next);"#
    }
  }
}

struct SocketUnit: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "socket-unit", abstract: "Prints the systemd unit that creates the sockets."
  )
  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.configuration(tell: complain)
    let sockets = (0..<configuration.workers).map { index in
      "ListenStream=\(SocketName(index, configuration).listenStream)"
    }
    let group = options.values[.socketGroup].map(\.value) ?? ""
    print(
      """
      # One line for each worker: what `dossierd socket-unit` prints.
      [Unit]
      Description=Sockets of the Dossier workers

      [Socket]
      \(sockets.joined(separator: "\n"))
      SocketUser=dossier
      SocketGroup=\(group.isEmpty ? "www-data" : group)
      SocketMode=0\(String(configuration.socketMode, radix: 8))
      DirectoryMode=0755
      Backlog=4096

      [Install]
      WantedBy=sockets.target
      """)
  }
}
