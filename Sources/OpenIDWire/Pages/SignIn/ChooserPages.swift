import Accounts
import EventLoop
import HTTP
import HostedPages
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The page that lets the user choose one of the accounts of this browser.
@EventLoop enum ChooserPages {
  nonisolated static let routes = [
    SignInPages.show(.choose, "Show the accounts of this browser") {
      (visit) async throws(Failure) in
      let users = try await visit.call.usersOfBrowser()
      guard !users.isEmpty else { return nil }
      return .chooseAccount(
        users.map { user in
          visit.call.choice(
            user, choose: visit.target(.choose, [.user(user.user)]),
            remove: visit.target(below: "choose/remove", [.user(user.user)])
          )
        },
        another: visit.target(below: "choose/another"),
        signOutAll: visit.target(below: "choose/sign-out")
      )
    },
    SignInPages.handle("choose", "Continue with an account of this browser", choose),
    SignInPages.handle("choose/another", "Continue with another account") {
      (visit, _) async throws(Failure) in
      visit.state.email = nil
      visit.state.user = nil
      visit.state.isAnother = true
      return .page(.signIn)
    },
    SignInPages.handle("choose/remove", "Sign out an account, or forget one that is signed out") {
      (visit, form) async throws(Failure) in
      let user = try await visit.call.signOutOfBrowser(form)
      if visit.state.user == user { visit.state.user = nil }
      return .page(.choose)
    },
    SignInPages.handle("choose/sign-out", "Sign out all accounts of this browser") {
      (visit, _) async throws(Failure) in
      try await visit.call.signOutAllOfBrowser()
      visit.state.user = nil
      return .page(.choose)
    },
  ]

  private static func choose(
    _ visit: Visit, _ form: FormValues
  ) async throws(Failure) -> Visit.Next {
    let users = try await visit.call.usersOfBrowser()
    guard let user = users.first(where: { form.names($0.user) }) else {
      return .page(.choose)
    }
    visit.state.email = user.email
    if user.state != .loggedOut, try await visit.call.activate(user.user) {
      visit.state.user = user.user
      return .proceed
    }
    visit.state.user = nil
    visit.state.isAnother = true
    guard visit.state.email != nil else { return .page(.signIn) }
    return try await visit.nextAfterAddress(else: .page(.signIn))
  }
}
