import Accounts
import EventLoop
import HTTP
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
    let methods = try await visit.methods()
    return methods.takesPassword
      ? .page(.password) : try await CodePages.send(visit, from: .signIn)
  }
}

// The functions that both choosers share: that of a sign-in and that of the account.
extension Call {
  /// Returns the users that this browser knows, the active one first; none without a device.
  func usersOfBrowser() async throws(Failure) -> [DeviceUser] {
    findSignInDevice()
    do throws(Failure) {
      return try await Devices.list(context).users.filter { !$0.isAnonymous }
    } catch .deviceUnknown {
      return []
    }
  }

  /// Makes a user the active one, and returns whether the user is signed in.
  func activate(_ user: UserID) async throws(Failure) -> Bool {
    do throws(Failure) {
      _ = try await Devices.activate(user, as: .pages, context)
      return true
    } catch {
      switch error {
      case .switchingForbidden:
        return try await BrowserUsers.list(context).first { $0.isActive }?.user == user
      case .notLoggedIn, .notFound, .deviceUnknown: return false
      default: throw error
      }
    }
  }

  /// Signs out the user that a form names, or forgets one who is signed out.
  ///
  /// No other user becomes active.
  /// - Returns: the user; nil if the browser does not know one.
  @discardableResult
  func signOutOfBrowser(_ form: FormValues) async throws(Failure) -> UserID? {
    let users = try await usersOfBrowser()
    guard let user = users.first(where: { form.names($0.user) }) else { return nil }
    do throws(Failure) {
      if user.state == .loggedOut {
        try await Devices.remove(user.user, next: .none, context)
      } else {
        try await Devices.logout(user.user, next: .none, context)
      }
    } catch .notFound {
      // Another tab was first.
    }
    return user.user
  }

  /// Signs out all users of this browser.
  func signOutAllOfBrowser() async throws(Failure) {
    findSignInDevice()
    do throws(Failure) {
      try await Devices.logoutAll(context)
    } catch .deviceUnknown {
      // The browser has none.
    }
  }

  /// Returns a user as the chooser shows it.
  func choice(_ user: DeviceUser, choose: FormTarget, remove: FormTarget) -> AccountChoice {
    AccountChoice(
      Person(name: user.name, email: user.email, picture: image(user.picture)), choice: choose,
      isSignedOut: user.state == .loggedOut, removal: remove
    )
  }
}
