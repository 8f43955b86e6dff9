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

/// How a user signs in, and where the user is signed in.
@EventLoop enum UserSignInPages {
  private nonisolated static let path = "/console/{app}/users/{user}"

  nonisolated static let routes: [Route] =
    [
      ConsoleVisit.page("\(path)/sign-in", "Show how a user signs in") {
        (visit) async throws(Failure) in try await signIn(visit)
      },
      ConsoleVisit.form("\(path)/sign-in/reset", below: 1, "Email a user a link to a new password")
      {
        (visit, _) async throws(Failure) in
        _ = try await visit.send(
          ConsoleRequest(.post, "users", visit.userID, "password", "reset-request"))
        return .done(visit.userPath("sign-in"), "The email is on its way.")
      },
      ConsoleVisit.form(
        "\(path)/sign-in/password", below: 1, for: .admin, isRecent: true,
        "Set the password of a user", setPassword),
      ConsoleVisit.form("\(path)/sign-in/limits", below: 1, "Reset the limits of a user") {
        (visit, _) async throws(Failure) in
        var request = ConsoleRequest(.post, "rate-limits", "reset")
        request.body = ["user_id": .string(visit.userID)]
        let count = try await visit.send(request).json["reset"]?.number?.int ?? 0
        return .done(visit.userPath("sign-in"), ResetLimits.sentence(count))
      },
      ConsoleVisit.form(
        "\(path)/sign-in/unlink", below: 1, for: .admin, isRecent: true,
        "Unlink an identity of a user"
      ) { (visit, form) async throws(Failure) in
        let kind = form["kind"] == "passkey" ? "passkeys" : "identities"
        _ = try await visit.send(
          ConsoleRequest(.delete, "users", visit.userID, kind, form["identity"] ?? ""))
        return .done(visit.userPath("sign-in"), "The user can no longer sign in that way.")
      },
      ConsoleVisit.page("\(path)/sessions", "List the sessions of a user") {
        (visit) async throws(Failure) in try await sessions(visit)
      },
      ConsoleVisit.form("\(path)/sessions/end", below: 1, "End a session of a user") {
        (visit, form) async throws(Failure) in
        _ = try await visit.send(
          ConsoleRequest(.delete, "users", visit.userID, "sessions", form["session"] ?? "-"))
        return .done(visit.userPath("sessions"), "The session has ended.")
      },
    ]
    + ConsoleVisit.asked(
      "\(path)/sign-in/factors", for: .admin, isRecent: true, "Remove the second factors of a user"
    ) { visit in
      ConsoleQuestion(
        title: "Remove the second factors", section: .users,
        back: ConsoleLink("Sign-in", to: visit.userPath("sign-in")),
        consequences: [
          "All authenticator apps and recovery codes of the user are removed.",
          "The next sign-in needs no second factor, unless the app requires one.",
          "An email tells the user.",
        ], button: "Remove second factors",
        commands: ["dossier user second-factors --help"])
    } _: { (visit, _) async throws(Failure) in
      _ = try await visit.send(
        ConsoleRequest(.delete, "users", visit.userID, "second-factors"))
      return .done(
        visit.userPath("sign-in"), "The second factors are removed, and an email reports it.")
    }
    + ConsoleVisit.asked("\(path)/sessions/end-all", for: .support, "End all sessions of a user") {
      visit in
      ConsoleQuestion(
        title: "End all sessions", section: .users,
        back: ConsoleLink("Sessions", to: visit.userPath("sessions")),
        consequences: [
          "The user is signed out everywhere, and must sign in again.",
          "Access tokens that services check by themselves stay valid until they expire.",
        ], button: "End all sessions",
        commands: ["dossier user logout \(visit.userID) --app \(visit.place)"])
    } _: { (visit, _) async throws(Failure) in
      _ = try await visit.send(ConsoleRequest(.delete, "users", visit.userID, "sessions"))
      return .done(visit.userPath("sessions"), "All sessions have ended.")
    }

  // MARK: Sign-in

  private static func signIn(
    _ visit: ConsoleVisit, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let identities = try await visit.read("users", visit.userID, "identities").items
    let passkeys = try await visit.read("users", visit.userID, "passkeys").items
    var page = UserPages.page(of: user, .signIn, visit)
    page.mistakes = mistakes
    page.body = [
      identities.isEmpty && passkeys.isEmpty
        ? Part.empty("This user has no way to sign in.") : table(of: identities, passkeys, visit)
    ]
    if visit.right >= .support {
      var help: [Markup] = []
      let email = user["email"]?.string
      if email != nil, user["email_verified"]?.bool == false {
        help.append(UserPages.verificationButton(visit))
      }
      if email != nil {
        help.append(
          Part.button(
            "Email a link to a new password", visit.target(visit.userPath("sign-in", "reset"))))
      }
      help.append(
        Part.button("Reset limits", visit.target(visit.userPath("sign-in", "limits"))))
      page.body.append(
        Part.card(
          "Help the user",
          """
          <p>\(email.map { "Emails go to \(Part.address($0)). " as Markup })A reset of the limits lets \
          the user try again at once after wrong passwords or codes.</p>\
          <div class="buttons">\(help)</div>
          """))
    }
    var hasFactor = false
    if visit.right >= .support {
      var request = ConsoleRequest(.post, "sign-in-checks")
      request.body = ["user_id": .string(visit.userID)]
      hasFactor = try await visit.send(request).json["second_factor"]?.bool == true
      if !hasFactor {
        page.body.append(Part.card("Second factors", Part.paragraph("The user has none.")))
      }
    }
    if visit.right == .support, hasFactor {
      page.body.append(
        Part.card(
          "Second factors",
          Part.paragraph(
            "The user has an authenticator app. Your role cannot remove it or set a password. Ask an "
              + "admin or owner.")))
    }
    if visit.right >= .admin, hasFactor {
      page.body.append(
        Part.card(
          "Second factors",
          """
          <p>The user has an authenticator app. Remove it if it and the recovery codes are lost.</p>\
          \(Part.link(
            "Remove second factors", to: visit.userPath("sign-in", "factors"), style: .secondary))
          """))
    }
    if visit.right >= .admin {
      let field = ConsoleField(
        "password", "New password", .password(isNew: true),
        hint: "All sessions and API keys end, and an email tells the user.")
      page.body.append(
        Part.card(
          "Set a password",
          Part.form(
            visit.target(visit.userPath("sign-in", "password")), isWide: true,
            "\([field].markup(mistakes))\(Part.buttons(Part.submit("Set password")))")))
    }
    page.commands = [
      "dossier api GET /v1/users/\(visit.userID)/identities --app \(visit.place)",
      "dossier user password \(visit.userID) --app \(visit.place)",
      "dossier user second-factors --help",
    ]
    return page
  }

  private static func table(
    of identities: [JSON], _ passkeys: [JSON], _ visit: ConsoleVisit
  ) -> Markup {
    let mayUnlink = visit.right >= .admin
    var columns: [ConsoleTable.Column] = [
      .init("Method"), .init("Account"), .init("State"), .init("Since"),
    ]
    if mayUnlink { columns.append(.init("Action")) }
    var table = ConsoleTable("Ways to sign in", columns)
    func add(_ item: JSON, method: String, account: Markup, state: Markup, kind: String) {
      var row = [Part.name(method), account, state, Part.time(item["created_at"]?.string)]
      if mayUnlink {
        let target = visit.target(
          visit.userPath("sign-in", "unlink"),
          [HiddenField("identity", item["id"]?.string ?? ""), HiddenField("kind", kind)])
        row.append(Part.button("Unlink", target))
      }
      table.rows.append(row)
    }
    for item in identities {
      let subject = item["subject"]?.string ?? ""
      let method = item["connection"]?.string ?? EventWords.method(item["provider"]?.string ?? "")
      let isVerified = item["verified"]?.bool == true
      add(
        item, method: method, account: Part.address(subject),
        state: isVerified ? Part.tag("Verified", .success) : Part.tag("Not verified"),
        kind: "identity")
    }
    for item in passkeys {
      add(
        item, method: "Passkey", account: Part.name(item["name"]?.string ?? ""), state: "",
        kind: "passkey")
    }
    return table.markup
  }

  private static func setPassword(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(.put, "users", visit.userID, "password")
    request.body = ["password": .string(form.text("password"))]
    return try await visit.submit(request, ["password"]) { _ in
      .done(visit.userPath("sign-in"), "The password is set, and all sessions have ended.")
    } orShow: { (mistakes) async throws(Failure) in
      try await signIn(visit, mistakes: mistakes)
    }
  }

  // MARK: Sessions

  private static func sessions(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let list = try await visit.read(
      "users", visit.userID, "sessions", query: [("limit", "50"), ("cursor", visit.cursor)])
    var page = UserPages.page(of: user, .sessions, visit)
    let mayEnd = visit.right >= .support
    page.commands = [
      "dossier user show \(visit.userID) --app \(visit.place)",
      "dossier user logout \(visit.userID) --app \(visit.place)",
    ]
    guard !list.items.isEmpty else {
      page.body = [Part.empty("This user is not signed in anywhere.")]
      return page
    }
    if mayEnd {
      page.actions = [
        Part.link(
          "End all sessions", to: visit.userPath("sessions", "end-all"), style: .secondary)
      ]
    }
    var columns: [ConsoleTable.Column] = [
      .init("Browser or app"), .init("Device"), .init("Method", isMinor: true), .init("Address"),
      .init("Last use"), .init("Ends", isMinor: true),
    ]
    if mayEnd { columns.append(.init("Action")) }
    var table = ConsoleTable("Sessions", columns)
    for item in list.items {
      let agent = item["agent"]?.string
      let label = agent.map(BrowserName.init)?.label ?? "Unknown"
      var row: [Markup] = [
        #"<span title="\#(agent ?? "")">\#(Part.name(label))</span>"#,
        item["device_id"]?.string.map {
          #"<a href="\#(visit.path("devices", $0).text)">Device \#(Part.identifier(NameWords.short($0)))</a>"#
            as Markup
        } ?? "",
        Part.name(EventWords.method(item["provider"]?.string ?? "")),
        Part.name(item["address"]?.string ?? ""),
        Part.time(item["refreshed_at"]?.string), Part.time(item["expires_at"]?.string),
      ]
      if mayEnd {
        let id = item["id"]?.string ?? ""
        let end = Part.button(
          "End", visit.target(visit.userPath("sessions", "end"), [HiddenField("session", id)]))
        let undo = Part.link(
          "Undo changes", to: SessionUndoPages.path(of: id, visit), style: .secondary)
        row.append(#"<div class="buttons">\#(end)\#(undo)</div>"#)
      }
      table.rows.append(row)
    }
    page.body = [table.markup]
    page.body += visit.pager(list) { visit.userPath("sessions", query: $0) }
    return page
  }
}
