import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The applications that a user has given access.
@EventLoop enum UserApplicationPages {
  private nonisolated static let path = "/console/{app}/users/{user}/applications"

  nonisolated static let routes = [
    ConsoleVisit.page(path, "List the applications of a user", list),
    ConsoleVisit.form("\(path)/remove", below: 1, "Take an application's access to a user") {
      (visit, form) async throws(Failure) in
      _ = try await visit.send(
        ConsoleRequest(.delete, "users", visit.userID, "consents", form["client"] ?? ""))
      return .done(
        visit.userPath("applications"), "The application has lost its access, and its sessions end."
      )
    },
  ]

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let consents = try await visit.read("users", visit.userID, "consents").items
    var page = UserPages.page(of: user, .applications, visit)
    page.commands = [
      "dossier api GET /v1/users/\(visit.userID)/consents --app \(visit.place)"
    ]
    guard !consents.isEmpty else {
      page.body = [Part.empty("This user has given no application access.")]
      return page
    }
    let mayRemove = visit.right >= .support
    var columns: [ConsoleTable.Column] = [
      .init("Application"), .init("Scopes"), .init("API", isMinor: true), .init("Allowed"),
    ]
    if mayRemove { columns.append(.init("Action")) }
    var table = ConsoleTable("Applications", columns)
    for consent in consents {
      let id = consent["client_id"]?.string ?? ""
      let scopes = consent["scopes"]?.array?.compactMap(\.string) ?? []
      let name = consent["name"]?.string
      let link: Markup = """
        <a href="\(visit.path("applications", id).text)">\(Part.name(name ?? id))</a>
        """
      var row: [Markup] = [
        name == nil ? Part.identifier(id) : link, "\(scopes.joined(separator: ", "))",
        Part.name(consent["audience"]?.string ?? ""), Part.time(consent["updated_at"]?.string),
      ]
      if mayRemove {
        let target = visit.target(
          visit.userPath("applications", "remove"), [HiddenField("client", id)])
        row.append(Part.button("Remove access", target))
      }
      table.rows.append(row)
    }
    page.body = [table.markup]
    return page
  }
}
