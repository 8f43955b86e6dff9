import Accounts
import Delivery
import EventLoop
import HTTP
import HostedPages
import Localization
import JSON
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// `/u/verify`: verifies an address by a mailed link, with a session or the password of its user.
///
/// A browser that has just sent the password, as in a registration, need not send it again.
@EventLoop enum VerificationPages {
  private nonisolated static let path = "/u/verify"
  private nonisolated static let disownPath = "/u/verify/disown"

  nonisolated static let routes = [
    Route(.get, path, access: .open, summary: "Show the form that verifies an address", show),
    Route(.post, path, access: .open, body: .form, summary: "Verify an address", verify),
    Route(
      .post, disownPath, access: .open, body: .form,
      summary: "Let the owner of an address choose a new password", disown
    ),
  ]

  private static func show(_ call: Call) async throws(Failure) -> Response {
    guard let text = FormValues(call.request.query)?["token"] else {
      return MailLinkPages.expired(call, .signIn)
    }
    do throws(Failure) {
      let token = try await MailLinkPages.token(text, for: .verify, call)
      let state = PageState(of: call)
      let knowsPassword = try await knowsPassword(of: token, call)
      let page = Page.confirmAddress(
        MailLinkPages.target(path, text, call), email: token.subject.email,
        asksForPassword: try await user(of: token, call) == nil && !knowsPassword,
        disown: MailLinkPages.target(disownPath, text, call), errors: state.errors.pageErrors
      )
      return call.response(with: page, errors: state.errors)
    } catch .invalidMailToken {
      // People open a link twice.
      if try await PresentedEmailToken.isFulfilled(text, call.context) {
        return try await MailLinkPages.done(.alreadyVerified, call)
      }
      return MailLinkPages.expired(call, .signIn)
    }
  }

  private static func verify(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: path)
    let text = form["token"] ?? ""
    let page = MailLinkPages.path("verify", text)
    let token: PresentedEmailToken
    do throws(Failure) {
      token = try await MailLinkPages.token(text, for: .verify, call)
    } catch .invalidMailToken {
      // The page of the link says so.
      return call.redirect(to: page)
    }
    let password = form.text(.password)
    let knowsPassword = try await knowsPassword(of: token, call)
    if let user = try await user(of: token, call) {
      call.context.principal = user.principal(in: call.context.app.id)
    } else if password.isEmpty, !knowsPassword {
      let state = PageState(errors: [FormError(.passwordMissing)])
      return try call.redirect(to: page, showing: state)
    }
    var secret: String?
    let errors = try await call.errors(wrong: .passwordWrong) { () async throws(Failure) in
      do throws(Failure) {
        if knowsPassword, call.context.principal.user == nil {
          return try await Emails.verifyByReader(text, knowsPassword: true, call.context)
        }
        secret = try await Emails.verify(text, password: password, as: .pages, call.context)?
          .deviceSecret
      } catch .additionalFactorRequired {
        // The address is verified. The next sign-in asks for the second factor.
      }
    }
    guard errors.isEmpty else {
      return try call.redirect(to: page, showing: PageState(errors: errors))
    }
    var response = MailLinkPages.completed(.addressConfirmed, by: token, call)
    call.set(signInDevice: secret, in: &response)
    return response
  }

  /// Leads to the form that mails a link to a new password, whose use revokes all other credentials.
  private static func disown(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: disownPath)
    let text = form["token"] ?? ""
    do throws(Failure) {
      let token = try await MailLinkPages.token(text, for: .verify, call)
      return try await ResetPages.begin(for: token.subject.email, call)
    } catch .invalidMailToken {
      return call.redirect(to: MailLinkPages.path("verify", text))
    }
  }

  /// Returns whether the browser has just sent the right password for the address of a token.
  ///
  /// - Throws: `.databaseUnavailable`.
  private static func knowsPassword(
    of token: PresentedEmailToken, _ call: Call
  ) async throws(Failure) -> Bool {
    guard let address = BrowserNote.password.text(call) else { return false }
    let key = try await EmailAddress(address, call.context).key
    return try await EmailAddress(token.subject.email, call.context).key.hasSameBytes(as: key)
  }

  /// Returns the user of a token, if signed in at the pages in this browser.
  private static func user(
    of token: PresentedEmailToken, _ call: Call
  ) async throws(Failure) -> BrowserUser? {
    try await call.browserUsers().first { $0.user == token.user }
  }
}
