extension CredentialRecord {
  /// The lengths that a user handle may have in bytes.
  package static let userHandleLengths = 1...64

  /// Verifies a passkey that another server has stored.
  ///
  /// - Throws: the rule that it breaks.
  package func verify() throws(WebAuthnError) {
    guard AttestedCredential.idLengths.contains(id.count) else {
      throw .invalidCredential(rule: "its id has not 1 to 1023 bytes")
    }
    guard Self.userHandleLengths.contains(userHandle.count) else {
      throw .invalidCredential(rule: "its user handle has not 1 to 64 bytes")
    }
    guard aaguid.count == 16 else {
      throw .invalidCredential(rule: "its AAGUID has not 16 bytes")
    }
    guard isBackupEligible || !isBackedUp else {
      throw .invalidCredential(rule: "it is backed up, but not eligible for that")
    }
    _ = try CredentialKey(publicKey)
  }
}
