import Accounts
import Delivery
import EventLoop
import HTTP
import Pages
import Runtime
import WireKit

/// `/u/reset`: mails a link to a new password, and sets the password that its reader chooses.
@EventLoop enum ResetPages {
  nonisolated static let path = "/u/reset"
  private nonisolated static let requestPath = "/u/reset/request"
  private nonisolated static let sentPath = "/u/reset/sent"

  nonisolated static let routes = [
    Route(
      .get,
      path,
      access: .open,
      summary: "Show the form of a new password, or the one that requests a link to it",
      show
    ),
    Route(.post, path, access: .open, body: .form, summary: "Set a new password", save),
    Route(
      .post,
      requestPath,
      access: .open,
      body: .form,
      summary: "Mail a link to a new password"
    ) { (call) async throws(Failure) in
      let form = try call.form(of: requestPath)
      return try await request(for: form.trimmed(.email), call)
    },
    Route(
      .get,
      sentPath,
      access: .open,
      summary: "Show that a mail is on its way"
    ) { (call) throws(Failure) in
      let state = PageState(of: call)
      guard let email = state.values["email"] else { return call.redirect(to: resetPage) }
      let page = Page.mailSent(
        .reset,
        email: email,
        again: call.target(
          LocalPath(checked: requestPath),
          of: requestPath,
          [HiddenField(InputName.email.text, email)]
        ),
        signIn: Destination(.account)
      )
      return call.response(with: page)
    },
  ]

  private nonisolated static let resetPage = LocalPath(checked: path)

  private static func show(_ call: Call) async throws(Failure) -> Response {
    let state = PageState(of: call)
    guard let text = FormValues(call.request.query)?["token"] else {
      let page = Page.resetRequest(
        call.target(LocalPath(checked: requestPath), of: requestPath),
        email: state.values["email"] ?? "",
        signIn: Destination(.account),
        errors: state.errors.pageErrors
      )
      return call.response(with: page, errors: state.errors)
    }
    do throws(Failure) {
      let token = try await MailLinkPages.token(text, for: .reset, call)
      let page = Page.newPassword(
        MailLinkPages.target(path, text, call),
        email: token.email,
        minimumPassword: call.context.app.accountSettings.passwordMinLength,
        errors: state.errors.pageErrors
      )
      return call.response(with: page, errors: state.errors)
    } catch .invalidMailToken {
      return MailLinkPages.expired(call, request: path)
    }
  }

  private static func save(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: path)
    let text = form["token"] ?? ""
    let page = MailLinkPages.path("reset", text)
    let password = form.text(.newPassword)
    if let error = FormError.error(ofNew: password) {
      return try call.redirect(to: page, showing: PageState(errors: [error]))
    }
    do throws(Failure) {
      let token = try await MailLinkPages.token(text, for: .reset, call)
      let errors = try await call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
        try await Emails.resetOnly(text, password: password, call.context)
      }
      guard errors.isEmpty else {
        return try call.redirect(to: page, showing: PageState(errors: errors))
      }
      return MailLinkPages.completed(.passwordSaved, by: token, call)
    } catch .invalidMailToken {
      return call.redirect(to: page)
    }
  }

  /// Mails a link to a new password; the response is the same for all addresses.
  static func request(for email: String, _ call: Call) async throws(Failure) -> Response {
    let values = [InputName.email.text: email]
    let errors = try await errors(requesting: email, call)
    let next = LocalPath(checked: errors.isEmpty ? sentPath : path)
    return try call.redirect(to: next, showing: PageState(errors: errors, values: values))
  }

  /// Mails a link to a new password, and returns the errors of the request.
  static func errors(
    requesting email: String,
    _ call: Call
  ) async throws(Failure) -> [FormError] {
    if let error = FormError.error(ofEmail: email) { return [error] }
    return try await call.errors(wrong: .emailMalformed) { () async throws(Failure) in
      try await Emails.requestReset(of: email, call.context)
    }
  }
}

extension FormError {
  /// Returns the error of an address that the user has typed; nil if it may be one.
  static func error(ofEmail email: String) -> FormError? {
    if email.isEmpty { return FormError(.emailMissing) }
    // Imported users may have addresses that mix scripts.
    let fault = EmailAddress.fault(in: email, at: "/email", mixed: true)
    return fault == nil ? nil : FormError(.emailMalformed)
  }
}
