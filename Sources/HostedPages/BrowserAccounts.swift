import Accounts
import EventLoop
package import HTTP
package import OpenID
package import Pages
package import Runtime
package import Sessions
import Tenancy
import WireKit

/// The actions of both account choosers: that of a sign-in and that of the account page.
extension Call {
  /// Returns the users that this browser knows, the active one first; none without a device.
  package func usersOfBrowser() async throws(Failure) -> [DeviceUser] {
    findSignInDevice()
    do throws(Failure) {
      return try await Devices.list(context).users.filter { !$0.isAnonymous }
    } catch .deviceUnknown {
      return []
    }
  }

  /// Makes a user the active one, and returns whether the user is signed in.
  package func activate(_ user: UserID) async throws(Failure) -> Bool {
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
  package func signOutOfBrowser(_ form: FormValues) async throws(Failure) -> UserID? {
    let users = try await usersOfBrowser()
    guard let user = users.first(where: { form.names($0.user) }) else { return nil }
    do throws(Failure) {
      if user.state == .loggedOut {
        forgetPasskey(of: user.user)
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
  package func signOutAllOfBrowser() async throws(Failure) {
    findSignInDevice()
    do throws(Failure) {
      try await Devices.logoutAll(context)
    } catch .deviceUnknown {
      // The browser has none.
    }
  }

  /// Returns a user as the chooser shows it.
  package func choice(_ user: DeviceUser, choose: FormTarget, remove: FormTarget) -> AccountChoice {
    AccountChoice(
      Person(name: user.name, email: user.email, picture: image(user.picture)), choice: choose,
      isSignedOut: user.state == .loggedOut, removal: remove
    )
  }

  /// Returns a user of the browser as pages show it, with the service where the user signed in.
  package func person(_ user: BrowserUser) -> Person {
    Person(
      name: user.name, email: user.email, picture: image(user.picture),
      issuer: user.provider.issuer.map(context.app.label(ofIssuer:)))
  }

  /// Returns the picture of a user as a page shows it; nil if the user has none.
  package func image(_ name: String?) -> ImageSource? {
    name.flatMap { LocalPath(PicturePaths.path($0)) }.map { ImageSource($0) }
  }
}
