import Encoding
import JSON
import Records
package import Runtime

extension ClientSettings {
  /// A way to sign in, which clients can choose.
  package enum Connection: Sendable {
    case password
    case emailCode
    /// A connection of the app to an issuer, which may not exist.
    case named(String)

    /// The ways of every app.
    package static let builtIn: [Connection] = [.password, .emailCode]

    /// Names that no connection and no issuer of an app may have.
    ///
    /// Programs find users by a provider and an id, and these are the providers of the app's own users.
    private static let reservedNames =
      builtIn.flatMap { [$0.name, $0.auth0Name] } + ["auth0", "anonymous"]

    /// Returns the fault of a name that stands for a way to sign in of each app; nil for others.
    package static func fault(inName name: String) -> FieldError? {
      guard reservedNames.contains(where: name.hasSameBytes) else { return nil }
      let rule = "This name stands for a way to sign in that each app has. Choose another."
      return FieldError("/name", "reserved", rule)
    }

    /// The rule for a list of names: the ways of every app, and the 20 that an app may add.
    static let rule = ColumnRule.texts(
      atMost: builtIn.count + 20, "name",
      "A way to sign in must be password, email_code, or the name of a connection, which has 1 to "
        + "63 of a-z, 0-9 and -, and does not begin with -."
    ) { name in
      builtIn.contains { $0.name.hasSameBytes(as: name) } || OperatorName.fault(in: name) == nil
    }

    /// The name in settings.
    package var name: String {
      switch self {
      case .password: "password"
      case .emailCode: "email_code"
      case .named(let name): name
      }
    }

    /// The name by which Auth0's SDKs know it.
    package var auth0Name: String {
      switch self {
      case .password: "Username-Password-Authentication"
      case .emailCode: "email"
      case .named(let name): name
      }
    }

    /// Creates a way from its name in settings.
    package init(name: String) {
      self = Self.builtIn.first { $0.name.hasSameBytes(as: name) } ?? .named(name)
    }

    /// Creates a way from the name by which Auth0's SDKs know it.
    package init(auth0Name name: String) {
      self = Self.builtIn.first { $0.auth0Name.hasSameBytes(as: name) } ?? .named(name)
    }

    /// The way of signing in that has a provider of sessions; nil for other ways.
    package init?(provider: IdentityProvider) {
      switch provider {
      // Clients allow passkeys together with the password.
      case .password, .linkedPassword, .passkey: self = .password
      case .email: self = .emailCode
      case .anonymous, .apiKey, .issuer: return nil
      }
    }
  }
}

extension ClientSettings.Connection: Hashable {
  /// Compares bytes.
  package static func == (one: Self, other: Self) -> Bool {
    switch (one, other) {
    case (.password, .password), (.emailCode, .emailCode): true
    case (.named(let one), .named(let other)): one.hasSameBytes(as: other)
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(ByteString(name)) }
}
