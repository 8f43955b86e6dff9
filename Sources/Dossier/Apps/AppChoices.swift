/// How users register.
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

/// How users of one device switch.
enum Switching: String, CaseIterable {
  case allow
  /// Only by logging in again.
  case reauthenticate
}

/// The `SameSite` attribute of the device cookie.
package enum DeviceCookieSameSite: String, CaseIterable, Sendable {
  case strict
  case lax
  case none
}

/// The login methods of an app; the setting of each has the same name.
package enum LoginMethod: String, CaseIterable, Sendable {
  case anonymous
  case password
  case jwt
  case apiKey = "api_key"
  /// Disabled by default: apps created before this method must opt in.
  case emailCode = "email_code"

  /// Description for operators.
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
