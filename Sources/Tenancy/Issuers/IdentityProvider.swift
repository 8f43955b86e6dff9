package import JSON
package import Runtime
import Postgres

/// How a user signs in with an identity, stored as a text.
package enum IdentityProvider: Sendable {
  /// A guest, who has no credential.
  case anonymous
  /// An address and a password.
  case password
  /// A further address with a password of its own, which a link of two users has added.
  ///
  /// No mail is sent there, so it neither resets a password nor gets a code.
  case linkedPassword
  /// An address, to which codes are mailed.
  case email
  case apiKey
  /// A passkey, which is a WebAuthn credential.
  case passkey
  /// An issuer of tokens: the stored text, such as `jwt:https://issuer.example.com`.
  case issuer(String)

  /// The provider of foreign ids among the subjects of users.
  package static let foreign = issuer("auth0")

  package init(_ text: String) {
    self =
      switch text {
      case "anonymous": .anonymous
      case "password": .password
      case "linked-password": .linkedPassword
      case "email": .email
      case "api-key": .apiKey
      case "passkey": .passkey
      default: .issuer(text)
      }
  }

  /// Creates the provider of an issuer.
  ///
  /// - Parameter name: the `iss` of its tokens.
  package init(ofIssuer name: String) { self = .issuer("jwt:\(name)") }

  package var text: String {
    switch self {
    case .anonymous: "anonymous"
    case .password: "password"
    case .linkedPassword: "linked-password"
    case .email: "email"
    case .apiKey: "api-key"
    case .passkey: "passkey"
    case .issuer(let text): text
    }
  }

  /// Whether users sign in with it by the address of their profile.
  package var isAddress: Bool {
    switch self {
    case .password, .email: true
    case .anonymous, .linkedPassword, .apiKey, .passkey, .issuer: false
    }
  }

  /// Whether a guest can have it.
  package var isOfGuests: Bool { self == .anonymous || self == .apiKey }

  /// The issuer, without what precedes it in the stored text; nil for another provider.
  package var issuer: String? {
    guard case .issuer(let text) = self else { return nil }
    let name = text.drop { $0 != ":" }.dropFirst()
    return name.isEmpty ? text : String(name)
  }

  /// Returns the name of its connection in an app; nil without one.
  package func connection(in app: App) -> String? { issuer.flatMap(app.connection(ofIssuer:)) }

  /// Returns the facts about it in events.
  package func eventDetail(in app: App) -> JSONObject {
    var detail = JSONObject()
    detail["provider"] = .string(text)
    detail["connection"] = connection(in: app).map(JSON.string)
    return detail
  }
}

extension IdentityProvider: Hashable {
  /// Compares bytes.
  package static func == (one: IdentityProvider, other: IdentityProvider) -> Bool {
    one.text.hasSameBytes(as: other.text)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(ByteString(text)) }
}

extension IdentityProvider: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool { text.appendText(to: &bytes) }
}
