import Encoding
import JSON
import TestSupport
import Testing

@testable import WebAuthn

@Suite struct RegistrationTests {
  private func expect(
    _ error: WebAuthnError, _ change: (inout TestAuthenticator) -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var authenticator = try TestAuthenticator()
    change(&authenticator)
    #expect(throws: error, sourceLocation: sourceLocation) {
      try Fixtures.register(authenticator)
    }
  }

  @Test(arguments: SignatureAlgorithm.allCases)
  func `a passkey of each algorithm is registered`(algorithm: SignatureAlgorithm) throws {
    var authenticator = try TestAuthenticator(algorithm)
    authenticator.signCount = 0x0102_0304
    let record = try Fixtures.register(authenticator)
    #expect(record.id == authenticator.credentialID && record.signCount == 0x0102_0304)
    #expect(record.publicKey == authenticator.coseKey.encoded)
    #expect(record.userHandle == Fixtures.userHandle && record.relyingPartyID == "example.org")
    #expect(record.aaguid == [UInt8](repeating: 1, count: 16))
    #expect(!record.isBackupEligible && !record.isBackedUp)
  }

  @Test(arguments: [(UInt8(0), false, false), (0x08, true, false), (0x18, true, true)])
  func `the state of the backup is read`(flags: UInt8, isEligible: Bool, isBackedUp: Bool) throws {
    var authenticator = try TestAuthenticator()
    authenticator.flags |= flags
    let record = try Fixtures.register(authenticator)
    #expect(record.isBackupEligible == isEligible && record.isBackedUp == isBackedUp)
  }

  @Test func `a passkey that is backed up must be eligible`() throws {
    try expect(.invalidAuthenticatorData(rule: "it is backed up, but not eligible for that")) {
      $0.flags |= 0x10
    }
  }

  @Test func `the reserved bits are ignored`() throws {
    var authenticator = try TestAuthenticator()
    authenticator.flags |= 0x22
    #expect(try Fixtures.register(authenticator).id == authenticator.credentialID)
  }

  @Test(arguments: ["example.com", "EXAMPLE.ORG", "login.example.org", "https://example.org", ""])
  func `the RP ID of another party is refused`(id: String) throws {
    try expect(.invalidAuthenticatorData(rule: "its RP ID is another one")) {
      $0.relyingPartyID = id
    }
  }

  @Test func `the user must be present`() throws {
    try expect(.invalidAuthenticatorData(rule: "the user was not present")) { $0.flags = 0x04 }
    // Presence is judged before verification.
    try expect(.invalidAuthenticatorData(rule: "the user was not present")) { $0.flags = 0 }
  }

  @Test func `a missing verification of the user is reported last`() throws {
    try expect(.userVerificationMissing) { $0.flags = 0x01 }
    try expect(.invalidKey(rule: "it is not a map")) {
      ($0.flags, $0.publicKey) = (0x01, .integer(1))
    }
    try expect(.invalidAuthenticatorData(rule: "its RP ID is another one")) {
      ($0.flags, $0.relyingPartyID) = (0x01, "other.example")
    }
    try expect(.invalidClientData(rule: "its origin is not accepted")) {
      ($0.flags, $0.origin) = (0x01, "https://other.example")
    }
  }

  @Test(arguments: [1, 16, 64, 255, 256, 1_023])
  func `a credential id has 1 to 1023 bytes`(count: Int) throws {
    var authenticator = try TestAuthenticator()
    authenticator.credentialID = [UInt8](repeating: 9, count: count)
    #expect(try Fixtures.register(authenticator).id.count == count)
  }

  @Test(arguments: [0, 1_024])
  func `other lengths of a credential id are refused`(count: Int) throws {
    try expect(.invalidCredential(rule: "its id has not 1 to 1023 bytes")) {
      $0.credentialID = [UInt8](repeating: 9, count: count)
    }
    // The same in authenticator data alone.
    let id = JSON.string([9].base64URL)
    try expect(.invalidAuthenticatorData(rule: "its credential id has not 1 to 1023 bytes")) {
      $0.credentialID = [UInt8](repeating: 9, count: count)
      $0.credentialMembers = [("id", id), ("rawId", id)]
    }
  }

  @Test func `the credential id must be that of the JSON`() throws {
    let id = JSON.string([UInt8](repeating: 8, count: 32).base64URL)
    try expect(.invalidAuthenticatorData(rule: "its credential id is another one")) {
      $0.credentialMembers = [("id", id), ("rawId", id)]
    }
    try expect(.invalidCredential(rule: "its id and its rawId differ")) {
      $0.credentialMembers = [("rawId", id)]
    }
  }

  @Test(
    arguments: [
      .map([1: .integer(2), 3: .integer(-8)]), .map([1: .integer(2), 3: .integer(-35)]),
    ] as [CBOR])
  func `a key that breaks a rule is refused`(key: CBOR) throws {
    var authenticator = try TestAuthenticator()
    authenticator.publicKey = key
    #expect(throws: WebAuthnError.self) { try Fixtures.register(authenticator) }
  }

  // MARK: Bytes of authenticator data

  @Test func `extensions are read and ignored`() throws {
    var authenticator = try TestAuthenticator()
    authenticator.flags |= 0x80
    authenticator.appendix =
      CBOR.map([
        "hmac-secret": .bool(true), "credProtect": .integer(3), "other": .array([.null]),
      ]).encoded
    #expect(try Fixtures.register(authenticator).id == authenticator.credentialID)
  }

  @Test func `extensions are one map`() throws {
    try expect(.invalidAuthenticatorData(rule: "its extensions are not a map")) {
      ($0.flags, $0.appendix) = (0x85, [0x80])
    }
    try expect(.invalidAuthenticatorData(rule: "bytes follow its last part")) {
      ($0.flags, $0.appendix) = (0x85, [0xa0, 0xa0])
    }
    try expect(.invalidCBOR(rule: "it ends within a value")) { $0.flags = 0x85 }
    try expect(.invalidCBOR(rule: "it has a key twice")) {
      ($0.flags, $0.appendix) = (0x85, [0xa2, 0x00, 0x00, 0x00, 0x00])
    }
  }

  @Test func `no bytes follow the last part`() throws {
    try expect(.invalidAuthenticatorData(rule: "bytes follow its last part")) {
      $0.appendix = [0]
    }
    try expect(.invalidAuthenticatorData(rule: "bytes follow its last part")) {
      $0.appendix = [0xa0]
    }
  }

  /// Registers with other authenticator data.
  private func register(_ data: [UInt8], fmt: CBOR = .text(ByteString("none"))) throws {
    try register(
      object: CBOR.map(["fmt": fmt, "attStmt": .map([:]), "authData": .bytes(data)]).encoded)
  }

  /// Registers with another attestation object.
  private func register(object: [UInt8]) throws {
    var authenticator = try TestAuthenticator()
    authenticator.responseMembers = [("attestationObject", .string(object.base64URL))]
    _ = try Fixtures.register(authenticator)
  }

  @Test func `authenticator data that ends early is refused at each byte`() throws {
    let data = try TestAuthenticator().authenticatorData(withCredential: true)
    #expect(throws: Never.self) { try register(data) }
    for count in data.indices {
      #expect(throws: WebAuthnError.self, "\(count)") { try register(Array(data[..<count])) }
    }
    #expect(
      throws: WebAuthnError.invalidAuthenticatorData(rule: "it is shorter than 37 bytes")
    ) { try register(Array(data[..<36])) }
  }

  @Test func `a credential must be there`() throws {
    let data = try TestAuthenticator().authenticatorData(withCredential: false)
    #expect(throws: WebAuthnError.invalidAuthenticatorData(rule: "it has no credential")) {
      try register(data)
    }
    // The flag without the credential.
    var flagged = data
    flagged[32] |= 0x40
    #expect(
      throws: WebAuthnError.invalidAuthenticatorData(rule: "it ends within its credential")
    ) { try register(flagged) }
  }

  @Test func `authenticator data has at most 2048 bytes`() throws {
    func data(_ count: Int) throws -> [UInt8] {
      var authenticator = try TestAuthenticator()
      authenticator.flags |= 0x80
      let length = authenticator.authenticatorData(withCredential: true).count
      authenticator.appendix =
        CBOR.map(["a": .bytes([UInt8](repeating: 0, count: count - length - 6))]).encoded
      return authenticator.authenticatorData(withCredential: true)
    }
    #expect(try data(2_048).count == 2_048)
    #expect(throws: Never.self) { try register(data(2_048)) }
    #expect(
      throws: WebAuthnError.invalidAuthenticatorData(rule: "it is longer than 2048 bytes")
    ) { try register(data(2_049)) }
  }

  // MARK: The attestation object

  @Test func `any statement is ignored`() throws {
    let data = try TestAuthenticator().authenticatorData(withCredential: true)
    let statements: [CBOR] = [
      .map([:]), .map(["alg": .integer(-7), "sig": .bytes([1]), "x5c": .array([.bytes([2])])]),
      .array([.map(["a": .array([])])]), .null,
    ]
    for statement in statements {
      let object = CBOR.map([
        "authData": .bytes(data), "attStmt": statement, "fmt": .text(ByteString("packed")),
        "later": .integer(1),
      ])
      #expect(throws: Never.self) { try register(object: object.encoded) }
    }
  }

  @Test func `an attestation object that breaks a rule is refused`() throws {
    let data = try TestAuthenticator().authenticatorData(withCredential: true)
    let whole = try TestAuthenticator().attestationObject()
    #expect(throws: WebAuthnError.invalidAttestation(rule: "it is not a map")) {
      try register(object: [0x80])
    }
    #expect(throws: WebAuthnError.invalidAttestation(rule: "its fmt is no text")) {
      try register(data, fmt: .bytes([]))
    }
    #expect(throws: WebAuthnError.invalidAttestation(rule: "its authData are no bytes")) {
      try register(object: CBOR.map(["fmt": .text(ByteString("none"))]).encoded)
    }
    #expect(throws: WebAuthnError.invalidCBOR(rule: "bytes follow its value")) {
      try register(object: whole + [0])
    }
    for count in whole.indices.dropFirst() {
      #expect(throws: WebAuthnError.self, "\(count)") {
        try register(object: Array(whole[..<count]))
      }
    }
    // Keys of CTAP, which clients translate.
    #expect(throws: WebAuthnError.invalidAttestation(rule: "its fmt is no text")) {
      try register(object: CBOR.map([1: .text(ByteString("none")), 2: .bytes(data)]).encoded)
    }
  }
}
