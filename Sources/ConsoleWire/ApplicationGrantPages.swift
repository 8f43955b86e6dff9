import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import JSON
import Pages
import Runtime
import WireKit

/// The APIs for which an application gets tokens by its own secret.
@EventLoop enum ApplicationGrantPages {
  nonisolated static let routes = grants.routes

  private nonisolated static let grants = ScopePages(
    "/console/{app}/applications/{record}/grants", of: "an application",
    meaning: "The APIs for which the application gets tokens by its secret, without a user. Tokens "
      + "that it has stay valid until they expire.",
    isRemovable: true,
    obstacle: { (visit) async throws(Failure) in
      let kind = try await ApplicationPages.pages.read(visit).json["kind"]?.string ?? ""
      return ["web", "machine"].contains(kind)
        ? nil : "This application has no secret, so it gets tokens only for users who sign in."
    },
    head: { (visit) async throws(Failure) in
      let client = try await ApplicationPages.pages.read(visit).json
      return ApplicationPages.pages.head(of: client, visit, tab: "grants")
    },
    stored: { (visit) async throws(Failure) in
      // Another app's application is not found.
      _ = try await ApplicationPages.pages.read(visit)
      return ConsoleVisit.scopes(in: try await visit.read("clients", id(visit), "grants").items)
    },
    at: { visit, api in ["clients", id(visit), "grants", api] },
    commands: { visit in ["dossier client grant \(id(visit)) IDENTIFIER --scope SCOPE"] })

  private static func id(_ visit: ConsoleVisit) -> String { visit.call.text("record") }
}
