import Tenancy
import Accounts
import EventLoop
import HTTP
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The password: `/account/password`.
@EventLoop enum PasswordPages {
  nonisolated static let path = "/account/password"

  nonisolated static let routes = [
    AccountVisit.show(path, "Show the form of a new password", show),
    AccountVisit.handle(path, "Change the password", change),
  ]

  private nonisolated static let page = LocalPath(checked: path)

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    guard try await visit.hasPassword() else {
      // A user without a password gets the first one by mail, as for a forgotten one.
      return visit.call.redirect(to: LocalPath(checked: ResetPages.path))
    }
    return visit.response(
      with: .changePassword(
        visit.target(path), email: visit.browserUser.email ?? "",
        minimumPassword: visit.app.accountSettings.passwordMinLength, back: .account,
        errors: visit.state.errors.pageErrors
      )
    )
  }

  private static func change(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let (current, new) = (form.text(.password), form.text(.newPassword))
    let missing = [
      current.isEmpty ? FormError(.passwordMissing) : nil, FormError.error(ofNew: new),
    ].compactMap(\.self)
    guard missing.isEmpty else { return try visit.response(to: missing, of: page) }
    var tokens: Sessions.TokenSet?
    let errors = try await visit.call.errors(wrong: .passwordWrong) { () async throws(Failure) in
      tokens = try await Users.changePassword(
        from: current, to: new, of: visit.user, as: .pages, visit.context
      )
    }
    return visit.keep(tokens, in: try visit.response(to: errors, of: page))
  }
}

extension AccountVisit {
  /// Returns whether the user signs in with a password.
  func hasPassword() async throws(Failure) -> Bool {
    try await Identities.list(of: user, context).contains { $0.provider == .password }
  }
}
