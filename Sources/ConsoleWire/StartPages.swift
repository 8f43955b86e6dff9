import ConsoleKit
import Administration
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The pages of the link by which an administrator signs in for the first time.
@EventLoop enum StartPages {
  private nonisolated static let path = LocalPath.console("-", "start")
  private nonisolated static let setUpPath = LocalPath.console("-", "start", "set-up")
  private nonisolated static let codesPath = LocalPath.console("-", "start", "codes")

  nonisolated static let routes = [
    Route(.get, path.text, access: .open, summary: "Ask for the link of an administrator") { _ in
      ConsoleResponses.page(linkPage())
    },
    Route(
      .post, path.text, access: .open, body: .form, summary: "Open the link of an administrator"
    ) { (call) async throws(Failure) in
      try call.requireOrigin()
      guard case .form(let form) = call.body else { throw .formForged }
      // People may paste the whole link.
      let typed = form.trimmed("link")
      let token = typed.split(separator: "#").last.map(String.init) ?? ""
      do throws(Failure) {
        let opened = try await AdministratorLinks.open(token, call.context)
        let state = ConsoleState([
          .token: token, .email: opened.email, .uri: opened.enrollment.uri,
          .authenticator: opened.enrollment.secret,
        ])
        // The key is in no address.
        return ConsoleResponses.page(try setUpPage(state, call))
      } catch {
        call.failure = error
        guard error.is(.linkExpired) else { throw error }
        return ConsoleResponses.page(linkPage([Mistake(expired, field: "link")]), .unprocessable)
      }
    },
    Route(
      .post, setUpPath.text, access: .open, body: .form, summary: "Set an administrator up"
    ) { (call) async throws(Failure) in
      try call.requireOrigin()
      guard case .form(let form) = call.body else { throw .formForged }
      let state = ConsoleState(in: form, of: setUpPath, call)
      guard let token = state.values[.token] else { return call.redirect(to: path) }
      let missing = AccessPages.missing(["password", "code"], in: form)
      guard missing.isEmpty else {
        let page = try setUpPage(state, call, code: form.trimmed("code"), missing)
        return ConsoleResponses.page(page, .unprocessable)
      }
      do throws(Failure) {
        let (session, codes) = try await AdministratorLinks.use(
          token, password: form.text("password"), code: form.trimmed("code"), call.context)
        let next = ConsoleState([.codes: codes.joined(separator: " ")])
        var response = call.redirect(
          to: try next.path(codesPath, session: session.session.text, call))
        ConsoleVisit.keep(session, in: &response)
        return response
      } catch .linkExpired {
        return ConsoleResponses.page(linkPage([Mistake(expired, field: "link")]), .unprocessable)
      } catch {
        return try AccessPages.refusal(
          of: error, call, field: "code", "The code is wrong. Check it, or wait for the next one."
        ) { (mistakes) throws(Failure) in
          try setUpPage(state, call, code: form.trimmed("code"), mistakes)
        }
      }
    },
    ConsoleVisit.lead(codesPath.text, "Show the recovery codes of an administrator") { visit in
      guard let codes = visit.state.values[.codes] else { return .redirect(.console()) }
      var page = ConsolePage("Save your recovery codes")
      page.body = [
        Part.paragraph(
          "Each code replaces your authenticator app once. Keep them where others cannot read them. "
            + "This page does not come again."),
        Part.code(
          codes.split(separator: " ").joined(separator: "\n"), label: "Recovery codes"),
        Part.buttons(Part.link("I've saved my codes", to: .console(), style: .primary)),
      ]
      return .refused(page, .ok)
    },
  ]

  private nonisolated static let expired =
    "This link has expired or was used. Make a new one: dossier administrator link ADDRESS"

  private static func linkPage(_ mistakes: [Mistake] = []) -> ConsolePage {
    var page = ConsolePage("Welcome")
    page.mistakes = mistakes
    let field = ConsoleField(
      "link", "Link", value: "",
      hint: """
        Paste the link that an owner or the command line gave you, from http to its last letter. It \
        works once, for 15 minutes.
        """)
    page.body = [
      Part.form(
        FormTarget(path), "\([field].markup(mistakes))\(Part.buttons(Part.submit("Continue")))")
    ]
    return page
  }

  private static func setUpPage(
    _ state: ConsoleState, _ call: Call, code: String = "", _ mistakes: [Mistake] = []
  ) throws(Failure) -> ConsolePage {
    var page = ConsolePage("Set up your account")
    page.mistakes = mistakes
    let email = state.values[.email] ?? ""
    let secret = state.values[.authenticator] ?? ""
    let fields = [
      ConsoleField(
        "password", "Create a password", .password(isNew: true),
        hint: "At least 8 characters. A sentence is good."),
      // A code that is not at fault stays, since only the password is emptied.
      ConsoleField(
        "code", "6-digit code", .code,
        value: mistakes.contains { $0.field == "code" } ? "" : code,
        hint: "The one that the app now shows."),
    ]
    let sealed = HiddenField(ConsoleState.parameter, try state.text(for: setUpPath, call))
    let user: Markup = """
      <input class="hidden" name="email" type="email" autocomplete="username" tabindex="-1" \
      aria-hidden="true" value="\(email)" readonly>
      """
    page.body = [
      "<p>\(Part.address(email))</p>",
      Part.form(
        FormTarget(setUpPath, hidden: [sealed]),
        """
        \(user)\([fields[0]].markup(mistakes))\
        <p>Scan this picture with an authenticator app, or type the key into it:</p>\
        \(state.values[.uri].flatMap { QRCode($0) }.map { Part.picture(of: $0) })\
        <p class="key"><code>\(secret)</code></p>\
        \([fields[1]].markup(mistakes))\(Part.buttons(Part.submit("Continue")))
        """),
    ]
    return page
  }
}
