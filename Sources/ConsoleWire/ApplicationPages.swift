import ConsoleKit
import ConsolePages
import Delivery
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The applications of an app, which `/v1` calls clients.
@EventLoop enum ApplicationPages {
  nonisolated static let pages = RecordPages(
    section: .applications, words: ClientRecord.words, shape: ClientRecord.table.shape,
    title: "name", key: "id", creation: ["name", "kind", "callback_urls", "logout_urls"],
    listed: ["kind", "id", "disabled"],
    one: "application",
    none: "This app has no applications. An application signs users in, or is a back end.",
    labels: [
      "name": "Name", "kind": "Type", "callback_urls": "Allowed Callback URLs",
      "logout_urls": "Allowed Logout URLs", "web_origins": "Allowed Web Origins",
      "cors_origins": "Allowed Origins (CORS)", "id": "Client ID", "disabled": "Disabled",
    ],
    groups: [
      .init(nil, ["name", "kind", "description", "disabled"]),
      .init("URLs", ["callback_urls", "logout_urls", "web_origins", "cors_origins"]),
      .init("Sign-in", ["connections", "first_party", "confirm_sign_in", "pkce"]),
      .init("Tokens", ["scopes", "refresh_token_days", "claims_profile", "claims"]),
      .init("Links on pages", ["logo_url", "terms_url", "privacy_url"], isClosed: true),
      .init(
        "Native apps",
        ["apple_team_id", "apple_bundle_id", "android_package", "android_certificates"],
        isClosed: true),
    ],
    extra: facts, tabs: tabs)

  nonisolated static let routes =
    pages.routes + [
      ConsoleVisit.page(
        "/console/{app}/applications/{record}/start", "Show how an application begins"
      ) { (visit) async throws(Failure) in try await start(visit) }
    ]
    + ConsoleVisit.asked(
      "/console/{app}/applications/{record}/secret", for: .owner, isRecent: true,
      "Replace the secret of an application"
    ) { (visit) async throws(Failure) in
      let client = try await pages.read(visit).json
      let name = client["name"]?.string ?? ""
      return ConsoleQuestion(
        title: "Replace the secret of \(name)",
        heading: "Replace the secret of \(Part.name(name))", section: .applications,
        back: ConsoleLink(name, to: visit.path("applications", visit.call.text("record"))),
        consequences: [
          "The application is refused at once, until it has the new secret.",
          "The new secret is shown once.",
        ], button: "Replace the secret",
        commands: ["dossier client rotate \(visit.call.text("record"))"])
    } _: { (visit, _) async throws(Failure) in
      let id = visit.call.text("record")
      let answer = try await visit.send(ConsoleRequest(.post, "clients", id, "secret"))
      return .done(
        visit.path("applications", id), "The old secret is refused from now on.",
        values: [.secret: answer.json["secret"]?.string ?? ""])
    }

  private static func tabs(_ visit: ConsoleVisit, _ current: String) -> [ConsoleTab] {
    let id = visit.call.text("record")
    return [
      ConsoleTab("Settings", to: visit.path("applications", id), isCurrent: current.isEmpty),
      ConsoleTab(
        "Start", to: visit.path("applications", id, "start"), isCurrent: current == "start"),
      ConsoleTab(
        "API access", to: visit.path("applications", id, "grants"), isCurrent: current == "grants"),
    ]
  }

  /// Returns the domain as SDKs ask for it: the host, with the port if the URL has one.
  private static func domain(_ visit: ConsoleVisit) async throws(Failure) -> String {
    let origin = try await origin(visit)
    return origin.split(separator: "/").last.map(String.init) ?? origin
  }

  /// Returns the origin of the app's pages.
  private static func origin(_ visit: ConsoleVisit) async throws(Failure) -> String {
    let app = try await visit.context.apps.app(named: visit.place, host: nil)
    return visit.context.mailer.pages?.origin(of: app) ?? visit.call.origin
  }

  private static func facts(
    _ visit: ConsoleVisit, _ client: JSON
  ) async throws(Failure) -> [Markup] {
    let domain = try await domain(visit)
    var card: Markup = """
      \(Part.definitions([
        ("Domain", Part.identifier(domain)),
        ("Client ID", Part.identifier(client["id"]?.string ?? "")),
      ]))
      """
    let kind = client["kind"]?.string ?? ""
    if visit.right >= .owner, kind == "web" || kind == "machine" {
      let path = visit.path("applications", client["id"]?.string ?? "", "secret")
      card = """
        \(card)\(Part.buttons(Part.link("Replace the secret", to: path, style: .secondary)))
        """
    }
    return [Part.card("Basic information", card)]
  }

  // MARK: Start

  private static func start(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let client = try await pages.read(visit).json
    var page = pages.head(of: client, visit, tab: "start")
    let domain = try await domain(visit)
    let id = client["id"]?.string ?? ""
    let callback = client["callback_urls"]?.array?.first?.string
    page.body = snippets(
      client["kind"]?.string ?? "", domain: domain, at: try await origin(visit), id, callback
    ).map {
      Part.card($0.title, Part.code($0.text, label: $0.title))
    }
    if callback == nil, client["kind"]?.string != "machine" {
      page.body.insert(
        Part.warning(
          """
          <p>This application has no callback URL yet, so users cannot return to it. Add it under \
          \(Part.link("Settings", to: visit.path("applications", id))).</p>
          """), at: 0)
    }
    if client["logout_urls"]?.array?.isEmpty != false, client["kind"]?.string != "machine" {
      page.body.append(
        Part.paragraph(
          "After a sign-out, users return only to one of the Allowed Logout URLs of the settings; "
            + "there is none yet."))
    }
    page.commands = ["dossier client show \(id)"]
    return page
  }

  private static func snippets(
    _ kind: String, domain: String, at origin: String, _ id: String, _ callback: String?
  ) -> [(title: String, text: String)] {
    switch kind {
    case "native":
      return [
        (
          "Auth0.plist (Auth0.swift)",
          """
          <?xml version="1.0" encoding="UTF-8"?>
          <plist version="1.0">
          <dict>
            <key>ClientId</key>
            <string>\(id)</string>
            <key>Domain</key>
            <string>\(domain)</string>
          </dict>
          </plist>
          """
        ),
        (
          "Callback and logout URLs",
          """
          https://\(domain)/ios/BUNDLE_IDENTIFIER/callback
          BUNDLE_IDENTIFIER://\(domain)/ios/BUNDLE_IDENTIFIER/callback
          """
        ),
      ]
    case "single_page":
      return [
        (
          "JavaScript (dossier.js)",
          """
          import { Dossier } from "\(origin)/dossier.js";
          import { handleRedirect, signInRedirect } from "\(origin)/dossier-redirect.js";

          const dossier = new Dossier("\(origin)");
          await handleRedirect(dossier);
          if (!dossier.user) await signInRedirect(dossier, { client: "\(id)" });
          console.log(await dossier.profile());
          """
        ),
        (
          "JavaScript (oidc-client-ts)",
          """
          import { UserManager } from "oidc-client-ts";

          const manager = new UserManager({
            authority: "\(origin)/",
            client_id: "\(id)",
            redirect_uri: "\(callback ?? "https://app.example.com/callback")",
            scope: "openid profile email offline_access",
          });
          await manager.signinRedirect();
          """
        ),
        (
          "JavaScript (auth0-spa-js)",
          """
          import { createAuth0Client } from "@auth0/auth0-spa-js";

          const auth0 = await createAuth0Client({
            domain: "\(domain)",
            clientId: "\(id)",
            authorizationParams: { redirect_uri: "\(callback ?? "https://app.example.com/callback")" },
          });
          await auth0.loginWithRedirect();
          """
        ),
      ]
    case "web":
      return [
        (
          "Environment",
          """
          ISSUER=\(origin)/
          CLIENT_ID=\(id)
          CLIENT_SECRET=the secret that was shown once
          CALLBACK_URL=\(callback ?? "https://app.example.com/callback")
          """
        )
      ]
    default:
      return [
        (
          "A token for an API",
          """
          curl \(origin)/oauth/token \\
            --data grant_type=client_credentials \\
            --data client_id=\(id) \\
            --data client_secret=SECRET \\
            --data audience=IDENTIFIER_OF_THE_API
          """
        )
      ]
    }
  }
}
