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

/// `/u/restore`: gives an account its former address back, with a new password.
@EventLoop enum RestorePages {
  private nonisolated static let path = "/u/restore"

  nonisolated static let routes = [
    Route(.get, path, access: .open, summary: "Show the form that restores an address", show),
    Route(.post, path, access: .open, body: .form, summary: "Restore an address", restore),
  ]

  private static func show(_ call: Call) async throws(Failure) -> Response {
    let text = FormValues(call.request.query)?["token"]
    do throws(Failure) {
      let token = try await MailLinkPages.token(text, for: .restore, call)
      let state = PageState(of: call)
      let page = Page.restoreAddress(
        MailLinkPages.target(path, text ?? "", call), email: token.subject.email,
        minimumPassword: call.context.app.accountSettings.passwordMinLength,
        errors: state.errors.pageErrors
      )
      return call.response(with: page, errors: state.errors)
    } catch .invalidMailToken {
      return MailLinkPages.expired(call, .account)
    }
  }

  private static func restore(_ call: Call) async throws(Failure) -> Response {
    let form = try call.form(of: path)
    let text = form["token"] ?? ""
    let page = MailLinkPages.path("restore", text)
    let password = form.text(.newPassword)
    if let error = FormError.error(ofNew: password, in: call.context.app) {
      return try call.redirect(to: page, showing: PageState(errors: [error]))
    }
    call.findSignInDevice()
    var secret: String?
    do throws(Failure) {
      let errors = try await call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
        do throws(Failure) {
          secret = try await Emails.restore(text, password: password, as: .pages, call.context)
            .deviceSecret
        } catch .additionalFactorRequired {
          // The address is restored. The next sign-in asks for the second factor.
        }
      }
      guard errors.isEmpty else {
        return try call.redirect(to: page, showing: PageState(errors: errors))
      }
    } catch .invalidMailToken {
      return call.redirect(to: page)
    }
    var response = call.redirect(to: Page.CompletedTask.addressRestored.path)
    call.set(signInDevice: secret, in: &response)
    return response
  }
}
