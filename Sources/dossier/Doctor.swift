import Runtime
import Delivery
import ArgumentParser
import Configuration
import Distribution
import Tenancy
import EventLoop
import Glibc
import JSON
import Outbound
import Postgres
import ReferenceData

/// Checks everything that a deployment needs, and prints how to fix each problem.
struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks a deployment, and reports each problem with its remedy.",
    discussion: """
      It examines the settings and whether all hosts share them, the database with its schema, \
      rights, master key and app, the nodes of a distributed database, a write that it rolls back, \
      the sockets of the workers, nginx's configuration and certificates, mail, the connections to \
      other services, the domains and files of passkeys, clocks and limits. Run it on the host that \
      serves, as the user that serves.
      """)
  @OptionGroup var settings: ConfigurationOptions
  @OptionGroup var output: OutputOptions

  @Option(
    help: ArgumentHelp(
      "The folder of nginx's files; by default /etc/nginx, if it exists.", valueName: "folder"
    )
  )
  var nginx: String?

  func run() throws {
    let values = settings.values
    let configuration: Configuration
    var findings: [Finding] = []
    do throws(ConfigurationError) {
      configuration = try Configuration(values, serves: false)
    } catch {
      end([error.description], .configuration)
    }
    do throws(ConfigurationError) {
      _ = try Configuration(values, serves: true)
      findings.append(Finding("settings"))
    } catch {
      findings += error.problems.map { Finding("settings", $0) }
    }
    do throws(ReferenceListError) {
      try ReferenceLists.check()
      findings.append(Finding("lists"))
    } catch {
      findings.append(Finding("lists", error.description))
    }
    findings += Self.sockets(configuration) + [Self.files(configuration)]
    findings += NginxFiles(nginx ?? NginxFiles.usual)?.findings(configuration) ?? []
    let local = findings
    let isJSON = output.isJSON
    EventLoop.task {
      let context = CommandContext(configuration, isLarge: false)
      let all = local + (await context.findings(configuration))
      let isWell = all.allSatisfy { $0.fault == nil }
      let rows = all.map { finding -> JSON in
        ["what": .string(finding.what), "fault": finding.fault.map(JSON.string) ?? .null]
      }
      let output = CommandOutput(.array(rows), columns: ["what", "fault"])
      Output.write(output.text(asJSON: isJSON), to: 1)
      end([], isWell ? .success : .checksFailed)
    }
    EventLoop.reactor.run()
  }

  /// The result of one check.
  ///
  /// A nil fault means that it passed.
  struct Finding: Sendable {
    let what: String
    let fault: String?

    init(_ what: String, _ fault: String? = nil) { (self.what, self.fault) = (what, fault) }
  }

  /// Checks that a worker listens on each socket to which nginx connects.
  private static func sockets(_ configuration: Configuration) -> [Finding] {
    guard configuration.listen == nil else { return [] }
    return (0..<configuration.workers).map { index in
      let path = SocketName(index, configuration).path ?? ""
      let reason = fault(of: path)
      return Finding("socket \(index)", reason.map { "\(path): \($0)" })
    }
  }

  private static func fault(of path: String) -> String? {
    guard let name = SocketAddress(path: path) else { return "too long" }
    return switch name.connectionError() {
    case 0: nil
    case EAGAIN: "its queue is full, so the worker hangs"
    case let code: "\(systemMessage(code)); is dossierd running?"
    }
  }

  /// Checks that a worker may open as many files as it may have connections.
  private static func files(_ configuration: Configuration) -> Finding {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_max < rlim_t(configuration.files) else { return Finding("files") }
    return Finding(
      "files",
      "only \(limit.rlim_max) may be open, and connections is \(configuration.connections): raise "
        + "LimitNOFILE or lower connections"
    )
  }
}

extension CommandContext {
  /// Checks the database, the mail queue, the hosts and the apps.
  fileprivate func findings(_ configuration: Configuration) async -> [Doctor.Finding] {
    await settle()
    if let fault = await servingReadiness.fault() {
      return [
        Doctor.Finding("database", fault.description), await mail(configuration.mail, from: []),
      ]
    }
    guard let facts = await servingReadiness.facts() else {
      return [Doctor.Finding("database", "it does not answer")]
    }
    let ahead = abs(facts.time - Int(Timestamp.now.wholeMilliseconds))
    var database = DatabaseSettings(conninfo: "", applicationName: "")
    database.writeConnections = configuration.writeConnections
    // A reload doubles the workers.
    let connections = configuration.workers * database.allConnections * 2
    return [
      Doctor.Finding("database"),
      Doctor.Finding("writes", await servingReadiness.writeFault()?.reason),
      Doctor.Finding(
        "connections",
        connections <= facts.maxConnections
          ? nil
          : "the workers of this host may take \(connections) in a reload, and max_connections of "
            + "PostgreSQL is \(facts.maxConnections): raise that (alter system set max_connections), "
            + "and restart PostgreSQL, or have fewer workers or write_connections"
      ),
      Doctor.Finding(
        "clock",
        ahead < 5_000
          ? nil
          : "it differs by \(ahead) ms from that of the database's host: tokens expire at the "
            + "wrong time; synchronize both hosts with a time server (apt install systemd-timesyncd)"
      ),
      await mailQueue(),
    ] + (await nodes()) + (await hosts()) + (await apps(configuration))
  }

  private func mailQueue() async -> Doctor.Finding {
    let fault: String? =
      switch await servingReadiness.lateMails() {
      case nil: "it cannot be counted: the database, or one of its nodes, does not answer"
      case 0: nil
      case let late?: "\(late) mails are delayed or abandoned: see dossier mail list"
      }
    return Doctor.Finding("mail queue", fault)
  }

  /// Compares the clocks of the nodes of a distributed database with that of its coordinator.
  private func nodes() async -> [Doctor.Finding] {
    guard let clocks = await servingReadiness.nodeClocks() else {
      let fault = "their clocks cannot be read: a node does not answer, and its users get 503"
      return [Doctor.Finding("nodes", fault)]
    }
    return clocks.map { clock in
      guard let time = clock.time else {
        return Doctor.Finding("node \(clock.node)", "it does not answer: its users get 503")
      }
      let ahead = abs(time - clock.coordinatorTime)
      return Doctor.Finding(
        "node \(clock.node)",
        ahead < 5_000
          ? nil
          : "its clock differs by \(ahead) ms from that of the coordinator: sessions and tokens of "
            + "its users expire wrongly; have both hosts ask a time server"
      )
    }
  }

  /// Compares this host with every other one, or the first one with the rest.
  private func hosts() async -> [Doctor.Finding] {
    let hosts: [HostRecord]
    do throws(DatabaseError) {
      hosts = try await Hosts.list(in: deployment.database)
    } catch {
      return [Doctor.Finding("hosts", "they cannot be read: \(error)")]
    }
    guard let own = hosts.first(where: { $0.name == HostName.own }) ?? hosts.first else {
      return [Doctor.Finding("hosts")]
    }
    let findings = hosts.compactMap { host -> Doctor.Finding? in
      let names = own.fingerprint.differences(from: host.fingerprint)
      if !names.isEmpty {
        return Doctor.Finding(
          "host \(host.name)",
          "its workers have another value of \(names.joined(separator: ", ")) than those of "
            + "\(own.name): make the settings the same, and reload dossierd on both"
        )
      }
      guard host.version != own.version else { return nil }
      return Doctor.Finding(
        "host \(host.name)",
        "it serves by version \(host.version), and \(own.name) by \(own.version): finish the upgrade"
      )
    }
    return findings.isEmpty ? [Doctor.Finding("hosts")] : findings
  }

  /// Checks mail, connections and passkeys.
  ///
  /// It also finds apps with invalid stored settings, and apps whose sender address relays refuse.
  private func apps(_ configuration: Configuration) async -> [Doctor.Finding] {
    let settings = configuration.mail
    let apps: [AppRecord]
    do throws(Failure) {
      apps = try await Apps.list(deployment)
    } catch {
      return [Doctor.Finding("apps", "they cannot be read: \(error)")]
    }
    let misfits = apps.filter { !$0.app.settings.misfits.isEmpty }.map { app in
      Doctor.Finding(
        "app \(app.name)",
        "invalid stored settings, replaced by their safest values; set them, or reset them to their "
          + "defaults: dossier app set --app \(app.name) "
          + app.app.settings.misfits.map { "\($0)=null" }.joined(separator: " ")
      )
    }
    let names = apps.map(\.name)
    let services =
      await connectionFindings(of: names) + passkeyFindings(of: names, configuration.issuerSource)
    guard case .relay = settings.destination else {
      return misfits + services + [await mail(settings, from: [])]
    }
    let (local, others) = apps.reduce(into: ([AppRecord](), [AppRecord]())) { lists, app in
      if app.app.mailSettings.sender.hasSuffix("@localhost") {
        lists.0.append(app)
      } else {
        lists.1.append(app)
      }
    }
    let unnamed = local.map { app in
      Doctor.Finding(
        "app \(app.name)",
        "its mail is from \(app.app.mailSettings.sender), which relays refuse: "
          + "dossier app set --app \(app.name) mail_from=no-reply@YOUR.DOMAIN"
      )
    }
    return misfits + services + unnamed
      + [await mail(settings, from: others.map(\.app.mailSettings.sender))]
  }

  /// The senders that are named to the relay.
  private static let checkedSenders = 20

  /// Checks that mail can be sent now.
  ///
  /// It names the senders to the relay, which often refuses the name in EHLO only then. It sends no
  /// message.
  private func mail(_ settings: MailRelaySettings, from senders: [String]) async -> Doctor.Finding {
    guard settings.isSomewhere else {
      let fault = "the setting mail is empty: addresses cannot be verified, nor passwords reset"
      return Doctor.Finding("mail", fault)
    }
    do throws(MailError) {
      let relay = try MailRelay(settings)
      try await relay.check()
      for sender in Set(senders).sorted().prefix(Self.checkedSenders) {
        try await relay.check(from: sender)
      }
      return Doctor.Finding("mail")
    } catch {
      return Doctor.Finding("mail", error.description)
    }
  }
}
