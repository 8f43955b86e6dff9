import Accounts
import EventLoop
import HTTP
import Localization
import HostedPages
import OpenID
import Pages
import Runtime
import WireKit

/// The pages that mail a link: for a forgotten password, and to verify an address.
@EventLoop enum ForgotPages {
  nonisolated static let routes = [
    SignInPages.show(.forgot, "Show the form that requests a link to a new password") {
      (visit) async throws(Failure) in
      guard try visit.methods().takesPassword else { return nil }
      return .resetRequest(
        visit.target(.forgot),
        email: visit.state.email ?? visit.authorization.request.loginHint ?? "",
        signIn: visit.link(visit.state.email == nil ? .signIn : .password),
        errors: visit.pageErrors
      )
    },
    SignInPages.handle("forgot", "Mail a link to a new password") {
      (visit, form) async throws(Failure) in
      guard try visit.methods().takesPassword else { return .page(.signIn) }
      let email = form.trimmed(.email)
      visit.state.email = email
      let errors = try await ResetPages.errors(requesting: email, visit.call)
      guard errors.isEmpty else { return .errors(errors, on: .forgot) }
      visit.wait(for: .reset)
      return .page(.mailSent)
    },
    SignInPages.show(.mailSent, "Show that an email is on its way") {
      (visit) async throws(Failure) in
      guard let mail = visit.state.sentMail else { return nil }
      return .mailSent(
        mail == .reset ? .resetSent : .verificationSent,
        done: mail == .reset ? .resetDone : .verificationDone, email: visit.email,
        again: visit.target(.mailSent), signIn: visit.link(.signIn),
        waiting: PageWait(check: visit.path(below: "waiting"), next: visit.resumption),
        errors: visit.pageErrors
      )
    },
    SignInPages.handle("mail-sent", "Send the mail again") { (visit, _) async throws(Failure) in
      switch visit.state.sentMail {
      case .reset:
        let errors = try await ResetPages.errors(requesting: visit.email, visit.call)
        return .errors(errors, on: .mailSent)
      case .verification:
        let errors = try await visit.call.errors(wrong: .emailMalformed) {
          () async throws(Failure) in
          try await Emails.requestVerification(of: visit.email, visit.context)
        }
        return .errors(errors, on: .mailSent)
      case nil: return .page(.signIn)
      }
    },
  ]
}
