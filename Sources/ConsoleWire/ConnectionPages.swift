import ConsoleKit
import ConsolePages
import Delivery
import EventLoop
import Federation
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The connections of an app: the services at which its users sign in.
@EventLoop enum ConnectionPages {
  private nonisolated static let pages = RecordPages(
    section: .connections, words: ConnectionRecord.words, shape: ConnectionRecord.table.shape,
    title: "name", key: "name", creation: nil, listed: ["preset", "disabled"],
    one: "connection",
    none: "Users of this app sign in with passwords or codes. A connection adds a service, such as "
      + "Google.",
    labels: ["preset": "Service", "disabled": "State"],
    groups: [
      .init(nil, ["name", "preset", "label", "enabled", "client_id", "client_secret"]),
      .init("Users", ["sign_up", "link", "email_trust", "refresh_profile", "domains", "tenants"]),
      .init(
        "Issuer and endpoints",
        ["issuer", "authorization_url", "token_url", "userinfo_url", "scopes", "claims"],
        isClosed: true),
      .init("Apple", ["team_id", "key_id"], isClosed: true),
    ],
    extra: { (visit, connection) async throws(Failure) in [try await card(visit, connection)] })

  nonisolated static let routes =
    pages.routes + [
      ConsoleVisit.form(
        "/console/{app}/connections/{record}/check", below: 1, for: .admin, "Check a connection",
        check)
    ]

  /// Returns what the operator registers at the service.
  private static func card(
    _ visit: ConsoleVisit, _ connection: JSON
  ) async throws(Failure) -> Markup {
    let app = try await visit.context.apps.app(named: visit.place, host: nil)
    let content: Markup
    if let origin = visit.context.mailer.pages?.origin(of: app) {
      let uri = Redirects.uri(ofConnection: connection["name"]?.string ?? "", "\(origin)/")
      content = Part.definitions([("Redirect URI", Part.identifier(uri))])
    } else {
      content = """
        <p>The app has no host name, so no browser comes back from the service. Set one on the \
        command line: \(Part.identifier("dossier app host set --app \(visit.place) HOST"))</p>
        """
    }
    guard visit.right >= .admin else { return Part.card("At the service", content) }
    return Part.card(
      "At the service",
      """
      \(content)\
      <p class="muted">Register the URI at the service. <em>Check</em> then tries the settings, the \
      keys and the secret, without a user.</p>\
      \(Part.buttons(Part.button("Check", visit.target(pages.recordPath(visit, "check")))))
      """)
  }

  // MARK: Check

  private static let uris = [
    "redirect_uri", "backchannel_logout_uri", "post_logout_redirect_uri",
  ]

  private static func check(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let connection = try await pages.read(visit).json
    let result = try await visit.send(
      ConsoleRequest(.post, "connections", pages.id(visit), "check")
    ).json
    var page = pages.head(of: connection, visit, tab: "")
    let name = connection["name"]?.string ?? ""
    page.back = ConsoleLink(name, to: pages.recordPath(visit))
    page.commands = ["dossier connection check \(pages.id(visit)) --app \(visit.place)"]
    let checks = result["checks"]?.array.map(Array.init) ?? []
    let faults = checks.count { $0["ok"]?.bool != true }
    let sentence =
      switch faults {
      case 0: "Users can sign in by this connection."
      case 1: "1 check fails."
      default: "\(faults) checks fail."
      }
    var table = ConsoleTable("Checks", [.init("Check"), .init("State"), .init("Detail")])
    for check in checks {
      table.rows.append([
        "\(NameWords.label(check["check"]?.string ?? ""))",
        check["ok"]?.bool == true ? Part.tag("Right", .success) : Part.tag("Wrong", .danger),
        Part.name(check["detail"]?.string ?? ""),
      ])
    }
    let addresses = uris.compactMap { name -> (label: String, value: Markup)? in
      result[name]?.string.map { (NameWords.label(name), Part.identifier($0)) }
    }
    page.body = [
      faults == 0 ? Part.paragraph(sentence) : Part.warning(Part.paragraph(sentence)), table.markup,
    ]
    if !addresses.isEmpty {
      page.body.append(Part.card("To register at the service", Part.definitions(addresses)))
    }
    page.body.append(
      Part.buttons(Part.button("Check again", visit.target(pages.recordPath(visit, "check")))))
    return .refused(page, .ok)
  }
}
