import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The state of the deployment: readiness, checks, hosts, versions, database.
@EventLoop enum HealthPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/-/health", "Show the state of the deployment", health)
  ]

  private static func health(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let report = try await visit.read("doctor").json
    var page = ConsolePage("Health", section: .health)
    page.hasTimes = true
    page.tags = [
      report["ready"]?.bool == true
        ? Part.tag("Ready", .success) : Part.tag("Not ready", .danger)
    ]
    page.actions = [Part.link("Run again", to: .console("-", "health"), style: .secondary)]
    page.commands = ["dossier doctor"]
    let database = report["database"]
    page.body = [
      checks(report["findings"]?.array.map(Array.init) ?? []),
      Part.card(
        "Versions",
        Part.definitions([
          ("Program", Part.name(report["version"]?.string ?? "")),
          ("PostgreSQL", Part.name(database?["version"]?.string ?? "does not answer")),
          ("Migration", "\(database?["migration"]?.text ?? "–")"),
          ("Connections allowed", "\(database?["max_connections"]?.text ?? "–")"),
          ("Checked", Part.time(report["checked_at"]?.string)),
        ])),
      hosts(report["hosts"]?.array.map(Array.init) ?? []),
      Part.paragraph(
        "nginx, certificates, sockets, the mail relay and services that users sign in with are "
          + "checked by dossier doctor on the host.", isMuted: true),
    ]
    return page
  }

  private static func checks(_ findings: [JSON]) -> Markup {
    var table = ConsoleTable("Checks", [.init("Check"), .init("Result"), .init("What to do")])
    for finding in findings.sorted(by: { $0.isFault && !$1.isFault }) {
      table.rows.append([
        Part.name(finding["what"]?.string ?? ""),
        finding.isFault ? Part.tag("Fault", .danger) : Part.tag("Healthy", .success),
        Part.name(finding["fault"]?.string ?? ""),
      ])
    }
    return table.markup
  }

  private static func hosts(_ hosts: [JSON]) -> Markup {
    guard !hosts.isEmpty else { return Part.empty("No host has served within the last hour.") }
    var table = ConsoleTable("Hosts", [.init("Host"), .init("Version")])
    for host in hosts {
      table.rows.append([
        Part.name(host["name"]?.string ?? ""), Part.name(host["version"]?.string ?? ""),
      ])
    }
    return table.markup
  }
}

extension JSON {
  /// Whether a finding of the doctor has a fault.
  var isFault: Bool { self["fault"]?.string != nil }
}
