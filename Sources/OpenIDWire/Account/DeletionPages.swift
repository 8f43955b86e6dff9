import Accounts
import Administration
import EventLoop
import HTTP
import JSON
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The deletion of the account: `/account/delete`.
@EventLoop enum DeletionPages {
  nonisolated static let path = "/account/delete"

  nonisolated static let routes = [
    AccountVisit.show(path, isFresh: true, "Show the form that deletes the account") {
      (visit) async throws(Failure) in
      visit.response(
        with: .deleteAccount(
          visit.target(path), email: name(of: visit),
          download: Destination(LocalPath(checked: "/account/export")), back: .account,
          errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.handle(path, isFresh: true, "Delete the account") {
      (visit, form) async throws(Failure) in
      let typed = EmailAddress.canonical(form.trimmed("confirmation"))
      guard typed.hasSameBytes(as: EmailAddress.canonical(name(of: visit))) else {
        let errors = [FormError(.confirmationWrong)]
        return try visit.response(to: errors, of: LocalPath(checked: path))
      }
      try await Users.delete(visit.user, next: .none, visit.context)
      return visit.call.redirect(to: Page.CompletedTask.accountDeleted.path)
    },
  ]

  /// Returns what the user types: the address, or the id of a user without one.
  private static func name(of visit: AccountVisit) -> String {
    visit.browserUser.email ?? visit.user.text
  }
}
