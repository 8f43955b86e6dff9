import Accounts
import Delivery
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// `/u/reset`: sets the password that the reader of a mailed link chooses.
///
/// Without a link, it leads to the form that requests one.
@EventLoop enum ResetPages {
  nonisolated static let path = LocalPath.passwordReset.text

  nonisolated static let routes = [
    Route(
      .get, path, access: .open,
      summary: "Show the form of a new password, or the one that requests a link to it", show
    ),
    Route(.post, path, access: .open, body: .form, summary: "Set a new password", save),
  ]

  private static func show(_ call: Call) async throws(Failure) -> Response {
    let state = PageState(of: call)
    guard let text = FormValues(call.request.query)?["token"] else {
      return try await begin(for: nil, call)
    }
    do throws(Failure) {
      let token = try await MailLinkPages.token(text, for: .reset, call)
      let page = Page.newPassword(
        MailLinkPages.target(path, text, call), email: token.subject.email,
        minimumPassword: call.context.app.accountSettings.passwordMinLength,
        errors: state.errors.pageErrors
      )
      return call.response(with: page, errors: state.errors)
    } catch .invalidMailToken {
      return MailLinkPages.expired(call, .requestNewLink, to: .passwordReset)
    }
  }

  private static func save(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: path)
    let text = form["token"] ?? ""
    let page = MailLinkPages.path("reset", text)
    let password = form.text(.newPassword)
    if let error = FormError.error(ofNew: password, in: call.context.app) {
      return try call.redirect(to: page, showing: PageState(errors: [error]))
    }
    var errors: [FormError] = []
    do throws(Failure) {
      let waiting = try await Visit.waiting(call)
      let response = try await waiting?.handle(ofLink: form) { visit async throws(Failure) in
        let token = try await MailLinkPages.token(text, for: .reset, call)
        guard token.subject.resultURL == nil, try await visit.isOf(token.subject.email) else {
          return nil
        }
        visit.notice = .passwordChanged
        return try await signIn(visit, by: text, password: password, &errors)
      }
      if let response { return response }
      guard errors.isEmpty else {
        return try call.redirect(to: page, showing: PageState(errors: errors))
      }
      let token = try await MailLinkPages.token(text, for: .reset, call)
      errors = try await call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
        try await Emails.resetOnly(text, password: password, call.context)
      }
      guard errors.isEmpty else {
        return try call.redirect(to: page, showing: PageState(errors: errors))
      }
      let report = try await MailLinkPages.passwordSavedPath(of: token.user, call)
      return MailLinkPages.completed(.passwordSaved, by: token, on: report, call)
    } catch .invalidMailToken {
      return call.redirect(to: page)
    }
  }

  /// Sets the password, and signs in.
  ///
  /// - Returns: the next step; nil if there are errors, or the browser has no room for the user.
  private static func signIn(
    _ visit: Visit, by token: String, password: String, _ errors: inout [FormError]
  ) async throws(Failure) -> Visit.Next? {
    var session: OpenSession?
    do throws(Failure) {
      errors = try await visit.call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
        do throws(Failure) {
          session = try await Emails.reset(token, password: password, as: .pages, visit.context)
        } catch .deviceFull {
          // The token is still valid.
        }
      }
      guard let session else { return nil }
      let next = try await visit.complete(session)
      guard visit.state.linkError == nil,
        let report = try await MailLinkPages.passwordSavedPath(of: session.user, visit.call)
      else { return next }
      return .report(report)
    } catch let error where error.is(.additionalFactorRequired) {
      return try await visit.beginSecondStep(error)
    }
  }

  /// Begins a sign-in at its form that mails a link to a new password.
  ///
  /// A sign-in handles each of its forms once, so two clicks send one mail.
  static func begin(for email: String?, _ call: Call) async throws(Failure) -> Response {
    var request = AuthorizationRequest(client: .pages, redirect: LocalPath.account.text)
    request.loginHint = email
    return try await call.beginSignIn(request, at: .forgot)
  }

  /// Mails a link to a new password, and returns the errors of the request.
  static func errors(requesting email: String, _ call: Call) async throws(Failure) -> [FormError] {
    if let error = FormError.error(ofEmail: email) { return [error] }
    return try await call.errors(wrong: .emailMalformed) { () async throws(Failure) in
      try await Emails.requestReset(of: email, call.context)
    }
  }
}
