import Crypto
import Encoding
import JSON
import TestSupport
import Testing

@testable import WebAuthn

@Suite struct AuthenticationTests {
  /// Registers a passkey, and expects that a sign-in with a change is refused.
  private func expect(
    _ error: WebAuthnError, _ algorithm: SignatureAlgorithm = .es256,
    _ change: (inout TestAuthenticator) -> Void, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var authenticator = try TestAuthenticator(algorithm)
    let record = try Fixtures.register(authenticator)
    change(&authenticator)
    #expect(throws: error, sourceLocation: sourceLocation) {
      try Fixtures.signIn(authenticator, record)
    }
  }

  @Test(arguments: SignatureAlgorithm.allCases)
  func `a passkey of each algorithm signs in`(algorithm: SignatureAlgorithm) throws {
    var authenticator = try TestAuthenticator(algorithm)
    let record = try Fixtures.register(authenticator)
    #expect(try Fixtures.signIn(authenticator, record) == record)
    authenticator.flags |= 0x80
    authenticator.appendix = CBOR.map(["hmac-secret": .bytes([1, 2])]).encoded
    #expect(try Fixtures.signIn(authenticator, record) == record)
  }

  // MARK: Signatures

  @Test(arguments: SignatureAlgorithm.allCases)
  func `an altered signature is refused`(algorithm: SignatureAlgorithm) throws {
    for place in [0, 1, 20, -20, -1] {
      try expect(.invalidSignature, algorithm) {
        $0.changeSignature = { signature in
          var changed = signature
          changed[place < 0 ? changed.count + place : place] ^= 1
          return changed
        }
      }
    }
    try expect(.invalidSignature, algorithm) { $0.changeSignature = { $0 + [0] } }
    try expect(.invalidSignature, algorithm) { $0.changeSignature = { $0.dropLast() } }
    try expect(.invalidSignature, algorithm) { $0.changeSignature = { _ in [0] } }
  }

  @Test(arguments: SignatureAlgorithm.allCases)
  func `a signature of another key is refused`(algorithm: SignatureAlgorithm) throws {
    let authenticator = try TestAuthenticator(algorithm)
    var record = try Fixtures.register(authenticator)
    for other in SignatureAlgorithm.allCases where other != algorithm || algorithm != .rs256 {
      let key = try TestAuthenticator(other).coseKey.encoded
      record = CredentialRecord(
        id: record.id, publicKey: key, userHandle: record.userHandle,
        aaguid: record.aaguid, relyingPartyID: record.relyingPartyID, isBackupEligible: false,
        isBackedUp: false,
        signCount: 0)
      #expect(throws: WebAuthnError.invalidSignature) {
        try Fixtures.signIn(authenticator, record)
      }
    }
  }

  @Test func `data and client data that were not signed are refused`() throws {
    let authenticator = try TestAuthenticator()
    let record = try Fixtures.register(authenticator)
    let signed = try #require(authenticator.get(Fixtures.challenge).object)
    func refused(_ member: String, _ bytes: [UInt8]) throws -> WebAuthnError? {
      var credential = signed
      var response = try #require(credential["response"]?.object)
      response[member] = .string(bytes.base64URL)
      credential["response"] = .object(response)
      let read = try AuthenticationResponse(.object(credential))
      let ceremony = AuthenticationCeremony(
        Fixtures.relyingParty, challenge: Fixtures.challenge, isUserKnown: false)
      do throws(WebAuthnError) {
        _ = try ceremony.verify(read, against: record)
        return nil
      } catch { return error }
    }
    var data = authenticator.authenticatorData(withCredential: false)
    #expect(try refused("authenticatorData", data) == nil)
    data[36] = 1
    #expect(try refused("authenticatorData", data) == .invalidSignature)
    let text = try #require(signed["response"]?["clientDataJSON"]?.string)
    let client = try #require([UInt8](base64URL: text))
    #expect(try refused("clientDataJSON", client) == nil)
    #expect(try refused("clientDataJSON", client + [0x20]) == .invalidSignature)
  }

  @Test func `a raw signature of ECDSA is refused`() throws {
    try expect(.invalidSignature) {
      $0.changeSignature = { signature in
        (try? P256.Signing.ECDSASignature(derRepresentation: signature))
          .map { Array($0.rawRepresentation) } ?? []
      }
    }
  }

  /// The order of P-256.
  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"

  /// Returns the signature with the other `s`, which is valid as well.
  private static func other(_ signature: [UInt8]) throws -> [UInt8] {
    let parts = try P256.Signing.ECDSASignature(derRepresentation: signature).rawRepresentation
    let order = try #require([UInt8](hexadecimal: order.utf8))
    var s = [UInt8](repeating: 0, count: 32)
    var borrow = 0
    for place in (0..<32).reversed() {
      let difference = Int(order[place]) - Int(Array(parts)[32 + place]) - borrow
      (s[place], borrow) = (UInt8(truncatingIfNeeded: difference), difference < 0 ? 1 : 0)
    }
    return Array(
      try P256.Signing.ECDSASignature(rawRepresentation: Array(parts)[..<32] + s)
        .derRepresentation)
  }

  @Test func `both a low and a high s are accepted`() throws {
    var authenticator = try TestAuthenticator()
    let record = try Fixtures.register(authenticator)
    // One of the two is high.
    #expect(try Fixtures.signIn(authenticator, record) == record)
    authenticator.changeSignature = { (try? Self.other($0)) ?? [] }
    #expect(try Fixtures.signIn(authenticator, record) == record)
  }

  // MARK: The user and the passkey

  @Test func `the user handle must be that of the passkey`() throws {
    let rule = "its userHandle is not that of the passkey"
    try expect(.invalidCredential(rule: rule)) { $0.userHandle = Array("other".utf8) }
    try expect(.invalidCredential(rule: rule)) { $0.userHandle = nil }
    try expect(.invalidCredential(rule: rule)) {
      $0.userHandle = Fixtures.userHandle.dropLast()
    }
  }

  @Test func `the user handle may be absent only if the user was known`() throws {
    var authenticator = try TestAuthenticator()
    let record = try Fixtures.register(authenticator)
    authenticator.userHandle = nil
    #expect(try Fixtures.signIn(authenticator, record, isUserKnown: true) == record)
    authenticator.responseMembers = [("userHandle", nil)]
    #expect(try Fixtures.signIn(authenticator, record, isUserKnown: true) == record)
    authenticator.responseMembers = []
    authenticator.userHandle = Array("other".utf8)
    #expect(
      throws: WebAuthnError.invalidCredential(rule: "its userHandle is not that of the passkey")
    ) { try Fixtures.signIn(authenticator, record, isUserKnown: true) }
  }

  @Test func `the id of another passkey is refused`() throws {
    try expect(.invalidCredential(rule: "its id is that of another passkey")) {
      $0.credentialID = [1]
    }
  }

  @Test func `the RP ID of another party is refused`() throws {
    try expect(.invalidAuthenticatorData(rule: "its RP ID is another one")) {
      $0.relyingPartyID = "login.example.org"
    }
  }

  @Test func `a passkey of another RP ID is refused`() throws {
    var authenticator = try TestAuthenticator()
    let record = try Fixtures.register(authenticator)
    authenticator.relyingPartyID = "login.example.org"
    authenticator.origin = "https://login.example.org"
    #expect(
      throws: WebAuthnError.invalidAuthenticatorData(rule: "its RP ID is not that of the passkey")
    ) { try Fixtures.signIn(authenticator, record, at: RelyingParty(id: "login.example.org")) }
  }

  // MARK: Authenticator data

  @Test func `presence, and verification as the last rule, are required`() throws {
    try expect(.invalidAuthenticatorData(rule: "the user was not present")) { $0.flags = 0x04 }
    try expect(.userVerificationMissing) { $0.flags = 0x01 }
    try expect(.invalidSignature) {
      ($0.flags, $0.changeSignature) = (0x01, { $0 + [0] })
    }
    try expect(.invalidCredential(rule: "its userHandle is not that of the passkey")) {
      ($0.flags, $0.userHandle) = (0x01, nil)
    }
  }

  @Test func `a new credential is refused`() throws {
    let rule = "it ends within its credential"
    try expect(.invalidAuthenticatorData(rule: rule)) { $0.flags |= 0x40 }
    let whole = try TestAuthenticator().authenticatorData(withCredential: true)
    try expect(.invalidAuthenticatorData(rule: "it has a new credential")) {
      ($0.flags, $0.appendix) = ($0.flags | 0x40, Array(whole[37...]))
    }
  }

  @Test func `bytes that follow are refused`() throws {
    try expect(.invalidAuthenticatorData(rule: "bytes follow its last part")) {
      $0.appendix = [0]
    }
  }

  @Test(arguments: [(UInt8(0x05), UInt8(0x0d)), (0x05, 0x1d), (0x0d, 0x05), (0x1d, 0x05)])
  func `the eligibility for backups never changes`(before: UInt8, after: UInt8) throws {
    var authenticator = try TestAuthenticator()
    authenticator.flags = before
    let record = try Fixtures.register(authenticator)
    authenticator.flags = after
    #expect(
      throws: WebAuthnError.invalidAuthenticatorData(rule: "its backup eligibility has changed")
    ) { try Fixtures.signIn(authenticator, record) }
  }

  @Test(arguments: [(UInt8(0x0d), UInt8(0x1d)), (0x1d, 0x0d)])
  func `the state of the backup may change`(before: UInt8, after: UInt8) throws {
    var authenticator = try TestAuthenticator()
    authenticator.flags = before
    let record = try Fixtures.register(authenticator)
    authenticator.flags = after
    #expect(try Fixtures.signIn(authenticator, record).isBackedUp == (after == 0x1d))
  }

  @Test(arguments: [(UInt32(0), UInt32(0)), (0, 1), (1, 2), (5, 4_294_967_295)])
  func `a counter that is larger, or always zero, is stored`(before: UInt32, after: UInt32) throws {
    var authenticator = try TestAuthenticator()
    authenticator.signCount = before
    let record = try Fixtures.register(authenticator)
    authenticator.signCount = after
    #expect(try Fixtures.signIn(authenticator, record).signCount == after)
  }

  @Test(arguments: [(UInt32(1), UInt32(1)), (2, 1), (1, 0), (4_294_967_295, 0)])
  func `a counter that is not larger is refused`(before: UInt32, after: UInt32) throws {
    var authenticator = try TestAuthenticator()
    authenticator.signCount = before
    let record = try Fixtures.register(authenticator)
    authenticator.signCount = after
    #expect(throws: WebAuthnError.counterNotIncreased(stored: before, received: after)) {
      try Fixtures.signIn(authenticator, record)
    }
    // A wrong signature says nothing about a copy.
    authenticator.changeSignature = { $0 + [0] }
    #expect(throws: WebAuthnError.invalidSignature) {
      try Fixtures.signIn(authenticator, record)
    }
  }

  @Test func `the counter of a passkey on several devices is ignored`() throws {
    var authenticator = try TestAuthenticator()
    (authenticator.flags, authenticator.signCount) = (0x1d, 9)
    let record = try Fixtures.register(authenticator)
    for count in [UInt32(9), 3, 0] {
      authenticator.signCount = count
      #expect(try Fixtures.signIn(authenticator, record).signCount == count)
    }
  }
}
