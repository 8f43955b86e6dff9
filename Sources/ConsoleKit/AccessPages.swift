import Accounts
import Administration
package import ConsolePages
import Encoding
package import EventLoop
package import HTTP
import HostedPages
import JSON
import OpenID
package import Pages
package import Runtime
package import WireKit

/// The sign-in, the confirmation before sensitive changes, and the sign-out.
@EventLoop package enum AccessPages {
  private nonisolated static let path = LocalPath.console("-", "sign-in")
  private nonisolated static let codePath = LocalPath.console("-", "sign-in", "code")
  private nonisolated static let confirmPath = LocalPath.console("-", "confirm")

  package nonisolated static let routes = [
    Route(.get, path.text, access: .open, summary: "Show the sign-in of administrators") { call in
      ConsoleResponses.page(signInPage(next: next(call)))
    },
    Route(
      .post, path.text, access: .open, body: .of(.form, limit: KeptForm.bodyLimit),
      summary: "Check the password of an administrator"
    ) { (call) async throws(Failure) in try await checkPassword(call) },
    Route(
      .get, codePath.text, access: .open, summary: "Ask an administrator for a code"
    ) { (call) throws(Failure) in
      let state = ConsoleState(of: call, session: "")
      guard state.values[.flow] != nil else { return call.redirect(to: path) }
      return ConsoleResponses.page(try codePage(state, call))
    },
    Route(
      .post, codePath.text, access: .open, body: .of(.form, limit: KeptForm.bodyLimit),
      summary: "Sign an administrator in"
    ) { (call) async throws(Failure) in try await checkCode(call) },
    ConsoleVisit.page(confirmPath.text, "Ask an administrator to authenticate again") { visit in
      confirmPage(visit, next: next(visit.call))
    },
    ConsoleVisit.confirmation(confirmPath.text),
    ConsoleVisit.signOut("/console/-/sign-out"),
    retried,
  ]

  // MARK: Ways here

  /// Returns the redirect to the sign-in, which leads back to the page of the request.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - steps: the number of segments by which its path is longer than that of the page.
  /// - Returns: the redirect.
  package static func signIn(_ call: Call, to steps: Int) -> Response {
    call.redirect(to: path.with("next", page(of: call, above: steps)))
  }

  /// Returns the sign-in after a form, which is kept.
  ///
  /// - Throws: `.internalError` if the form cannot be encrypted.
  package static func signIn(_ call: Call, keeping form: KeptForm) throws(Failure) -> Response {
    ConsoleResponses.page(signInPage(next: form.page, kept: try form.hidden(call)), .forbidden)
  }

  /// Returns the confirmation after a form, which is kept.
  ///
  /// - Throws: `.internalError` if the form cannot be encrypted.
  package static func confirm(_ visit: ConsoleVisit, keeping form: KeptForm) throws(Failure)
    -> Response
  {
    let page = confirmPage(visit, next: form.page, kept: try form.hidden(visit.call))
    return visit.response(page, .forbidden)
  }

  /// Returns the response to a form that cannot be taken now, with a button that tries again.
  ///
  /// - Throws: the failure itself, if waiting does not help.
  package static func retry(
    _ call: Call, keeping form: KeptForm, after failure: Failure
  ) throws(Failure) -> Response {
    guard failure.isTemporary, let kept = try form.hidden(call) else { throw failure }
    call.failure = failure
    var page = ConsoleResponses.failure(failure, request: "\(call.request.id)")
    page.body.insert(
      "\(keptSentence)\(Part.form(FormTarget(keptPath, hidden: [kept]), Part.submit("Try again")))",
      at: page.body.count - 1)
    var response = ConsoleResponses.page(page, ConsoleResponses.status(of: failure))
    if let time = failure.retryAfter { response.add(.retryAfter, String(time.wholeSeconds)) }
    return response
  }

  static var keptSentence: Markup { Part.paragraph("Your entries are kept.") }

  /// The path to which `retry` sends a form.
  private nonisolated static let keptPath = LocalPath.console("-", "kept")

  /// Shows a form that was kept while the server could not take it.
  private nonisolated static let retried = Route(
    .post, keptPath.text, access: .open, body: .of(.form, limit: KeptForm.bodyLimit),
    summary: "Show a form that was kept"
  ) { (call) async throws(Failure) in
    try call.requireOrigin()
    guard case .form(let form) = call.body else { throw .formForged }
    guard let kept = KeptForm(in: form, call) else { return call.redirect(to: .console()) }
    do throws(Failure) {
      guard let visit = try await ConsoleVisit(call) else { return try signIn(call, keeping: kept) }
      return resumption(of: kept, visit.session, call)
    } catch {
      return try retry(call, keeping: kept, after: error)
    }
  }

  private static let wrongCode = "The code is wrong, or was used. Wait for the next one."

  /// Returns the page with a form that was kept, in the session that has begun meanwhile.
  private static func resumption(
    of form: KeptForm, _ session: ConsoleSession, _ call: Call
  ) -> Response {
    let visit = ConsoleVisit(call, session)
    var page = ConsolePage("\(form.summary)?", heading: form.question)
    page.body = [
      Part.paragraph("Nothing was done yet, and your entries are kept."),
      Part.card(
        nil,
        """
        \(if: !form.entries.isEmpty, Part.definitions(form.entries))\
        \(Part.form(
          visit.target(form.action, form.pairs.map { HiddenField($0.name, $0.value) }),
          Part.buttons(
            Part.submit(form.summary, form.isDeletion ? .danger : .primary),
            Part.link("Back", to: form.page, style: .secondary))))
        """),
    ]
    return visit.response(page)
  }

  /// Returns the redirect to the page that asks for a password again.
  package static func confirm(_ call: Call, to steps: Int) -> Response {
    call.redirect(to: confirmPath.with("next", page(of: call, above: steps)))
  }

  /// Returns the path of the page that asks for a password again, and then leads to a page.
  package static func confirmation(before page: LocalPath) -> LocalPath {
    confirmPath.with("next", page.text)
  }

  private static func page(of call: Call, above steps: Int) -> String {
    let path = call.pagePath(above: steps).text
    let query = call.request.query
    return steps > 0 || query.isEmpty ? path : "\(path)?\(query)"
  }

  /// Returns the page of the console in a parameter or a field; its start without one.
  private static func checked(_ text: String?) -> LocalPath {
    guard let text, let path = LocalPath(text),
      path.text == "/console" || path.text.hasPrefix("/console/")
    else { return .console() }
    return path
  }

  /// Returns the page above one that asks before an action.
  private static func parent(of page: LocalPath) -> LocalPath {
    checked(page.text.split(separator: "/").dropLast().map { "/\($0)" }.joined())
  }

  private static func next(_ call: Call) -> LocalPath {
    checked(FormValues(call.request.query)?["next"])
  }

  // MARK: Sign-in

  private static func signInPage(
    next: LocalPath, kept: HiddenField? = nil, email: String = "", mistakes: [Mistake] = []
  ) -> ConsolePage {
    var page = ConsolePage("Sign in")
    page.mistakes = mistakes
    var fields = [
      ConsoleField("email", "Email address", .email, value: email),
      ConsoleField("password", "Password", .password(isNew: false)),
    ]
    fields[email.isEmpty ? 0 : 1].isFocused = mistakes.isEmpty
    if kept != nil {
      page.body.append(
        Part.paragraph("Your session has ended. Your form is kept; sign in to send it."))
    }
    page.body += [
      Part.form(
        FormTarget(
          path, hidden: [HiddenField("next", next.text)] + [kept].compactMap(\.self)),
        "\(fields.markup(mistakes))\(Part.buttons(Part.submit("Continue")))")
    ]
    return page
  }

  private static func checkPassword(_ call: Call) async throws(Failure) -> Response {
    try call.requireOrigin()
    guard case .form(let form) = call.body else { throw .formForged }
    let (email, next) = (form.trimmed("email"), checked(form["next"]))
    let kept = KeptForm.field(in: form)
    let missing = missing(["email", "password"], in: form)
    guard missing.isEmpty else {
      let page = signInPage(next: next, kept: kept, email: email, mistakes: missing)
      return ConsoleResponses.page(page, .unprocessable)
    }
    ConsoleVisit.findDevice(call)
    do throws(Failure) {
      let credentials = Credentials(email: email, password: form.text("password"))
      let flow = try await ConsoleSessions.signIn(credentials, call.context)
      let state = ConsoleState([.flow: flow, .next: next.text])
      if let kept { return ConsoleResponses.page(try codePage(state, call, kept: kept)) }
      return call.redirect(to: try state.path(codePath, session: "", call))
    } catch {
      return try refusal(
        of: error, call, field: "password", "Email address or password is wrong."
      ) { signInPage(next: next, kept: kept, email: email, mistakes: $0) }
    }
  }

  private static func codePage(
    _ state: ConsoleState, _ call: Call, kept: HiddenField? = nil, mistakes: [Mistake] = []
  ) throws(Failure) -> ConsolePage {
    var page = ConsolePage("Enter the code")
    page.mistakes = mistakes
    page.back = ConsoleLink("Use another account", to: path)
    var field = ConsoleField(
      "code", "6-digit code", .code,
      hint: "From your authenticator app. A recovery code works too, once.")
    field.isFocused = mistakes.isEmpty
    let sealed = HiddenField(ConsoleState.parameter, try state.text(for: codePath, call))
    page.body = [
      Part.form(
        FormTarget(codePath, hidden: [sealed] + [kept].compactMap(\.self)),
        "\([field].markup(mistakes))\(Part.buttons(Part.submit("Sign in")))")
    ]
    return page
  }

  private static func checkCode(_ call: Call) async throws(Failure) -> Response {
    try call.requireOrigin()
    guard case .form(let form) = call.body else { throw .formForged }
    let state = ConsoleState(in: form, of: codePath, call)
    guard let flow = state.values[.flow] else { return call.redirect(to: path) }
    let missing = missing(["code"], in: form)
    guard missing.isEmpty else {
      let page = try codePage(state, call, kept: KeptForm.field(in: form), mistakes: missing)
      return ConsoleResponses.page(page, .unprocessable)
    }
    ConsoleVisit.findDevice(call)
    do throws(Failure) {
      let session = try await ConsoleSessions.complete(flow, by: form.trimmed("code"), call.context)
      var response =
        KeptForm(in: form, call).map { resumption(of: $0, session, call) }
        ?? call.redirect(to: checked(state.values[.next]))
      ConsoleVisit.keep(session, in: &response)
      return response
    } catch {
      return try refusal(
        of: error, call, field: "code", wrongCode
      ) { (mistakes) throws(Failure) in
        try codePage(state, call, kept: KeptForm.field(in: form), mistakes: mistakes)
      }
    }
  }

  /// Returns the errors of fields that are empty.
  package static func missing(_ names: [String], in form: FormValues) -> [Mistake] {
    let texts = [
      "email": "Enter your email address.", "password": "Enter a password.",
      "code": "Enter the 6-digit code that your authenticator app shows.",
    ]
    return names.filter { form.trimmed(named: $0).isEmpty }.map {
      Mistake(texts[$0] ?? "Enter a value.", field: $0)
    }
  }

  /// Returns the page of a form with the error of a wrong password or code.
  ///
  /// - Throws: a failure that no user can mend.
  package static func refusal(
    of failure: Failure, _ call: Call, field: String, _ wrong: String,
    _ page: ([Mistake]) throws(Failure) -> ConsolePage
  ) throws(Failure) -> Response {
    let mistakes: [Mistake]
    switch failure {
    case .wrongCredentials, .invalidCode: mistakes = [Mistake(wrong, field: field)]
    default:
      guard failure.isMendable || failure.type.kind == .unauthenticated else { throw failure }
      mistakes = failure.mistakes([field, "password", "code"])
    }
    call.failure = failure
    let kind = failure.type.kind
    let status: Status = kind == .tooMany ? .tooManyRequests : .unprocessable
    var response = ConsoleResponses.page(try page(mistakes), status)
    if let time = failure.retryAfter { response.add(.retryAfter, String(time.wholeSeconds)) }
    return response
  }

  // MARK: Confirmation

  fileprivate static func confirmPage(
    _ visit: ConsoleVisit, next: LocalPath, kept: HiddenField? = nil, mistakes: [Mistake] = []
  ) -> ConsolePage {
    var page = ConsolePage("Confirm that it is you")
    page.mistakes = mistakes
    let fields = [
      ConsoleField("password", "Password", .password(isNew: false)),
      ConsoleField(
        "code", "6-digit code", .code,
        hint: "From your authenticator app. A recovery code works too, once."),
    ]
    page.body = [
      Part.paragraph("This page or action needs a password and a code of the last 10 minutes."),
      Part.card(
        nil,
        Part.form(
          visit.target(
            confirmPath, [HiddenField("next", next.text)] + [kept].compactMap(\.self)),
          isWide: true,
          """
          \(fields.markup(mistakes))\
          \(Part.buttons(
            Part.submit("Confirm"),
            Part.link("Cancel", to: kept == nil ? parent(of: next) : next, style: .secondary)))
          """)),
    ]
    return page
  }

  fileprivate static func confirmed(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let next = checked(form["next"])
    let missing = missing(["password", "code"], in: form)
    guard missing.isEmpty else {
      let page = confirmPage(
        visit, next: next, kept: KeptForm.field(in: form), mistakes: missing)
      return visit.response(page, .unprocessable)
    }
    ConsoleVisit.findDevice(visit.call)
    do throws(Failure) {
      let session = try await ConsoleSessions.stepUp(
        visit.session, password: form.text("password"), code: form.trimmed("code"), visit.context)
      var response =
        KeptForm(in: form, visit.call).map { resumption(of: $0, session, visit.call) }
        ?? visit.call.redirect(to: next)
      ConsoleVisit.keep(session, in: &response)
      return response
    } catch {
      let mistakes: [Mistake]
      switch error {
      case .wrongCredentials: mistakes = [Mistake("The password is wrong.", field: "password")]
      case .invalidCode: mistakes = [Mistake(wrongCode, field: "code")]
      default:
        guard error.isMendable else { throw error }
        mistakes = error.mistakes(["password", "code"])
      }
      let page = confirmPage(
        visit, next: next, kept: KeptForm.field(in: form), mistakes: mistakes)
      return visit.response(page, .unprocessable)
    }
  }
}

extension ConsoleVisit {
  /// Returns the route of the form that authenticates again, which sets new cookies.
  fileprivate nonisolated static func confirmation(_ pattern: String) -> Route {
    posted(
      pattern, limit: KeptForm.bodyLimit, "Authenticate an administrator again",
      AccessPages.confirmed)
  }

  /// Returns the route that ends the session.
  fileprivate nonisolated static func signOut(_ pattern: String) -> Route {
    posted(pattern, "Sign an administrator out") { (visit, _) async throws(Failure) in
      try await ConsoleSessions.end(visit.session, visit.context)
      var response = visit.call.redirect(to: .console("-", "sign-in"))
      forget(in: &response)
      return response
    }
  }
}
