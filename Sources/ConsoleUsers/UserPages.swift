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

/// The page of a user: the profile and both metadata, the block, the verification, the deletion.
@EventLoop enum UserPages {
  private nonisolated static let path = "/console/{app}/users/{user}"

  nonisolated static let routes: [Route] =
    [
      ConsoleVisit.page(path, "Show a user") { (visit) async throws(Failure) in
        try await details(visit)
      },
      ConsoleVisit.form("\(path)/profile", below: 1, "Change the profile of a user", saveProfile),
      ConsoleVisit.form("\(path)/unblock", below: 1, "Unblock a user") {
        (visit, _) async throws(Failure) in
        try await setBlock(visit, false)
      },
      ConsoleVisit.form(
        "\(path)/verify/request", below: 2, for: .support,
        "Email a user a link that verifies the address", mailVerification),
      ConsoleVisit.page("\(path)/history", "List what happened to a user", history),
      ConsoleVisit.download("\(path)/export", for: .admin, "Download all data of a user") { visit in
        ConsoleRequest(.get, "users", visit.userID, "export")
      } name: { visit in
        "\(visit.userID).json"
      },
    ]
    + ConsoleVisit.asked("\(path)/block", for: .support, "Block a user", ask: block) {
      (visit, _) async throws(Failure) in try await setBlock(visit, true)
    }
    + ConsoleVisit.asked(
      "\(path)/verify", for: .support, "Mark the address of a user as verified", ask: verification
    ) { (visit, _) async throws(Failure) in
      _ = try await visit.send(ConsoleRequest(.post, "users", visit.userID, "email", "verify"))
      return .done(visit.userPath(), "The address is marked as verified.")
    }
    + ConsoleVisit.asked(
      "\(path)/delete", for: .admin, isRecent: true, "Delete a user", ask: deletion
    ) {
      (visit, _) async throws(Failure) in try await delete(visit)
    }

  // MARK: All tabs

  /// Returns the name of a user: the address, else the name, else the id.
  static func title(of user: JSON) -> String {
    user["email"]?.string ?? user["name"]?.string ?? user["id"]?.string ?? ""
  }

  static func heading(of user: JSON) -> Markup {
    if let email = user["email"]?.string { return Part.address(email) }
    if let name = user["name"]?.string { return Part.name(name) }
    return "Guest \(NameWords.short(user["id"]?.string ?? ""))"
  }

  /// Returns the heading of the user's page: the picture, the address and the name.
  private static func face(of user: JSON) -> Markup {
    // A picture of another server would tell it who looks.
    let picture = user["picture"]?.string.flatMap(LocalPath.init).map {
      #"<img class="face" src="\#($0.text)" alt="" width="40" height="40"> "# as Markup
    }
    let name = user["email"]?.string == nil ? nil : user["name"]?.string
    let shown = name.map { #" <span class="muted">\#(Part.name($0))</span>"# as Markup }
    return "\(picture)\(heading(of: user))\(shown)"
  }

  /// Returns the states of a user, the most important one first.
  static func tags(of user: JSON) -> [Markup] {
    var tags: [Markup] = []
    if user["blocked"]?.bool == true { tags.append(Part.tag("Blocked", .danger)) }
    if user["anonymous"]?.bool == true {
      tags.append(Part.tag("Guest"))
    } else if user["email_verified"]?.bool == true {
      tags.append(Part.tag("Verified", .success))
    } else {
      tags.append(Part.tag("Not verified"))
    }
    return tags
  }

  /// The tabs, with their names in the path.
  enum Tab: String, CaseIterable {
    case details = ""
    case customData = "custom-data"
    case properties
    case signIn = "sign-in"
    case sessions
    case devices
    case roles
    case applications
    case emails
    case history

    var label: String {
      switch self {
      case .details: "Details"
      case .customData: "Custom data"
      case .properties: "Properties"
      case .signIn: "Sign-in"
      case .sessions: "Sessions"
      case .devices: "Devices"
      case .roles: "Roles"
      case .applications: "Applications"
      case .emails: "Emails"
      case .history: "History"
      }
    }

    /// Whether the tab shows what a viewer may not read.
    var isForSupport: Bool { [.customData, .properties, .emails].contains(self) }
  }

  /// Returns the page of a user with its head and its tabs.
  static func page(of user: JSON, _ tab: Tab, _ visit: ConsoleVisit) -> ConsolePage {
    let title = title(of: user)
    var page = ConsolePage(title, heading: face(of: user), section: .users)
    page.back = ConsoleLink("Users", to: visit.path("users"))
    page.tags = tags(of: user)
    page.tabs = Tab.allCases.filter { !$0.isForSupport || visit.right >= .support }.map {
      ConsoleTab(
        $0.label, to: $0 == .details ? visit.userPath() : visit.userPath($0.rawValue),
        isCurrent: $0 == tab)
    }
    page.hasTimes = true
    return page
  }

  // MARK: Details

  private static let profileFields: [(name: String, label: String)] = [
    ("name", "Name"), ("given_name", "Given name"), ("family_name", "Family name"),
    ("nickname", "Nickname"), ("phone", "Phone"), ("locale", "Language"), ("zone", "Time zone"),
  ]

  /// Returns the first tab.
  ///
  /// - Parameters:
  ///   - visit: the visit.
  ///   - typed: the refused form of the profile; nil without one.
  ///   - documents: the refused form of the documents; nil without one.
  ///   - mistakes: the errors of the form.
  /// - Returns: the page.
  /// - Throws: the failure of a request.
  static func details(
    _ visit: ConsoleVisit, profile typed: [String: String]? = nil, documents: DocumentForm? = nil,
    mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let answer = try await visit.read("users", visit.userID)
    let user = answer.json
    let logins = try await visit.read("users", visit.userID, "logins").json
    var page = page(of: user, .details, visit)
    page.mistakes = mistakes
    page.actions = actions(on: user, visit)
    page.body = [
      Part.card(
        nil,
        Part.definitions([
          ("ID (user_id)", Part.identifier(visit.userID)),
          ("Created", Part.time(user["created_at"]?.string)),
          ("Last change of the profile", Part.time(user["updated_at"]?.string)),
          ("Last sign-in", Part.time(logins["last_login_at"]?.string)),
          ("Sign-ins", "\(logins["login_count"]?.text ?? "0")"),
        ]))
    ]
    page.body.append(profileCard(user, answer.version, typed, visit, mistakes))
    if visit.right >= .support {
      let form: DocumentForm
      if let documents {
        form = documents
      } else {
        form = try await DocumentForm.read([.metadata, .appMetadata], visit)
      }
      page.body.append(
        try await form.card("Metadata", to: visit.userPath("metadata"), visit, mistakes))
      page.body.append(try await dataCard(visit))
    }
    if visit.right < .admin {
      page.body.append(
        Part.paragraph(
          "An admin or owner can change the address and the profile, restore data, and export, merge or "
            + "delete the user.", isMuted: true))
    }
    page.commands = [
      "dossier user show \(visit.userID) --app \(visit.place)",
      "dossier api GET /v1/users/\(visit.userID)/metadata --app \(visit.place)",
      "dossier api GET /v1/users/\(visit.userID)/app-metadata --app \(visit.place)",
    ]
    return page
  }

  /// The most names of members in a row of the data.
  private static let mostNames = 12

  /// Returns the card of the data that other tabs show.
  private static func dataCard(_ visit: ConsoleVisit) async throws(Failure) -> Markup {
    let custom = try await visit.read("users", visit.userID, "custom-data").json
    let properties = try await visit.read("users", visit.userID, "properties").json
    let date = try await DocumentForm.lastChange(of: .customData, visit)
    func row(
      _ label: String, _ meaning: String, _ data: JSON, _ date: Markup? = nil
    ) -> (label: String, value: Markup) {
      let names = data.object?.map { $0.0 } ?? []
      let shown = names.prefix(mostNames).map { "\(Part.identifier($0.excerpt(40))) " as Markup }
      let rest = names.count > mostNames ? Part.muted("and \(names.count - mostNames) more") : nil
      let stored = names.isEmpty ? Part.muted("Empty") : "<span>\(shown)\(rest)</span>"
      return (label, "\(stored)<br>\(Part.muted(meaning))\(date.map { "<br>\($0)" as Markup })")
    }
    return Part.card(
      "Other data",
      """
      \(Part.definitions([
        row(ConsoleDocument.customData.label, ConsoleDocument.customData.hint, custom, date),
        row("Properties", PropertyPages.meaning, properties),
      ]))\
      \(Part.buttons(
        Part.link("Custom data", to: visit.userPath("custom-data"), style: .secondary),
        Part.link("Properties", to: visit.userPath("properties"), style: .secondary)))
      """)
  }

  private static func actions(on user: JSON, _ visit: ConsoleVisit) -> [Markup] {
    var actions: [Markup] = []
    if visit.right >= .support {
      actions.append(
        Part.link(
          "Why can this user not sign in?",
          to: visit.path("sign-in-check", query: [("user", visit.userID)]), style: .secondary))
      if user["email"]?.string != nil, user["email_verified"]?.bool == false {
        actions.append(verificationButton(visit))
        actions.append(
          Part.link("Mark as verified", to: visit.userPath("verify"), style: .secondary))
      }
      let isBlocked = user["blocked"]?.bool == true
      actions.append(
        isBlocked
          ? Part.button("Unblock", visit.target(visit.userPath("unblock")))
          : Part.link("Block", to: visit.userPath("block"), style: .secondary))
    }
    if visit.right >= .admin {
      actions.append(
        """
        <a class="button secondary" href="\(visit.userPath().text)#email">Change the address</a>
        """)
      actions.append(Part.link("Export data", to: visit.userPath("export"), style: .secondary))
      actions.append(Part.link("Merge", to: visit.userPath("merge"), style: .secondary))
      actions.append(Part.link("Delete", to: visit.userPath("delete"), style: .danger))
    }
    return actions
  }

  /// Returns the button that emails the user a link.
  static func verificationButton(_ visit: ConsoleVisit) -> Markup {
    Part.button(
      "Send a verification email", visit.target(visit.userPath("verify", "request")))
  }

  private static func mailVerification(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let user = try await visit.read("users", visit.userID).json
    let request = ConsoleRequest(.post, "users", visit.userID, "email", "verify", "request")
    return try await visit.submit(request, []) { _ in
      .done(
        visit.userPath(),
        "An email with a link is on its way. The link verifies the address once the user has also "
          + "signed in. It goes to", name: user["email"]?.string ?? "")
    } orShow: { (mistakes) async throws(Failure) in
      try await details(visit, mistakes: mistakes)
    }
  }

  private static func profileCard(
    _ user: JSON, _ version: Int?, _ typed: [String: String]?, _ visit: ConsoleVisit,
    _ mistakes: [Mistake]
  ) -> Markup {
    guard visit.right >= .admin else {
      return Part.card(
        "Profile",
        Part.definitions(
          profileFields.map { ($0.label, Part.name(user[$0.name]?.string ?? "–")) }))
    }
    let email = ConsoleField(
      "email", "Email address", .email, value: typed?["email"] ?? user["email"]?.string ?? "",
      hint: "A new address is not verified, and no email is sent to it at once.")
    let others = profileFields.map { field in
      ConsoleField(
        field.name, field.label, value: typed?[field.name] ?? user[field.name]?.string ?? "",
        hint: field.name == "phone" ? "With the code of the country, such as +442079460123" : nil)
    }
    let fields = [email] + others
    // The values that the page showed, so that only changed fields are saved.
    let base = fields.map { HiddenField("\($0.name)_base", user[$0.name]?.string ?? "") }
    return Part.card(
      "Profile",
      Part.form(
        visit.target(visit.userPath("profile"), [.version(version)] + base), isWide: true,
        """
        <div class="grid fields">\(fields.map { $0.with(mistakes).markup })</div>\
        \(Part.buttons(Part.submit("Save profile")))
        """))
  }

  /// Saves the fields that the administrator has changed.
  ///
  /// Fields that another request has changed meanwhile keep its values, unless both have changed one.
  private static func saveProfile(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let stored = try await visit.read("users", visit.userID)
    var patch = JSONObject()
    // The form as it is shown again: fields that the administrator left have the stored values.
    var shown: [String: String] = [:]
    var conflicts: [Mistake] = []
    for name in ["email"] + profileFields.map(\.name) {
      let (now, typed) = (stored.json[name]?.string ?? "", value(of: name, in: form))
      let isChanged = !typed.hasSameBytes(as: form.trimmed(named: "\(name)_base"))
      shown[name] = isChanged ? typed : now
      guard isChanged, !typed.hasSameBytes(as: now) else { continue }
      patch[name] = typed.isEmpty ? .null : .string(typed)
      if !now.hasSameBytes(as: form["\(name)_base"] ?? "") {
        let text = now.isEmpty ? "It was emptied meanwhile." : "Meanwhile it became “\(now)”."
        conflicts.append(Mistake("\(text) Saving again replaces that.", field: name))
      }
    }
    guard conflicts.isEmpty else {
      let first = Mistake(
        "The profile has changed since you opened it. Nothing was saved; check the fields and save "
          + "again.")
      let page = try await details(visit, profile: shown, mistakes: [first] + conflicts)
      return .refused(page, .preconditionFailed)
    }
    guard patch.count > 0 else { return .done(visit.userPath(), "Nothing has changed.") }
    var request = ConsoleRequest(.patch, "users", visit.userID)
    (request.body, request.version) = (.object(patch), stored.version)
    return try await visit.submit(request, Array(shown.keys)) { [patch] _ in
      .done(
        visit.userPath(),
        patch["email"]?.string == nil
          ? "The profile is saved."
          : "The profile is saved. The new address is not verified, and no email was sent: use “Send a "
            + "verification email”.")
    } orShow: { (mistakes) async throws(Failure) in
      try await details(visit, profile: shown, mistakes: mistakes)
    }
  }

  /// Returns what a field of the profile has; a telephone number without spaces and punctuation.
  private static func value(of name: String, in form: FormValues) -> String {
    let text = form.trimmed(named: name)
    guard name == "phone", text.utf8.first == UInt8(ascii: "+") else { return text }
    return String(text.filter { !" -()/.".contains($0) })
  }

  private static func setBlock(
    _ visit: ConsoleVisit, _ isBlocked: Bool
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(.patch, "users", visit.userID)
    request.body = ["blocked": .bool(isBlocked)]
    _ = try await visit.send(request)
    return .done(
      visit.userPath(),
      isBlocked
        ? "The user is blocked, and all sessions have ended." : "The user may sign in again.")
  }

  private static func block(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleQuestion {
    let user = try await visit.read("users", visit.userID).json
    let name = title(of: user)
    return ConsoleQuestion(
      title: "Block \(name)", heading: "Block \(heading(of: user))", section: .users,
      back: ConsoleLink(name, to: visit.userPath()),
      consequences: [
        "The user cannot sign in any more, and all sessions end.",
        "No email is sent. “Unblock” lets the user sign in again.",
      ], button: "Block", commands: ["dossier user block \(visit.userID) --app \(visit.place)"])
  }

  private static func verification(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleQuestion {
    let user = try await visit.read("users", visit.userID).json
    let name = title(of: user)
    return ConsoleQuestion(
      title: "Mark \(name) as verified", heading: "Mark \(heading(of: user)) as verified",
      section: .users, back: ConsoleLink(name, to: visit.userPath()),
      consequences: [
        "The app believes from now on that the user reads emails at \(name). Do this only if you know it.",
        "No email is sent. If the address has a mistake, its owner could take over the account.",
      ], button: "Mark as verified",
      commands: ["dossier user verify-email \(visit.userID) --app \(visit.place)"])
  }

  // MARK: Deletion

  private static func deletion(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleQuestion {
    let user = try await visit.read("users", visit.userID).json
    let sessions = try await visit.read("users", visit.userID, "sessions").items
    let identities = try await visit.read("users", visit.userID, "identities").items
    let devices = Set(sessions.compactMap { $0["device_id"]?.string }).count
    let settings = try await visit.read("apps", visit.place).json["settings"]
    let days = settings?["audit_retention_days"]?.number?.int ?? 365
    let events =
      settings?["deleted_user_events"]?.string == "none"
      ? "The event of the deletion stays"
      : "Events with the ID of the user stay, without addresses,"
    let name = title(of: user)
    var question = ConsoleQuestion(
      title: "Delete \(name)", heading: "Delete \(heading(of: user))", section: .users,
      back: ConsoleLink(name, to: visit.userPath()),
      consequences: [
        count(sessions.count, "session ends", "sessions end"),
        count(devices, "device loses the user", "devices lose the user"),
        count(identities.count, "way to sign in is lost", "ways to sign in are lost"),
        "Metadata, app metadata, custom data and properties are lost.",
        "This cannot be undone. Others may then use the address again.",
      ], button: "Delete user", confirmation: name,
      commands: ["dossier user delete \(visit.userID) --app \(visit.place)"])
    question.remains = [
      "\(events) in the audit log for \(days) days (audit_retention_days).",
      "Backups of the database have the user until they are deleted.",
      "Files that were exported have the user: results of jobs for 7 days, and each file on a "
        + "computer until it is deleted.",
    ]
    question.actions = [
      Part.link("Export data", to: visit.userPath("export"), style: .secondary)
    ]
    return question
  }

  private static func count(_ number: Int, _ one: String, _ many: String) -> String {
    "\(number) \(number == 1 ? one : many)"
  }

  private static func delete(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleOutcome {
    let user = try await visit.read("users", visit.userID).json
    _ = try await visit.send(ConsoleRequest(.delete, "users", visit.userID))
    return .done(visit.path("users"), "Deleted", name: title(of: user))
  }

  // MARK: History

  private static func history(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    var page = page(of: user, .history, visit)
    let events = try await visit.read(
      "audit",
      query: [
        ("app", visit.place), ("user", visit.userID), ("limit", "50"), ("cursor", visit.cursor),
      ])
    page.body = [
      events.items.isEmpty
        ? Part.empty("Nothing is recorded about this user.")
        : AuditPages.table(
          of: events.items,
          network: { visit.path("audit", query: [("network", $0)]) },
          versions: { name in
            guard visit.right >= .support else { return nil }
            return ConsoleDocument.allCases.first { $0.rawValue == name }.map {
              visit.userPath($0.rawValue, "versions")
            }
          },
          undo: { visit.right >= .support ? SessionUndoPages.path(of: $0, visit) : nil })
    ]
    page.body += visit.pager(events) { visit.userPath("history", query: $0) }
    page.actions = [
      Part.link(
        "Filter by day or action", to: visit.path("audit", query: [("user", visit.userID)]),
        style: .secondary)
    ]
    page.commands = [
      "dossier audit --user \(visit.userID) --app \(visit.place)"
    ]
    return page
  }
}

extension ConsoleVisit {
  /// The id of the user in the path.
  var userID: String { call.text("user").lowercased() }

  /// Returns the path of a page of the user.
  func userPath(
    _ segments: String..., query: [(name: String, value: String)] = []
  ) -> LocalPath {
    .console([place, "users", userID] + segments, query: query)
  }
}
