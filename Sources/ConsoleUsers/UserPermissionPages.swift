import ConsoleKit
import ConsolePages
import EventLoop
import JSON
import Pages
import Runtime
import WireKit

/// The permissions that a user has without a role.
@EventLoop enum UserPermissionPages {
  nonisolated static let routes = ScopePages(
    "/console/{app}/users/{user}/permissions", of: "a user",
    meaning: "These permissions add to those of the user's roles. Tokens get them at their next "
      + "refresh.",
    head: { (visit) async throws(Failure) in
      var page = UserPages.page(of: try await visit.read("users", visit.userID).json, .roles, visit)
      page.hasTimes = false
      return page
    },
    stored: { (visit) async throws(Failure) in
      let items = try await visit.read("users", visit.userID, "permissions").items
      return ConsoleVisit.scopes(in: items.filter { $0["direct"]?.bool == true })
    },
    at: { visit, api in ["users", visit.userID, "permissions", api] },
    commands: { visit in
      ["dossier user permit \(visit.userID) IDENTIFIER --scope SCOPE --app \(visit.place)"]
    }
  ).routes
}
