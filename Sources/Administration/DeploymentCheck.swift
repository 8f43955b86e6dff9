import Delivery
import Distribution
package import EventLoop
package import JSON
package import Outbound
import Postgres
package import Runtime
package import Tenancy

/// The checks of a deployment that a worker can make at any time: they only ask the database.
///
/// `dossier doctor` makes them too, and others on its host.
@EventLoop package final class DeploymentCheck: DomainService {
  private let readiness: ReadinessCheck
  private let mail: MailRelaySettings
  private let host: String
  private let version: String
  private let connections: Int
  private var last: (time: Int, report: Report)?

  /// The result of one check.
  ///
  /// A nil fault means that it passed.
  package struct Finding: Sendable {
    package let what: String
    package let fault: String?

    package nonisolated init(_ what: String, _ fault: String? = nil) {
      (self.what, self.fault) = (what, fault)
    }

    package var json: JSON {
      ["what": .string(what), "fault": fault.map(JSON.string) ?? .null]
    }
  }

  /// The state of a deployment.
  package struct Report: Sendable {
    package let findings: [Finding]
    /// Whether requests can be served.
    package let isReady: Bool
    /// Nil if the database does not respond.
    package let database: ServerFacts?
    package let hosts: [HostRecord]
    /// The version of the program that has checked.
    package let version: String
    package let time: Timestamp
  }

  /// - Parameters:
  ///   - readiness: the check of everything that a request needs.
  ///   - mail: the settings of mail.
  ///   - host: the name of this host.
  ///   - version: the version of this program.
  ///   - connections: the most connections of the workers of this host, in a reload.
  package nonisolated init(
    _ readiness: ReadinessCheck, mail: MailRelaySettings, host: String, version: String,
    connections: Int
  ) {
    (self.readiness, self.mail, self.host) = (readiness, mail, host)
    (self.version, self.connections) = (version, connections)
  }

  /// Makes the checks.
  ///
  /// - Parameters:
  ///   - age: the seconds that an earlier result of this process may be old.
  ///   - context: the context of the request.
  /// - Returns: the result.
  package func report(since age: Int = 0, _ context: RequestContext) async -> Report {
    let now = Timestamp.now
    if let last, (0..<age).contains(now.seconds - last.time) { return last.report }
    let hosts: Result<[HostRecord], DatabaseError>
    do throws(DatabaseError) {
      hosts = .success(try await Hosts.list(in: context.database))
    } catch {
      hosts = .failure(error)
    }
    let (isReady, facts, findings) = await findings(hosts, context)
    let report = Report(
      findings: findings, isReady: isReady, database: facts, hosts: (try? hosts.get()) ?? [],
      version: version, time: now)
    last = (now.seconds, report)
    return report
  }

  private func findings(
    _ hosts: Result<[HostRecord], DatabaseError>, _ context: RequestContext
  ) async -> (isReady: Bool, facts: ServerFacts?, findings: [Finding]) {
    if let fault = await readiness.fault() {
      return (false, await readiness.facts(), [Finding("database", fault.description)])
    }
    guard let facts = await readiness.facts() else {
      return (false, nil, [Finding("database", "it does not answer")])
    }
    let ahead = abs(facts.time - Int(Timestamp.now.wholeMilliseconds))
    let first = [
      Finding("database"),
      Finding("writes", await readiness.writeFault()?.reason),
      Finding(
        "connections",
        connections <= facts.maxConnections
          ? nil
          : "the workers of this host may take \(connections) in a reload, and max_connections of "
            + "PostgreSQL is \(facts.maxConnections): raise that (alter system set max_connections), "
            + "and restart PostgreSQL, or have fewer workers or write_connections"
      ),
      Finding(
        "clock",
        ahead < 5_000
          ? nil
          : "it differs by \(ahead) ms from that of the database's host: tokens expire at the "
            + "wrong time; synchronize both hosts with a time server (apt install systemd-timesyncd)"
      ),
      await mailQueue(),
    ]
    let rest = await nodes() + differences(hosts) + apps(context)
    return (true, facts, first + rest)
  }

  private func mailQueue() async -> Finding {
    let fault: String? =
      switch await readiness.lateMails() {
      case nil: "it cannot be counted: the database, or one of its nodes, does not answer"
      case 0: nil
      case let late?: "\(late) mails are delayed or abandoned: see dossier mail list"
      }
    return Finding("mail queue", fault)
  }

  /// Compares the clocks of the nodes of a distributed database with that of its coordinator.
  private func nodes() async -> [Finding] {
    guard let clocks = await readiness.nodeClocks() else {
      let fault = "their clocks cannot be read: a node does not answer, and its users get 503"
      return [Finding("nodes", fault)]
    }
    return clocks.map { clock in
      guard let time = clock.time else {
        return Finding("node \(clock.node)", "it does not answer: its users get 503")
      }
      let ahead = abs(time - clock.coordinatorTime)
      return Finding(
        "node \(clock.node)",
        ahead < 5_000
          ? nil
          : "its clock differs by \(ahead) ms from that of the coordinator: sessions and tokens of "
            + "its users expire wrongly; have both hosts ask a time server"
      )
    }
  }

  /// Compares this host with every other one, or the first one with the rest.
  private func differences(_ listed: Result<[HostRecord], DatabaseError>) -> [Finding] {
    let hosts: [HostRecord]
    switch listed {
    case .success(let found): hosts = found
    case .failure(let error): return [Finding("hosts", "they cannot be read: \(error)")]
    }
    guard let own = hosts.first(where: { $0.name.hasSameBytes(as: host) }) ?? hosts.first else {
      return [Finding("hosts")]
    }
    let findings = hosts.compactMap { host -> Finding? in
      let names = own.fingerprint.differences(from: host.fingerprint)
      if !names.isEmpty {
        return Finding(
          "host \(host.name)",
          "its workers have another value of \(names.joined(separator: ", ")) than those of "
            + "\(own.name): make the settings the same, and reload dossierd on both"
        )
      }
      guard host.version != own.version else { return nil }
      return Finding(
        "host \(host.name)",
        "it serves by version \(host.version), and \(own.name) by \(own.version): finish the upgrade"
      )
    }
    return findings.isEmpty ? [Finding("hosts")] : findings
  }

  /// Finds apps with invalid stored settings, and apps whose sender address relays refuse.
  private func apps(_ context: RequestContext) async -> [Finding] {
    let apps: [AppRecord]
    do throws(Failure) {
      apps = try await Apps.list(context)
    } catch {
      return [Finding("apps", "they cannot be read: \(error)")]
    }
    let misfits = apps.filter { !$0.app.settings.misfits.isEmpty }.map { app in
      Finding(
        "app \(app.name)",
        "invalid stored settings, replaced by their safest values; set them, or reset them to their "
          + "defaults: dossier app set --app \(app.name) "
          + app.app.settings.misfits.map { "\($0)=null" }.joined(separator: " ")
      )
    }
    guard case .relay = mail.destination else { return misfits }
    return misfits
      + apps.filter(\.hasLocalSender).map { app in
        Finding(
          "app \(app.name)",
          "its mail is from \(app.app.mailSettings.sender), which relays refuse: "
            + "dossier app set --app \(app.name) mail_from=no-reply@YOUR.DOMAIN"
        )
      }
  }
}

extension AppRecord {
  /// Whether the sender of its mail is of a host without a name in the DNS.
  package var hasLocalSender: Bool { app.mailSettings.sender.hasSuffix("@localhost") }
}
