import Crypto
import JSON

/// A sign-in by a passkey, as the server began it.
///
/// - Source: WebAuthn section 7.2.
package struct AuthenticationCeremony: Sendable {
  private let relyingParty: RelyingParty
  private let challenge: [UInt8]
  private let isUserKnown: Bool

  /// - Parameters:
  ///   - relyingParty: the party of the options.
  ///   - challenge: the challenge of the options.
  ///   - isUserKnown: whether the server knew the user before, and named their passkeys.
  package init(_ relyingParty: RelyingParty, challenge: [UInt8], isUserKnown: Bool) {
    (self.relyingParty, self.challenge) = (relyingParty, challenge)
    self.isUserKnown = isUserKnown
  }

  /// Verifies a response.
  ///
  /// The caller ensures that the ceremony has not expired and is used once, and that the record is
  /// that of the user, if the user was known.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - record: the stored passkey with the id of the response.
  /// - Returns: the record with its new state, to store.
  /// - Throws: the rule that the response breaks; `.userVerificationMissing` only if it is the
  ///   sole one.
  package func verify(
    _ response: AuthenticationResponse, against record: CredentialRecord
  ) throws(WebAuthnError) -> CredentialRecord {
    try ClientData.verify(response.clientData, .assertion, challenge: challenge, relyingParty)
    guard response.id == record.id else {
      throw .invalidCredential(rule: "its id is that of another passkey")
    }
    guard response.userHandle.map({ $0 == record.userHandle }) ?? isUserKnown else {
      throw .invalidCredential(rule: "its userHandle is not that of the passkey")
    }
    let data = try AuthenticatorData(response.authenticatorData[...])
    try data.verify(for: relyingParty)
    guard record.relyingPartyID.hasSameBytes(as: relyingParty.id) else {
      throw .invalidAuthenticatorData(rule: "its RP ID is not that of the passkey")
    }
    guard data.credential == nil else {
      throw .invalidAuthenticatorData(rule: "it has a new credential")
    }
    guard data.isBackupEligible == record.isBackupEligible else {
      throw .invalidAuthenticatorData(rule: "its backup eligibility has changed")
    }
    let signed = response.authenticatorData + SHA256.hash(data: response.clientData)
    guard try CredentialKey(record.publicKey).isValidSignature(response.signature, for: signed)
    else { throw .invalidSignature }
    try verifyCounter(of: data, record)
    guard data.isUserVerified else { throw .userVerificationMissing }
    var stored = record
    (stored.isBackedUp, stored.signCount) = (data.isBackedUp, data.signCount)
    return stored
  }

  /// Passkeys on several devices have no common counter, so theirs is ignored.
  private func verifyCounter(
    of data: AuthenticatorData, _ record: CredentialRecord
  ) throws(WebAuthnError) {
    guard !data.isBackupEligible, data.signCount != 0 || record.signCount != 0 else { return }
    guard data.signCount > record.signCount else {
      throw .counterNotIncreased(stored: record.signCount, received: data.signCount)
    }
  }
}
