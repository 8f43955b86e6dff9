import JSON
import TestSupport
import WebAuthn

/// The ceremonies of the tests.
enum Fixtures {
  static let challenge = [UInt8](0..<32)
  static let userHandle = Array("0123456789abcdef01234567".utf8)
  static let relyingParty = RelyingParty(
    id: "example.org", origins: ["https://login.example.org", "android:apk-key-hash:abc"])

  /// Registers the passkey of an authenticator.
  static func register(
    _ authenticator: TestAuthenticator, at party: RelyingParty = relyingParty,
    _ challenge: [UInt8] = challenge
  ) throws -> CredentialRecord {
    let response = try RegistrationResponse(authenticator.create(challenge))
    return try RegistrationCeremony(party, challenge: Self.challenge, userHandle: userHandle)
      .verify(response)
  }

  /// Signs in by the passkey of an authenticator.
  static func signIn(
    _ authenticator: TestAuthenticator, _ record: CredentialRecord,
    at party: RelyingParty = relyingParty, isUserKnown: Bool = false,
    _ challenge: [UInt8] = challenge
  ) throws -> CredentialRecord {
    let response = try AuthenticationResponse(authenticator.get(challenge))
    let ceremony = AuthenticationCeremony(
      party, challenge: Self.challenge, isUserKnown: isUserKnown)
    return try ceremony.verify(response, against: record)
  }
}
