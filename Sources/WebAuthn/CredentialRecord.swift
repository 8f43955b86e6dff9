import Encoding
import JSON

/// A passkey, as a server stores it.
///
/// - Source: WebAuthn section 4, "credential record".
package struct CredentialRecord: Sendable, Equatable {
  package let id: [UInt8]
  /// The key in COSE's format, with the bytes as they came.
  package let publicKey: [UInt8]
  /// The user handle that the options of the registration had.
  package let userHandle: [UInt8]
  /// The model of the authenticator; zeros if it does not state one.
  package let aaguid: [UInt8]
  /// The RP ID for which the passkey was made.
  package let relyingPartyID: String
  package let isBackupEligible: Bool
  package var isBackedUp: Bool
  package var signCount: UInt32

  package init(
    id: [UInt8], publicKey: [UInt8], userHandle: [UInt8], aaguid: [UInt8], relyingPartyID: String,
    isBackupEligible: Bool, isBackedUp: Bool, signCount: UInt32
  ) {
    (self.id, self.publicKey, self.userHandle) = (id, publicKey, userHandle)
    (self.aaguid, self.relyingPartyID) = (aaguid, relyingPartyID)
    (self.isBackupEligible, self.isBackedUp) = (isBackupEligible, isBackedUp)
    self.signCount = signCount
  }
}

/// How a client reaches an authenticator.
///
/// - Source: the registry of WebAuthn transports of IANA, and WebAuthn section 5.8.4.
package enum AuthenticatorTransport: String, Sendable, CaseIterable {
  case ble
  case hybrid
  case `internal`
  case nfc
  case smartCard = "smart-card"
  case usb
}

/// A passkey, as options name it.
package struct CredentialDescriptor: Sendable {
  private let id: [UInt8]
  private let transports: [AuthenticatorTransport]

  package init(id: [UInt8], transports: [AuthenticatorTransport]) {
    (self.id, self.transports) = (id, transports)
  }

  var json: JSON {
    var members: [(String, JSON)] = [("type", "public-key"), ("id", .string(id.base64URL))]
    if !transports.isEmpty {
      members.append(("transports", .array(transports.map { .string($0.rawValue) })))
    }
    return .object(JSONObject(members))
  }
}
