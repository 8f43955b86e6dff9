/// The registration of a passkey, as the server began it.
///
/// - Source: WebAuthn section 7.1.
package struct RegistrationCeremony: Sendable {
  private let relyingParty: RelyingParty
  private let challenge: [UInt8]
  private let userHandle: [UInt8]

  /// - Parameters:
  ///   - relyingParty: the party of the options.
  ///   - challenge: the challenge of the options.
  ///   - userHandle: the user's id in the options.
  package init(_ relyingParty: RelyingParty, challenge: [UInt8], userHandle: [UInt8]) {
    (self.relyingParty, self.challenge) = (relyingParty, challenge)
    self.userHandle = userHandle
  }

  /// Verifies a response.
  ///
  /// The caller ensures that the ceremony has not expired and is used once, and that no user has
  /// the credential id.
  ///
  /// - Returns: the record to store.
  /// - Throws: the rule that the response breaks; `.userVerificationMissing` only if it is the
  ///   sole one.
  package func verify(_ response: RegistrationResponse) throws(WebAuthnError) -> CredentialRecord {
    try ClientData.verify(response.clientData, .creation, challenge: challenge, relyingParty)
    let data = try AuthenticatorData(try Self.authenticatorData(in: response.attestationObject))
    try data.verify(for: relyingParty)
    guard let credential = data.credential else {
      throw .invalidAuthenticatorData(rule: "it has no credential")
    }
    guard credential.id == response.id else {
      throw .invalidAuthenticatorData(rule: "its credential id is another one")
    }
    // All algorithms that can be read were offered.
    _ = try CredentialKey(credential.publicKey)
    guard data.isUserVerified else { throw .userVerificationMissing }
    return CredentialRecord(
      id: credential.id, publicKey: credential.publicKey, userHandle: userHandle,
      aaguid: credential.aaguid, relyingPartyID: relyingParty.id,
      isBackupEligible: data.isBackupEligible,
      isBackedUp: data.isBackedUp, signCount: data.signCount)
  }

  /// Returns the authenticator data of an attestation object, and ignores the statement.
  private static func authenticatorData(
    in object: [UInt8]
  ) throws(WebAuthnError) -> ArraySlice<UInt8> {
    guard let map = try CBOR.parse(object[...]).map else {
      throw .invalidAttestation(rule: "it is not a map")
    }
    guard map["fmt"]?.text != nil else { throw .invalidAttestation(rule: "its fmt is no text") }
    guard let data = map["authData"]?.bytes else {
      throw .invalidAttestation(rule: "its authData are no bytes")
    }
    return data
  }
}
