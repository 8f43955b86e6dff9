import EventLoop
import HTTP
import HostedPages
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The account chooser of the account page: `/account/switch`.
@EventLoop enum SwitchPages {
  nonisolated static let path = LocalPath(checked: "/account/switch")
  private nonisolated static let removalPath = LocalPath(checked: "/account/switch/remove")
  private nonisolated static let anotherPath = LocalPath(checked: "/account/switch/another")
  private nonisolated static let allPath = LocalPath(checked: "/account/switch/sign-out")
  /// The flow of the forms.
  ///
  /// It names no user, since no user may be active.
  private nonisolated static let flow = "switch"

  nonisolated static let routes = [
    Route(.get, path.text, access: .open, summary: "Show the accounts of this browser", show),
    handle(path, "Switch to another account of this browser") {
      (call, form) async throws(Failure) in
      let users = try await call.usersOfBrowser()
      guard let user = users.first(where: { form.names($0.user) }) else {
        return call.redirect(to: path)
      }
      if user.state != .loggedOut, try await call.activate(user.user) {
        return call.redirect(to: .account)
      }
      return try await signIn(call, hint: user.email)
    },
    handle(anotherPath, "Sign in with another account") { (call, _) async throws(Failure) in
      try await signIn(call, hint: nil)
    },
    handle(removalPath, "Sign out an account, or forget one that is signed out") {
      (call, form) async throws(Failure) in
      try await call.signOutOfBrowser(form)
      return call.redirect(to: path)
    },
    handle(allPath, "Sign out all accounts of this browser") { (call, _) async throws(Failure) in
      try await call.signOutAllOfBrowser()
      return call.redirect(to: path)
    },
  ]

  private nonisolated static func handle(
    _ path: LocalPath, _ summary: String,
    _ work: @escaping @EventLoop (Call, FormValues) async throws(Failure) -> Response
  ) -> Route {
    Route(.post, path.text, access: .open, body: .form, summary: summary) {
      (call) async throws(Failure) in try await work(call, try call.form(of: flow))
    }
  }

  private static func show(_ call: Call) async throws(Failure) -> Response {
    let users = try await call.usersOfBrowser()
    guard !users.isEmpty else { return try await signIn(call, hint: nil) }
    let page = Page.chooseAccount(
      users.map { user in
        call.choice(
          user, choose: call.target(path, of: flow, [.user(user.user)]),
          remove: call.target(removalPath, of: flow, [.user(user.user)])
        )
      },
      another: call.target(anotherPath, of: flow),
      signOutAll: call.target(allPath, of: flow)
    )
    return call.response(with: page)
  }

  /// Begins a sign-in that leads to the account page.
  private static func signIn(_ call: Call, hint: String?) async throws(Failure) -> Response {
    var request = AuthorizationRequest(client: .pages, redirect: LocalPath.account.text)
    request.prompts = [.login]
    request.loginHint = hint
    return try await call.beginSignIn(request)
  }
}
