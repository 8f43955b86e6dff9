import Encoding
import FoundationEssentials
import JSON
import TestSupport
import Testing

@testable import WebAuthn

/// Vectors of other authors.
@Suite struct VectorTests {
  private static let party = RelyingParty(id: "example.org")

  private static func vectors(_ name: String) throws -> JSON {
    let path = "\(SourceFiles.repository)/Tests/WebAuthnTests/vectors/\(name).json"
    return try JSON.parse(#require(FileManager.default.contents(atPath: path)).map(\.self))
  }

  /// Returns the bytes of a member, in hexadecimal.
  private static func bytes(_ name: String, of vector: JSON?) throws -> [UInt8] {
    try #require(vector?[name]?.string.flatMap { [UInt8](hexadecimal: $0.utf8) })
  }

  private static func text(_ name: String, of vector: JSON?) throws -> JSON {
    .string(try bytes(name, of: vector).base64URL)
  }

  private static func credential(_ id: [UInt8], _ response: JSON) -> JSON {
    let id = JSON.string(id.base64URL)
    return ["id": id, "rawId": id, "type": "public-key", "response": response]
  }

  /// Returns the error of a ceremony; nil if it passes.
  private static func error(_ body: () throws -> Void) throws -> WebAuthnError? {
    do { try body() } catch let error as WebAuthnError { return error }
    return nil
  }

  /// The result of each vector, in both ceremonies.
  ///
  /// Missing user verification is judged last, so it means that the signature was right.
  private static let expected: [String: (WebAuthnError?, WebAuthnError?)] = {
    let frame = WebAuthnError.invalidClientData(rule: "it is from a frame of another origin")
    let unsupported = WebAuthnError.invalidKey(rule: "its alg is not supported")
    let missing = WebAuthnError.userVerificationMissing
    return [
      "ES256 Credential with No Attestation": (missing, missing),
      "ES256 Credential with Self Attestation": (nil, missing),
      #"ES256 Credential with "crossOrigin": true in clientDataJSON"#: (frame, frame),
      #"ES256 Credential with "topOrigin" in clientDataJSON"#: (frame, frame),
      "ES256 Credential with very long credential ID": (missing, nil),
      "Packed Attestation with ES256 Credential": (nil, nil),
      "Packed Attestation with ES384 Credential": (unsupported, unsupported),
      "Packed Attestation with ES512 Credential": (unsupported, unsupported),
      "Packed Attestation with RS256 Credential": (nil, missing),
      "Packed Attestation with Ed25519 Credential": (missing, missing),
      "Packed Attestation with Ed448 Credential": (unsupported, unsupported),
      "TPM Attestation with ES256 Credential": (nil, nil),
      "Android Key Attestation with ES256 Credential": (nil, missing),
      "Apple Anonymous Attestation with ES256 Credential": (missing, missing),
      "FIDO U2F Attestation with ES256 Credential": (missing, missing),
    ]
  }()

  @Test func `the vectors of WebAuthn Level 3 get their results`() throws {
    let vectors = try #require(Self.vectors("level-3").array)
    #expect(vectors.count == Self.expected.count)
    for vector in vectors {
      let name = try #require(vector["name"]?.string)
      let (registration, authentication) = (vector["registration"], vector["authentication"])
      let id = try Self.bytes("credential_id", of: registration)
      let object = try Self.bytes("attestationObject", of: registration)
      let created = Self.credential(
        id,
        [
          "clientDataJSON": try Self.text("clientDataJSON", of: registration),
          "attestationObject": .string(object.base64URL),
        ])
      let ceremony = RegistrationCeremony(
        Self.party, challenge: try Self.bytes("challenge", of: registration), userHandle: [1])
      let first = try Self.error { _ = try ceremony.verify(RegistrationResponse(created)) }
      let expected = try #require(Self.expected[name])
      #expect(first == expected.0, "\(name)")

      let map = try #require(CBOR.parse(object[...]).map)
      let data = try AuthenticatorData(#require(map["authData"]?.bytes))
      let record = CredentialRecord(
        id: id, publicKey: try #require(data.credential).publicKey, userHandle: [1],
        aaguid: [], relyingPartyID: "example.org", isBackupEligible: data.isBackupEligible,
        isBackedUp: data.isBackedUp, signCount: data.signCount)
      let signedIn = Self.credential(
        id,
        [
          "clientDataJSON": try Self.text("clientDataJSON", of: authentication),
          "authenticatorData": try Self.text("authenticatorData", of: authentication),
          "signature": try Self.text("signature", of: authentication),
        ])
      let response = try AuthenticationResponse(signedIn)
      let signIn = AuthenticationCeremony(
        Self.party, challenge: try Self.bytes("challenge", of: authentication), isUserKnown: true)
      let second = try Self.error { _ = try signIn.verify(response, against: record) }
      #expect(second == expected.1, "\(name)")
    }
  }

  /// That authenticator never verifies the user.
  @Test func `a passkey of the authenticator soft-webauthn has valid signatures`() throws {
    let vectors = try Self.vectors("soft-webauthn")
    func challenge(_ name: String) throws -> [UInt8] {
      try #require(vectors[name]?["challenge"]?.string.flatMap { [UInt8](base64URL: $0) })
    }
    let created = try RegistrationResponse(#require(vectors["registration"]?["credential"]))
    let registration = RegistrationCeremony(
      Self.party, challenge: try challenge("registration"), userHandle: Fixtures.userHandle)
    #expect(throws: WebAuthnError.userVerificationMissing) { try registration.verify(created) }

    let map = try #require(CBOR.parse(created.attestationObject[...]).map)
    let data = try AuthenticatorData(#require(map["authData"]?.bytes))
    let record = CredentialRecord(
      id: created.id, publicKey: try #require(data.credential).publicKey,
      userHandle: Fixtures.userHandle, aaguid: [], relyingPartyID: "example.org",
      isBackupEligible: false,
      isBackedUp: false, signCount: data.signCount)
    let response = try AuthenticationResponse(#require(vectors["authentication"]?["credential"]))
    let ceremony = AuthenticationCeremony(
      Self.party, challenge: try challenge("authentication"), isUserKnown: false)
    #expect(throws: WebAuthnError.userVerificationMissing) {
      try ceremony.verify(response, against: record)
    }
  }
}
