/// How users sign up.
package enum SignUp: String, CaseIterable, Sendable {
  case immediate
  case verifyFirst = "verify_first"
  case closed
}

/// Whether users have a second factor.
package enum MFA: String, CaseIterable, Sendable {
  case off
  case optional
  case required
}

/// How a device changes users.
enum Switching: String, CaseIterable {
  case allow
  /// Only by logging in again.
  case reauthenticate
}

/// With requests of whose pages browsers send the cookie of a device.
package enum DeviceCookieSameSite: String, CaseIterable, Sendable {
  case strict
  case lax
  case none
}

/// How users may come to an app; its setting has the same name.
package enum WayIn: String, CaseIterable, Sendable {
  case anonymous
  case password
  case jwt
  case apiKey = "api_key"
  /// The one that is closed until it is opened: it came later than apps.
  case emailCode = "email_code"

  /// For operators.
  var meaning: String {
    switch self {
    case .anonymous: "without credentials"
    case .password: "with email address and password"
    case .jwt: "with a token of one of the app's issuers"
    case .apiKey: "with an API key"
    case .emailCode: "with a code that is mailed to them"
    }
  }
}
