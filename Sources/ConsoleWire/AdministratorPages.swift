import ConsoleKit
import Administration
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import WireKit

/// The administrators, for owners of all apps.
@EventLoop enum AdministratorPages {
  private nonisolated static let pages = RecordPages(
    section: .administrators, words: AdministratorRecord.words,
    shape: AdministratorRecord.table.shape, title: "email", key: "id",
    creation: ["email", "role", "app_ids", "networks"], listed: ["role", "disabled"],
    one: "administrator", none: "There are no administrators.",
    labels: ["email": "Email address", "role": "Role", "app_ids": "Apps", "disabled": "Disabled"],
    options: { (visit) async throws(Failure) in
      let apps = try await visit.read("apps").items
      guard apps.count <= mostApps else { return [:] }
      return [
        "app_ids": apps.map { ($0["id"]?.string ?? "", $0["name"]?.string ?? "") }
      ]
    },
    secretMeaning: "The link works once, and for 15 minutes. It is shown only now: give it to the "
      + "administrator.",
    extra: { visit, record in
      let id = record["id"]?.string ?? ""
      return [
        Part.card(
          "Sign-in link",
          """
          <p>The administrator sets a password and an authenticator app with it. It ends all sessions of \
          an administrator who has signed in before.</p>\
          \(Part.button(
            "Make the link", visit.target(.console("-", "administrators", id, "link"))))
          """)
      ]
    })

  /// The most apps to tick; more are typed by their IDs.
  private nonisolated static let mostApps = 50

  nonisolated static let routes =
    pages.routes + [
      ConsoleVisit.form(
        "/console/-/administrators/{record}/link", below: 1, for: .deployment, isRecent: true,
        "Make a new link for an administrator"
      ) { (visit, _) async throws(Failure) in
        let id = visit.call.text("record")
        let made = try await visit.send(ConsoleRequest(.post, "administrators", id, "link"))
        return .done(
          .console("-", "administrators", id), "The link is made.",
          values: [.secret: made.json["link"]?.string ?? ""])
      }
    ]
}
