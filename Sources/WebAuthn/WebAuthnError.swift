/// The reason why a ceremony is refused.
///
/// Each rule is a clause about what the client sent: "its type is another one". It is for the log,
/// and never has a challenge, a credential or a user handle.
package enum WebAuthnError: Error, Equatable {
  /// The credential, as a browser writes it in JSON, breaks a rule.
  case invalidCredential(rule: String)
  /// The client data breaks a rule.
  case invalidClientData(rule: String)
  /// Some CBOR breaks a rule.
  case invalidCBOR(rule: String)
  /// The attestation object breaks a rule.
  case invalidAttestation(rule: String)
  /// The authenticator data breaks a rule.
  case invalidAuthenticatorData(rule: String)
  /// The public key breaks a rule.
  case invalidKey(rule: String)
  /// The signature is not that of the key.
  case invalidSignature
  /// The signature counter is not larger than before, so the credential may have a copy.
  case counterNotIncreased(stored: UInt32, received: UInt32)
  /// The authenticator has not verified the user; all else was right.
  case userVerificationMissing

  /// The rule that was broken, for the log.
  package var rule: String {
    switch self {
    case .invalidCredential(let rule): "of the credential: \(rule)"
    case .invalidClientData(let rule): "of the client data: \(rule)"
    case .invalidCBOR(let rule): "of the CBOR: \(rule)"
    case .invalidAttestation(let rule): "of the attestation object: \(rule)"
    case .invalidAuthenticatorData(let rule): "of the authenticator data: \(rule)"
    case .invalidKey(let rule): "of the public key: \(rule)"
    case .invalidSignature: "the signature is not that of the key"
    case .counterNotIncreased(let stored, let received):
      "the signature counter is \(received) after \(stored)"
    case .userVerificationMissing: "the authenticator has not verified the user"
    }
  }
}
