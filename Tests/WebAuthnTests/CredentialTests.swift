import Encoding
import JSON
import TestSupport
import Testing

@testable import WebAuthn

/// The JSON that browsers return, and the options that they get.
@Suite struct CredentialTests {
  private func read(
    _ members: [(String, JSON?)], response: [(String, JSON?)] = []
  ) throws -> (RegistrationResponse, AuthenticationResponse) {
    var authenticator = try TestAuthenticator()
    (authenticator.credentialMembers, authenticator.responseMembers) = (members, response)
    return (
      try RegistrationResponse(authenticator.create([1])),
      try AuthenticationResponse(authenticator.get([1]))
    )
  }

  @Test func `both responses are read, with members that browsers add`() throws {
    let (registration, authentication) = try read(
      [("clientExtensionResults", ["prf": ["enabled": true]]), ("later", 1)],
      response: [("publicKey", "AA"), ("later", .null)])
    #expect(registration.id == authentication.id && registration.id.count == 32)
    #expect(registration.attachment == .platform && authentication.attachment == .platform)
    #expect(authentication.userHandle == Fixtures.userHandle)
    #expect(registration.transports == [.hybrid, .internal])
  }

  @Test(
    arguments: [
      ("cross-platform", .crossPlatform), (.null, nil), (.none, nil), ("other", nil), (7, nil),
    ] as [(JSON?, AuthenticatorAttachment?)])
  func `the attachment is read if it is known`(
    value: JSON?, attachment: AuthenticatorAttachment?
  ) throws {
    let (registration, authentication) = try read([("authenticatorAttachment", value)])
    #expect(registration.attachment == attachment && authentication.attachment == attachment)
  }

  @Test(
    arguments: [
      (.none, []), (.null, []), ([], []), (["usb", "usb", "nfc"], [.nfc, .usb]),
      (["cable", "USB", 7, "smart-card", ""], [.smartCard]),
      (["a", "b", "c", "d", "e", "f", "g", "ble"], [.ble]),
    ] as [(JSON?, [AuthenticatorTransport])])
  func `unknown transports are dropped`(value: JSON?, found: [AuthenticatorTransport]) throws {
    #expect(try read([], response: [("transports", value)]).0.transports == found)
  }

  @Test(
    arguments: ["usb", ["usb": true], ["1", "2", "3", "4", "5", "6", "7", "8", "usb"]] as [JSON])
  func `other transports are refused`(value: JSON) {
    #expect(
      throws: WebAuthnError.invalidCredential(rule: "its transports are no list of at most 8")
    ) { try read([], response: [("transports", value)]) }
  }

  @Test(
    arguments: [
      ("type", .none, "its type is not public-key"),
      ("type", "password", "its type is not public-key"),
      ("response", .none, "it has no response"), ("response", "AA", "it has no response"),
      ("id", .none, "its id is not base64url without padding"),
      ("id", 7, "its id is not base64url without padding"),
      ("id", "AA==", "its id is not base64url without padding"),
      ("id", "+/A", "its id is not base64url without padding"),
      ("id", "A", "its id is not base64url without padding"),
      ("id", "AB", "its id is not base64url without padding"),
      ("id", "", "its id has not 1 to 1023 bytes"),
      ("rawId", .none, "its rawId is not base64url without padding"),
      ("rawId", "", "its rawId has not 1 to 1023 bytes"),
      ("rawId", "AA", "its id and its rawId differ"),
    ] as [(String, JSON?, String)])
  func `a credential that breaks a rule is refused`(
    name: String, value: JSON?, rule: String
  ) throws {
    var authenticator = try TestAuthenticator()
    authenticator.credentialMembers = [(name, value)]
    let error = WebAuthnError.invalidCredential(rule: rule)
    #expect(throws: error) { try RegistrationResponse(authenticator.create([1])) }
    #expect(throws: error) { try AuthenticationResponse(authenticator.get([1])) }
  }

  @Test func `other values are refused`() {
    for value in [JSON.null, [], "AA", 7] {
      #expect(throws: WebAuthnError.invalidCredential(rule: "it is no object")) {
        try RegistrationResponse(value)
      }
      #expect(throws: WebAuthnError.invalidCredential(rule: "it is no object")) {
        try AuthenticationResponse(value)
      }
    }
  }

  @Test(arguments: [
    ("clientDataJSON", 4_096), ("attestationObject", 8_192), ("authenticatorData", 2_048),
    ("signature", 1_024), ("userHandle", 64),
  ])
  func `each part has a greatest length`(name: String, limit: Int) throws {
    func read(_ value: JSON?) throws {
      var authenticator = try TestAuthenticator()
      authenticator.responseMembers = [(name, value)]
      if name == "attestationObject" {
        _ = try RegistrationResponse(authenticator.create([1]))
      } else {
        _ = try AuthenticationResponse(authenticator.get([1]))
      }
    }
    func zeros(_ count: Int) -> JSON { .string([UInt8](repeating: 0, count: count).base64URL) }
    #expect(throws: Never.self) { try read(zeros(limit)) }
    let rule = "its \(name) has not 1 to \(limit) bytes"
    #expect(throws: WebAuthnError.invalidCredential(rule: rule)) { try read(zeros(limit + 1)) }
    #expect(throws: WebAuthnError.invalidCredential(rule: rule)) { try read("") }
    let text = "its \(name) is not base64url without padding"
    #expect(throws: WebAuthnError.invalidCredential(rule: text)) { try read("AA==") }
    #expect(throws: WebAuthnError.invalidCredential(rule: text)) { try read([0]) }
    guard name != "userHandle" else { return }
    #expect(throws: WebAuthnError.invalidCredential(rule: text)) { try read(nil) }
  }

  @Test func `no rule names a credential`() {
    let errors: [WebAuthnError] = [
      .invalidCredential(rule: "a"), .invalidClientData(rule: "a"), .invalidCBOR(rule: "a"),
      .invalidAttestation(rule: "a"), .invalidAuthenticatorData(rule: "a"), .invalidKey(rule: "a"),
      .invalidSignature, .counterNotIncreased(stored: 2, received: 1), .userVerificationMissing,
    ]
    #expect(Set(errors.map(\.rule)).count == errors.count)
    #expect(
      errors.map(\.rule).suffix(3) == [
        "the signature is not that of the key", "the signature counter is 1 after 2",
        "the authenticator has not verified the user",
      ])
  }

  // MARK: Options

  private static let user = CreationOptions.User(
    id: Fixtures.userHandle, name: "ada@example.org", displayName: "Ada")

  @Test func `the options of a new passkey have all that clients need`() throws {
    let options = CreationOptions(
      Fixtures.relyingParty, name: "Example", for: Self.user, challenge: Fixtures.challenge)
    let expected =
      #"{"rp":{"id":"example.org","name":"Example"},"#
      + #""user":{"id":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3","name":"ada@example.org","displayName":"Ada"},"#
      + #""challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8","#
      + #""pubKeyCredParams":[{"type":"public-key","alg":-8},{"type":"public-key","alg":-7},{"type":"public-key","alg":-257}],"#
      + #""timeout":300000,"authenticatorSelection":{"residentKey":"required","requireResidentKey":true,"userVerification":"required"},"#
      + #""attestation":"none","extensions":{"credProps":true}}"#
    #expect(options.json.text == expected)
  }

  @Test func `the options name the passkeys that the user has, and this device`() throws {
    var options = CreationOptions(
      Fixtures.relyingParty, name: "Example", for: Self.user, challenge: Fixtures.challenge)
    options.excluded = [
      CredentialDescriptor(id: [1], transports: [.internal, .hybrid]),
      CredentialDescriptor(id: [2], transports: []),
    ]
    options.isForThisDevice = true
    #expect(
      options.json["excludeCredentials"] == [
        ["type": "public-key", "id": "AQ", "transports": ["internal", "hybrid"]],
        ["type": "public-key", "id": "Ag"],
      ])
    #expect(options.json["authenticatorSelection"]?["authenticatorAttachment"] == "platform")
    #expect(options.json["hints"] == ["client-device"])
  }

  @Test func `the options of a sign-in name passkeys only of a known user`() {
    var options = RequestOptions(Fixtures.relyingParty, challenge: Fixtures.challenge)
    let expected: JSON = [
      "challenge": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "rpId": "example.org",
      "timeout": 300_000, "userVerification": "required",
    ]
    #expect(options.json == expected)
    options.allowed = [CredentialDescriptor(id: [1], transports: [.usb])]
    #expect(
      options.json["allowCredentials"] == [
        ["type": "public-key", "id": "AQ", "transports": ["usb"]]
      ])
  }
}
