import Postgres

/// The purposes of an app's signing keys; each has the algorithm that its clients support.
package enum KeyPurpose: String, CaseIterable, Sendable, Bindable {
  /// Access tokens of native clients and of App Services clients.
  case native = "access"
  /// Access tokens and ID tokens of OpenID Connect.
  ///
  /// Their key set is separate, since its clients fail on a set with keys of other kinds.
  case openID = "openid"

  /// The algorithm name in the header of a token.
  ///
  /// - Source: RFC 7518 section 3.1.
  package var algorithm: String {
    switch self {
    case .native: "ES256"
    case .openID: "RS256"
    }
  }

  package func appendText(to bytes: inout [UInt8]) -> Bool { rawValue.appendText(to: &bytes) }
}
