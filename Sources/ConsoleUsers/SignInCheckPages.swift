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

/// Why a user cannot sign in, with a button for each reason that the console can remove.
@EventLoop enum SignInCheckPages {
  private nonisolated static let path = "/console/{app}/sign-in-check"

  nonisolated static let routes = [
    ConsoleVisit.page(path, "Show why a user cannot sign in") { (visit) async throws(Failure) in
      try await show(visit)
    },
    ConsoleVisit.form(
      "\(path)/remove", below: 1, "Remove a reason why a user cannot sign in", remove),
  ]

  /// The user to check, and from where.
  private struct Question {
    let user: String
    let client: String
    let network: String

    init(_ form: FormValues?) {
      func text(_ name: String) -> String { form?.trimmed(named: name) ?? "" }
      (user, client, network) = (text("user"), text("client"), text("network"))
    }

    var request: ConsoleRequest {
      var body = JSONObject()
      let isAddress = user.utf8.contains(UInt8(ascii: "@"))
      body[isAddress ? "email" : "user_id"] = .string(isAddress ? user : user.lowercased())
      if !client.isEmpty { body["client_id"] = .string(client) }
      if !network.isEmpty { body["network"] = .string(network) }
      var request = ConsoleRequest(.post, "sign-in-checks")
      request.body = .object(body)
      return request
    }

    var query: [(name: String, value: String)] {
      [("user", user), ("client", client), ("network", network)]
    }
  }

  // MARK: The page

  private static func show(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    try visit.require(.support)
    let question = Question(FormValues(visit.call.request.query))
    var page = ConsolePage("Why can this user not sign in?", section: .users)
    page.back = ConsoleLink("Users", to: visit.path("users"))
    page.hasTimes = true
    page.commands = [
      "dossier user explain \(question.user.isEmpty ? "ADDRESS" : question.user) --app \(visit.place)"
    ]
    guard !question.user.isEmpty else {
      page.body = [form(question, visit, [])]
      return page
    }
    let found: JSON
    do throws(Failure) {
      found = try await visit.send(question.request).json
    } catch {
      guard error.isMendable || error.type.kind == .notFound else { throw error }
      visit.call.failure = error
      page.mistakes =
        error.type.kind == .notFound
        ? [Mistake("No user in \(visit.place) has this id.", field: "user")]
        : error.mistakes(
          ["user", "client", "network"],
          naming: ["email": "user", "user_id": "user", "client_id": "client"])
      page.body = [form(question, visit, page.mistakes)]
      return page
    }
    let user = found["user_id"]?.string
    if let user {
      let name = found["email"]?.string ?? user
      page.back = ConsoleLink(name, to: visit.path("users", user))
    }
    let methods = found["methods"]?.array?.compactMap(\.string) ?? []
    let reasons = found["reasons"]?.array.map(Array.init) ?? []
    let words = methods.map { Part.tag(name(of: $0)) }
    page.body = [
      user == nil
        ? ""
        : methods.isEmpty
          ? Part.warning("<p>No way to sign in works now.</p>")
          : "<p>These work now: \(words.map { "\($0) " as Markup })</p>"
    ]
    if found["second_factor"]?.bool == true {
      page.body.append(
        Part.paragraph(
          "The user has a second factor: a password or an emailed code also needs a code of the "
            + "authenticator app."))
      if let user, visit.right >= .admin {
        page.body.append(
          Part.buttons(
            Part.link(
              "Remove second factors", to: visit.path("users", user, "sign-in", "factors"),
              style: .secondary)))
      } else {
        page.body.append(Part.paragraph("An admin or owner can remove it.", isMuted: true))
      }
    }
    if reasons.isEmpty {
      page.body.append(
        Part.paragraph(
          "No reason was found. Ask for the text of the page or app, and for the time of the attempt."
        ))
    }
    let author = try await blocker(of: user, reasons, visit)
    page.body += reasons.map { card(of: $0, by: author, question, visit) }
    let mails = found["mails"]?.array?.compactMap { $0["mail"] } ?? []
    page.body.append(
      mails.isEmpty
        ? Part.paragraph("No email was sent to this address in the last 7 days.", isMuted: true)
        : Part.card("Emails of the last 7 days", UserMailPages.table(of: mails)))
    page.body.append(form(question, visit, []))
    return page
  }

  private static func name(of method: String) -> String {
    method.split(separator: "_").joined(separator: " ")
  }

  private static func form(
    _ question: Question, _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) -> Markup {
    let fields = [
      ConsoleField("user", "Email address or ID", value: question.user),
      ConsoleField(
        "network", "IP address of the user", value: question.network, hint: "May stay empty."),
      ConsoleField(
        "client", "Client ID of the application", value: question.client, hint: "May stay empty."),
    ]
    return Part.card(
      "Check a user",
      """
      <form method="get" action="\(visit.path("sign-in-check").text)"><div class="grid fields">\
      \(fields.map { $0.with(mistakes).markup })</div>\
      \(Part.buttons(Part.submit("Check", .secondary)))</form>
      """)
  }

  /// Returns who has blocked a user; nil if no reason is a block, or its event is gone.
  private static func blocker(
    of user: String?, _ reasons: [JSON], _ visit: ConsoleVisit
  ) async throws(Failure) -> Markup? {
    guard let user, reasons.contains(where: { $0["code"] == "blocked" }) else { return nil }
    let event = try await visit.read(
      "audit",
      query: [
        ("app", visit.place), ("user", user), ("action", "user_block"), ("limit", "1"),
      ]
    ).items.first
    return event.map(AuditPages.actor)
  }

  private static func card(
    of reason: JSON, by author: Markup?, _ question: Question, _ visit: ConsoleVisit
  ) -> Markup {
    let prevented = reason["prevents"]?.array?.compactMap(\.string) ?? []
    var rows: [(label: String, value: Markup)] = []
    if !prevented.isEmpty {
      rows.append(("Prevents", "\(prevented.map(name(of:)).joined(separator: ", "))"))
    }
    if reason["code"] == "blocked", let author { rows.append(("Blocked by", author)) }
    if let until = reason["until"]?.string { rows.append(("Ends by itself", Part.time(until))) }
    let remedy = Remedy(of: reason, visit)
    var removal: Markup?
    switch remedy {
    case .button(let label):
      removal = Part.button(
        label,
        visit.target(
          visit.path("sign-in-check", "remove"),
          question.query.map { HiddenField($0.name, $0.value) }
            + [HiddenField("reason", Remedy.key(of: reason))]),
        style: reason["code"] == "email_unverified" ? .secondary : .primary)
    case .link(let label, let path): removal = Part.link(label, to: path, style: .secondary)
    case .none:
      removal = reason["action"]?["command"]?.string.map {
        Part.code($0, label: "Command line")
      }
    case .others(let who):
      removal = Part.paragraph("\(who) can remove this reason on this page.")
    }
    if reason["code"] == "email_unverified", let user = reason["action"]?["path"]?.string {
      let id = user.split(separator: "/").dropFirst(2).first.map(String.init) ?? ""
      let target = visit.target(visit.path("users", id, "verify", "request"))
      removal = """
        <div class="buttons">\(Part.button("Send a verification email", target, style: .primary))\
        \(removal)</div>
        """
    }
    return Part.card(
      nil,
      """
      <p><strong>\(Part.sentence(reason["reason"]?.string ?? ""))</strong></p>\
      \(if: !rows.isEmpty, Part.definitions(rows))\(removal)
      """)
  }

  // MARK: Removal

  /// Sends the request that removes a reason, as a new check names it.
  private static func remove(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let question = Question(form)
    let next = visit.path("sign-in-check", query: question.query)
    let reasons =
      try await visit.send(question.request).json["reasons"]?.array.map(Array.init) ?? []
    guard let reason = reasons.first(where: { Remedy.key(of: $0) == form["reason"] }) else {
      return .done(next, "This reason is already gone.")
    }
    guard case .button(let label) = Remedy(of: reason, visit), let action = reason["action"],
      let method = action["method"]?.string.flatMap(Method.init(rawValue:)),
      let path = action["path"]?.string
    else { throw .notFound }
    var request = ConsoleRequest(method, path.split(separator: "/").dropFirst().map(String.init))
    request.body = action["body"].flatMap { $0 == .null ? nil : $0 }
    _ = try await visit.send(request)
    return .done(next, sentence(after: label))
  }

  private static func sentence(after label: String) -> String {
    switch label {
    case "Unblock the user": "The user is not blocked any more."
    case "Mark the address as verified": "The address is marked as verified."
    case "Email a link to a new password": "The email with the link is on its way."
    case "Reset the limits": "The limits are reset."
    case "Remove the second factors": "The second factors are removed, and an email reports it."
    default: "The email is sent again at once. Load the page again in a minute to see the result."
    }
  }

  /// The action of the console against a reason.
  private enum Remedy {
    /// A form that sends the request of the reason.
    case button(String)
    case link(String, LocalPath)
    /// Another role may remove it: who has that role.
    case others(String)
    case none

    /// Returns the text that tells a reason from the others of a check.
    static func key(of reason: JSON) -> String {
      "\(reason["code"]?.string ?? "") \(reason["action"]?["path"]?.string ?? "") "
        + "\((reason["action"]?["body"] ?? .null).text)"
    }

    @EventLoop init(of reason: JSON, _ visit: ConsoleVisit) {
      let action = reason["action"] ?? .null
      let path = (action["path"]?.string ?? "").split(separator: "/").map(String.init)
      let body = action["body"] ?? .null
      let user = path.count > 2 ? path[2] : ""
      switch reason["code"]?.string ?? "" {
      case "blocked": self = .button("Unblock the user")
      case "email_unverified": self = .button("Mark the address as verified")
      case "no_password", "wrong_password":
        self = path.last == "reset-request" ? .button("Email a link to a new password") : .none
      case "connection_only":
        self = path.last == "reset-request" ? .button("Email a link to a new password") : .none
      case "rate_limited": self = .button("Reset the limits")
      case "wrong_factor":
        self =
          visit.right >= .admin
          ? .button("Remove the second factors") : .others(AdministratorRight.admin.holders)
      case "mail_failed":
        self =
          visit.right >= .deployment
          ? .button("Send the email again now") : .others(AdministratorRight.deployment.holders)
      case "no_user", "sign_up_waiting":
        self =
          visit.right >= .admin
          ? .link("Create user", visit.path("users", "new"))
          : .others(AdministratorRight.admin.holders)
      case "merged", "similar_address", "former_address":
        let other = body["email"]?.string ?? body["user_id"]?.string ?? ""
        self = .link("Check that user", visit.path("sign-in-check", query: [("user", other)]))
      case "deleted": self = .link("Audit log", visit.path("audit", query: [("user", user)]))
      case "client_unknown": self = .link("Applications", visit.path("applications"))
      case "client_disabled", "method_not_accepted":
        self = .link("Open the application", visit.path("applications", user))
      case "method_disabled", "factor_not_enrolled", "passkey_not_enrolled":
        self = .link("Settings of the app", visit.path("settings"))
      default: self = .none
      }
    }
  }
}
