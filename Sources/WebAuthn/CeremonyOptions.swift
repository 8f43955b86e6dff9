import Encoding
package import JSON

/// The options of `navigator.credentials.create`.
///
/// - Source: WebAuthn section 5.1, `PublicKeyCredentialCreationOptionsJSON`.
package struct CreationOptions: Sendable {
  /// The user for whom a passkey is made.
  package struct User: Sendable {
    /// The user handle.
    package let id: [UInt8]
    /// A text that distinguishes the accounts of a person, such as the address.
    package let name: String
    package let displayName: String

    package init(id: [UInt8], name: String, displayName: String) {
      (self.id, self.name, self.displayName) = (id, name, displayName)
    }
  }

  private let relyingParty: RelyingParty
  private let relyingPartyName: String
  private let user: User
  private let challenge: [UInt8]
  /// The passkeys that the user has, of which an authenticator shall not make another.
  package var excluded: [CredentialDescriptor] = []
  /// Whether the passkey shall be on this device, not on another one or on a security key.
  package var isForThisDevice = false

  package init(_ relyingParty: RelyingParty, name: String, for user: User, challenge: [UInt8]) {
    (self.relyingParty, relyingPartyName) = (relyingParty, name)
    (self.user, self.challenge) = (user, challenge)
  }

  /// The options, as `PublicKeyCredential.parseCreationOptionsFromJSON` reads them.
  package var json: JSON {
    var selection = JSONObject([
      ("residentKey", "required"), ("requireResidentKey", true), ("userVerification", "required"),
    ])
    if isForThisDevice { selection["authenticatorAttachment"] = "platform" }
    var options = JSONObject([
      ("rp", ["id": .string(relyingParty.id), "name": .string(relyingPartyName)]),
      (
        "user",
        [
          "id": .string(user.id.base64URL), "name": .string(user.name),
          "displayName": .string(user.displayName),
        ]
      ),
      ("challenge", .string(challenge.base64URL)),
      (
        "pubKeyCredParams",
        .array(
          SignatureAlgorithm.allCases.map {
            ["type": "public-key", "alg": .number(JSONNumber($0.rawValue))]
          })
      ),
      ("timeout", .number(JSONNumber(CeremonyTimeout.milliseconds))),
      ("authenticatorSelection", .object(selection)),
      ("attestation", "none"),
      ("extensions", ["credProps": true]),
    ])
    if !excluded.isEmpty { options["excludeCredentials"] = .array(excluded.map(\.json)) }
    if isForThisDevice { options["hints"] = ["client-device"] }
    return .object(options)
  }
}

/// The options of `navigator.credentials.get`.
///
/// - Source: WebAuthn section 5.1, `PublicKeyCredentialRequestOptionsJSON`.
package struct RequestOptions: Sendable {
  private let relyingParty: RelyingParty
  private let challenge: [UInt8]
  /// The passkeys of a user who is known; empty if any passkey may answer.
  ///
  /// For a name that was typed they would reveal whether the user exists.
  package var allowed: [CredentialDescriptor] = []

  package init(_ relyingParty: RelyingParty, challenge: [UInt8]) {
    (self.relyingParty, self.challenge) = (relyingParty, challenge)
  }

  /// The options, as `PublicKeyCredential.parseRequestOptionsFromJSON` reads them.
  package var json: JSON {
    var options = JSONObject([
      ("challenge", .string(challenge.base64URL)),
      ("rpId", .string(relyingParty.id)),
      ("timeout", .number(JSONNumber(CeremonyTimeout.milliseconds))),
      ("userVerification", "required"),
    ])
    if !allowed.isEmpty { options["allowCredentials"] = .array(allowed.map(\.json)) }
    return .object(options)
  }
}

/// How long a browser waits for the user.
///
/// - Source: WebAuthn section 15.1, which recommends 5 to 10 minutes.
private enum CeremonyTimeout {
  static let milliseconds = 300_000
}
