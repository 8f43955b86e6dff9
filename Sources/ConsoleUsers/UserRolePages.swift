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

/// The roles and permissions of a user.
@EventLoop enum UserRolePages {
  private nonisolated static let path = "/console/{app}/users/{user}/roles"

  nonisolated static let routes = [
    ConsoleVisit.page(path, "List the roles of a user") { (visit) async throws(Failure) in
      try await page(visit)
    },
    ConsoleVisit.form(path, "Give a user a role") { (visit, form) async throws(Failure) in
      guard let role = form["role"], !role.isEmpty else {
        let mistakes = [Mistake("Choose a role.", field: "role")]
        return .refused(try await page(visit, mistakes: mistakes), .unprocessable)
      }
      _ = try await visit.send(ConsoleRequest(.put, "users", visit.userID, "roles", role))
      return .done(visit.userPath("roles"), "The user has the role.")
    },
    ConsoleVisit.form("\(path)/remove", below: 1, "Take a role from a user") {
      (visit, form) async throws(Failure) in
      _ = try await visit.send(
        ConsoleRequest(.delete, "users", visit.userID, "roles", form["role"] ?? ""))
      return .done(visit.userPath("roles"), "The user no longer has the role.")
    },
  ]

  private static func page(
    _ visit: ConsoleVisit, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let own = try await visit.read("users", visit.userID, "roles").items
    let permissions = try await visit.read("users", visit.userID, "permissions").items
    var page = UserPages.page(of: user, .roles, visit)
    page.hasTimes = false
    page.mistakes = mistakes
    let mayWrite = visit.right >= .admin
    var columns: [ConsoleTable.Column] = [.init("Role"), .init("Meaning")]
    if mayWrite { columns.append(.init("Action")) }
    var table = ConsoleTable("Roles", columns)
    for role in own {
      let id = role["id"]?.string ?? ""
      var row: [Markup] = [
        #"<a href="\#(visit.path("roles", id).text)">\#(Part.name(role["name"]?.string ?? ""))</a>"#,
        Part.name(role["description"]?.string ?? ""),
      ]
      if mayWrite {
        row.append(
          Part.button(
            "Remove",
            visit.target(visit.userPath("roles", "remove"), [HiddenField("role", id)])))
      }
      table.rows.append(row)
    }
    page.body = [own.isEmpty ? Part.empty("This user has no roles.") : table.markup]
    if mayWrite {
      let all = try await visit.read("roles").items
      let free = all.filter { role in !own.contains { $0["id"]?.string == role["id"]?.string } }
      let options = free.map { ($0["id"]?.string ?? "", $0["name"]?.string ?? "") }
      let field = ConsoleField("role", "Role", .choice([("", "Choose a role")] + options))
      page.body.append(
        Part.card(
          "Add a role",
          all.isEmpty
            ? """
            <p>This app has no roles.</p>\
            \(Part.link("Roles", to: visit.path("roles"), style: .secondary))
            """
            : Part.form(
              visit.target(visit.userPath("roles")), isWide: true,
              "\([field].markup(mistakes))\(Part.buttons(Part.submit("Add")))")))
    }
    if !mayWrite {
      page.body.append(Part.paragraph("An admin or owner can change the roles.", isMuted: true))
    }
    if !permissions.isEmpty {
      var table = ConsoleTable(
        "Permissions", [.init("Permission"), .init("API"), .init("From")])
      for item in permissions {
        let roles = item["roles"]?.array?.compactMap(\.string) ?? []
        let sources = (item["direct"]?.bool == true ? ["given directly"] : []) + roles
        table.rows.append([
          Part.identifier(item["scope"]?.string ?? ""), Part.name(item["name"]?.string ?? ""),
          Part.name(sources.joined(separator: ", ")),
        ])
      }
      page.body.append("<h2>Permissions</h2>")
      page.body.append(table.markup)
    }
    page.body.append(
      "<p>\(Part.link("Permissions without a role", to: visit.userPath("permissions")))</p>")
    page.commands = ["dossier user show \(visit.userID) --app \(visit.place)"]
    return page
  }
}
