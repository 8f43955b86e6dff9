import Accounts
package import Runtime
package import Tenancy

/// The ways to sign in that the app and the client accept.
package struct SignInMethods {
  package let takesPassword: Bool
  package let takesCode: Bool
  /// Whether users can sign up with a password.
  package let takesSignUp: Bool

  /// Returns the ways for a client; nil for the account page, which accepts all of the app.
  ///
  /// If the request wants one of them, only that counts.
  package init(_ app: App, _ client: Client?, only wanted: ClientSettings.Connection? = nil) {
    let settings = app.accountSettings
    func isAllowed(_ way: ClientSettings.Connection) -> Bool {
      client?.settings.allows(way) != false && (wanted ?? way) == way
    }
    takesPassword = settings.isOpen(.password) && isAllowed(.password)
    takesCode = settings.isOpen(.emailCode) && isAllowed(.emailCode)
    takesSignUp = takesPassword && settings.signUp != .closed
  }
}
