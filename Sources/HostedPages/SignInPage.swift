import EventLoop
package import HTTP
package import OpenID
package import Pages
package import Runtime
import WireKit

/// A page of an authorization, with its name in the path.
package enum SignInPage: String {
  case signIn = "sign-in"
  case password
  case signUp = "sign-up"
  /// The passkey of a new user, whose address is known.
  case signUpPasskey = "sign-up/passkey"
  /// The password of a new user, in an app that asks for a passkey first.
  case signUpPassword = "sign-up/password"
  case code
  case factor
  case recovery
  case enroll
  case recoveryCodes = "recovery-codes"
  case forgot
  case mailSent = "mail-sent"
  case choose
  /// There is an account with the address of an account at another service.
  case link
  /// The account at another service was not linked after the sign-in.
  case notLinked = "not-linked"
  /// The address is of a domain whose users sign in at another service.
  case service
  /// A passkey is offered after another sign-in.
  case offer = "passkey-offer"
  /// The client demands a passkey, and the user has signed in without one.
  case passkey
  case consent
  case confirm

  /// Returns the path of the page of an authorization.
  package func path(of authorization: Authorization) -> LocalPath {
    LocalPath(checked: "/u/\(authorization.id)/\(rawValue)")
  }
}

extension Call {
  /// Begins a sign-in at the pages, and returns the redirect to one of them.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func beginSignIn(
    _ request: AuthorizationRequest, at page: SignInPage = .signIn
  ) async throws(Failure) -> Response {
    let authorization = try await Authorizations.begin(request, for: nil, in: browser.key, context)
    return redirect(to: page.path(of: authorization))
  }
}
