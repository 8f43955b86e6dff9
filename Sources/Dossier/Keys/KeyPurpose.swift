import Postgres

/// What the keys of an app sign: for each purpose they are of the kind that its clients can read.
package enum KeyPurpose: String, CaseIterable, Sendable, Bindable {
  /// Access tokens of the native clients and of those of App Services.
  case native = "access"
  /// Access tokens and ID tokens of OpenID Connect. Clients of that fail on a key set with any key of
  /// another kind, so these have a set of their own.
  case openID = "openid"

  /// As the head of a token names it.
  ///
  /// - Source: RFC 7518 section 3.1.
  var algorithm: String {
    switch self {
    case .native: "ES256"
    case .openID: "RS256"
    }
  }

  package func appendText(to bytes: inout [UInt8]) -> Bool { rawValue.appendText(to: &bytes) }
}
