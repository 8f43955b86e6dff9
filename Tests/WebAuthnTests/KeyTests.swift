import Crypto
import Encoding
import JSON
import TestSupport
import Testing

@testable import WebAuthn

@Suite struct KeyTests {
  private static let x = [UInt8](repeating: 1, count: 32)
  /// A number of so many bits, the highest and the lowest of which are set.
  private static func number(bits: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (bits + 7) / 8)
    bytes[0] = 1 << UInt8((bits - 1) % 8)
    bytes[bytes.count - 1] |= 1
    return bytes
  }

  /// Returns the key of an authenticator; a change to nil removes a member.
  private static func key(
    _ algorithm: SignatureAlgorithm, _ changes: [CBORMap.Key: CBOR?] = [:]
  ) throws -> [UInt8] {
    let map = try #require(TestAuthenticator(algorithm).coseKey.map)
    var entries = map.entries.filter { changes[$0.key] == nil }
    entries += changes.compactMap { key, value in value.map { CBORMap.Entry(key, $0) } }
    return CBOR.map(CBORMap(entries)).encoded
  }

  @Test(arguments: SignatureAlgorithm.allCases)
  func `a key of each algorithm is read, in any order`(algorithm: SignatureAlgorithm) throws {
    #expect(try CredentialKey(Self.key(algorithm)).algorithm == algorithm)
    // The changes come last.
    let kind = try #require(TestAuthenticator(algorithm).coseKey.map?[1])
    #expect(try CredentialKey(Self.key(algorithm, [1: kind])).algorithm == algorithm)
  }

  @Test(
    arguments: [
      (.es256, [3: .none], "its alg is not supported"),
      (.es256, [3: .integer(-35)], "its alg is not supported"),
      (.es256, [3: .integer(-9)], "its alg is not supported"),
      (.es256, [3: .text(ByteString("ES256"))], "its alg is not supported"),
      (.rs256, [3: .integer(-37)], "its alg is not supported"),
      (.es256, [3: .integer(-8)], "its kty does not fit its alg"),
      (.es256, [3: .integer(-257)], "its kty does not fit its alg"),
      (.edDSA, [3: .integer(-7)], "its kty does not fit its alg"),
      (.rs256, [3: .integer(-7)], "its kty does not fit its alg"),
      (.es256, [1: .integer(1)], "its kty does not fit its alg"),
      (.edDSA, [1: .integer(2)], "its kty does not fit its alg"),
      (.es256, [1: .none], "its kty does not fit its alg"),
      // P-384, secp256k1 and X25519.
      (.es256, [-1: .integer(2)], "its crv does not fit its alg"),
      (.es256, [-1: .integer(8)], "its crv does not fit its alg"),
      (.es256, [-1: .none], "its crv does not fit its alg"),
      (.edDSA, [-1: .integer(4)], "its crv does not fit its alg"),
      (.edDSA, [-1: .integer(1)], "its crv does not fit its alg"),
      (.es256, [-3: .none], "it has not the members of its kty"),
      (.es256, [2: .bytes([1])], "it has not the members of its kty"),
      (.es256, [-4: .bytes(x)], "it has not the members of its kty"),
      (.edDSA, [-3: .bytes(x)], "it has not the members of its kty"),
      (.rs256, [-3: .bytes(x)], "it has not the members of its kty"),
      (.es256, [-2: .bytes(x + [0])], "a coordinate has not 32 bytes"),
      (.es256, [-3: .bytes([])], "a coordinate has not 32 bytes"),
      // A compressed point.
      (.es256, [-3: .bool(true)], "a coordinate has not 32 bytes"),
      (.edDSA, [-2: .bytes([])], "a coordinate has not 32 bytes"),
      (.edDSA, [-2: .null], "a coordinate has not 32 bytes"),
      // Off the curve, the origin, and a coordinate above the prime.
      (.es256, [-2: .bytes(x), -3: .bytes(x)], "it is not a point of its curve"),
      (
        .es256,
        [
          -2: .bytes([UInt8](repeating: 0, count: 32)),
          -3: .bytes([UInt8](repeating: 0, count: 32)),
        ], "it is not a point of its curve"
      ),
      (
        .es256, [-2: .bytes([UInt8](repeating: 255, count: 32))], "it is not a point of its curve"
      ),
      (.rs256, [-1: .bytes(number(bits: 1_024))], "its n has not 2048 to 4096 bits"),
      (.rs256, [-1: .bytes(number(bits: 2_047))], "its n has not 2048 to 4096 bits"),
      (.rs256, [-1: .bytes(number(bits: 4_097))], "its n has not 2048 to 4096 bits"),
      (.rs256, [-1: .bytes(number(bits: 8_192))], "its n has not 2048 to 4096 bits"),
      (
        .rs256, [-1: .bytes([0] + number(bits: 2_048))],
        "its n or e is not a number without leading zeros"
      ),
      (.rs256, [-2: .bytes([])], "its n or e is not a number without leading zeros"),
      (.rs256, [-2: .bytes([0, 3])], "its n or e is not a number without leading zeros"),
      (.rs256, [-2: .integer(3)], "its n or e is not a number without leading zeros"),
      (.rs256, [-2: .bytes([1])], "its e is not an odd number above 1"),
      (.rs256, [-2: .bytes([2])], "its e is not an odd number above 1"),
      (.rs256, [-2: .bytes([1, 0, 0])], "its e is not an odd number above 1"),
      // An exponent of 256 bits, which would take long, and an even modulus.
      (.rs256, [-2: .bytes(x)], "it is not an RSA key"),
      (.rs256, [-1: .bytes(number(bits: 2_048).dropLast() + [2])], "it is not an RSA key"),
    ] as [(SignatureAlgorithm, [CBORMap.Key: CBOR?], String)])
  func `a key that breaks a rule is refused`(
    algorithm: SignatureAlgorithm, changes: [CBORMap.Key: CBOR?], rule: String
  ) throws {
    let key = try Self.key(algorithm, changes)
    #expect(throws: WebAuthnError.invalidKey(rule: rule)) { try CredentialKey(key) }
  }

  @Test(arguments: [2_048, 2_049, 3_072, 4_096])
  func `RSA keys have 2048 to 4096 bits`(bits: Int) throws {
    let key = try Self.key(.rs256, [-1: .bytes(Self.number(bits: bits)), -2: .bytes([3])])
    #expect(try CredentialKey(key).algorithm == .rs256)
  }

  @Test func `other bytes are refused`() {
    #expect(throws: WebAuthnError.invalidKey(rule: "it is not a map")) {
      try CredentialKey([0x80])
    }
    #expect(throws: WebAuthnError.invalidCBOR(rule: "bytes follow its value")) {
      try CredentialKey(Self.key(.es256) + [0])
    }
    #expect(throws: WebAuthnError.invalidCBOR(rule: "it has a key twice")) {
      try CredentialKey([0xa2, 3, 0x26, 3, 0x26])
    }
  }
}
