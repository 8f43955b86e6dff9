package import Runtime
package import Records

/// The settings of accounts and their credentials.
package struct AccountSettings: RecordPart {
  private let openMethods: Set<LoginMethod>
  package let signUp: SignUp
  /// In characters.
  package let passwordMinLength: Int
  /// Whether a new password may be common, or contain a name.
  package let allowsWeakPasswords: Bool
  /// In the addresses of users.
  package let allowsMixedScripts: Bool
  let apiKeysPerUser: Int

  package init(_ read: inout RecordReader) {
    var open: Set<LoginMethod> = []
    for method in LoginMethod.allCases {
      let isOpen = read.flag(
        method.rawValue, method != .emailCode, safe: false,
        "whether users may sign in \(method.meaning)"
      )
      if isOpen { open.insert(method) }
    }
    openMethods = open
    signUp = read.choice(
      "sign_up",
      SignUp.immediate,
      safe: .closed,
      "how users sign up: immediate signs them in at once, and verify_first after they enter a "
        + "mailed code; with closed, only operators, API clients and imports create users"
    )
    // NIST SP 800-63B section 5.1.1.2 requires at least 8.
    let shortest = read.number(
      "password_min_length", 8...128, 8, "minimum number of characters of a new password"
    )
    allowsWeakPasswords = read.flag(
      "weak_passwords",
      false,
      safe: false,
      "whether any new password of at least 6 characters is accepted, also a common one, as clients "
        + "of App Services expect; password_min_length then has no effect"
    )
    passwordMinLength = allowsWeakPasswords ? 6 : shortest
    allowsMixedScripts = read.flag(
      "mixed_script_addresses",
      false,
      safe: false,
      "whether the domains of new addresses may mix scripts between two dots, such as Latin and "
        + "Cyrillic; such an address can look like another user's"
    )
    apiKeysPerUser = read.number("api_keys_per_user", 0...1_000, 20, "the most API keys of a user")
    read.declare(
      "anonymous_user_retention_days", 0...3_650, 30,
      "days without a visit after which an anonymous user without data is removed; 0 for never"
    )
  }

  package func isOpen(_ method: LoginMethod) -> Bool { openMethods.contains(method) }
}

extension App {
  package var accountSettings: AccountSettings { settings[AccountSettings.self] }
}

/// How users register.
package enum SignUp: String, CaseIterable, Sendable {
  case immediate
  case verifyFirst = "verify_first"
  case closed
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
  fileprivate var meaning: String {
    switch self {
    case .anonymous: "without credentials"
    case .password: "with an email address and a password"
    case .jwt: "with a token of one of the app's issuers"
    case .apiKey: "with an API key"
    case .emailCode: "with a mailed code"
    }
  }
}
