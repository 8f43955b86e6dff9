import Encoding
import JSON
import TestSupport

@testable import WebAuthn

extension FuzzTarget {
  /// The binary formats of authenticators: CBOR, keys, attestation objects, authenticator data.
  static let webAuthnCBOR = FuzzTarget(
    "webauthn-cbor", bound: MemoryBound(factor: 400, base: 262_144)
  ) { input in
    if let value = try? CBOR.parse(input[...]) {
      expect(value.encoded == input, "another encoding of \(value)")
    }
    if let key = try? CredentialKey(input) {
      let forged = [UInt8](repeating: 1, count: 64)
      expect(!key.isValidSignature(forged, for: [0]), "a forged signature is valid")
    }
    guard let data = try? AuthenticatorData(input[...]) else { return }
    expect(input.count >= 37 && input.count <= 2_048, "a length")
    expect(data.isBackupEligible || !data.isBackedUp, "a backup without eligibility")
    guard let credential = data.credential else { return }
    expect((1...1_023).contains(credential.id.count), "a credential id")
    expect((try? CBOR.parse(credential.publicKey[...])) != nil, "a key that is not CBOR")
  }

  /// Client data, of both ceremonies.
  static let webAuthnClientData = FuzzTarget(
    "webauthn-client-data",
    isJSON: true,
    words: [
      "type", "webauthn.create", "webauthn.get", "challenge", challenge.base64URL, "origin",
      "https://example.org", "http://localhost:8080", "crossOrigin", "topOrigin", "true", "false",
      "\u{feff}", "\\u0000", "\",\"", "null",
    ],
    bound: MemoryBound(factor: 60, base: 262_144)
  ) { input in
    for kind in [ClientData.Kind.creation, .assertion]
    where (try? ClientData.verify(input, kind, challenge: challenge, party)) != nil {
      let text = text(input.starts(with: [0xef, 0xbb, 0xbf]) ? input.dropFirst(3) : input[...])
      let members = (try? JSON.parse(Array(text.utf8)))?.object
      expect(members?["type"] == .string(kind.rawValue), "another type")
      expect(members?["challenge"] == .string(challenge.base64URL), "another challenge")
      expect(members?["origin"] == "https://example.org", "another origin")
      expect(members?["topOrigin"] == nil && members?["crossOrigin"] != true, "a frame")
      expect(input.count <= 4_096, "a length")
    }
  }

  /// Lines: the credential of a registration and that of a sign-in, as browsers write them.
  ///
  /// The client data of the sign-in is right; its signature is of other client data.
  static let webAuthnCredential = FuzzTarget(
    "webauthn-credential", longest: 8_192, isJSON: true,
    words: [
      "id", "rawId", "AQ", "type", "public-key", "response", "clientDataJSON",
      "attestationObject", "authenticatorData", "signature", "userHandle", "transports", "usb",
      "authenticatorAttachment", "platform", "cross-platform", "null", "==", "-_",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input)
    if let json = try? JSON.parse(lines[0]), let response = try? RegistrationResponse(json) {
      expect((1...1_023).contains(response.id.count), "a credential id")
      expect(Set(response.transports).count == response.transports.count, "a transport twice")
      let ceremony = RegistrationCeremony(party, challenge: challenge, userHandle: [1])
      if let record = try? ceremony.verify(response) {
        expect(record.id == response.id && record.userHandle == [1], "another credential")
        expect((try? CredentialKey(record.publicKey)) != nil, "a key that cannot be read")
      }
    }
    guard lines.count > 1, let json = try? JSON.parse(lines[1]),
      let response = try? AuthenticationResponse(json)
    else { return }
    let record = CredentialRecord(
      id: response.id, publicKey: key, userHandle: response.userHandle ?? [1],
      aaguid: [], relyingPartyID: party.id, isBackupEligible: false, isBackedUp: false, signCount: 0
    )
    let ceremony = AuthenticationCeremony(party, challenge: challenge, isUserKnown: true)
    do throws(WebAuthnError) {
      _ = try ceremony.verify(response, against: record)
      fatalError("a forged signature is valid")
    } catch {
      switch error {
      case .userVerificationMissing, .counterNotIncreased: fatalError("a forged signature is valid")
      default: expect(!error.rule.isEmpty && error.rule.utf8.count < 200, "a rule")
      }
    }
  }

  private static let challenge = [UInt8](0..<32)
  private static let party = RelyingParty(id: "example.org")
  /// The key of the seed's authenticator, whose private key is not kept.
  private static let key =
    [UInt8](
      hexadecimal: """
        a50102032620012158202828e1552a272142bac394cd4c4f9229e87ce8eee53da9d4714010b21fc7\
        3f63225820a32cd96004692f0f6cb4c8dbaef872165a919d8203c8b7ab7b5f9e51a4b27ae8
        """.utf8) ?? []
}
