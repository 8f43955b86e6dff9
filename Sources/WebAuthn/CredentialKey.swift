import Crypto
import CryptoExtras

/// An algorithm by which passkeys sign, by its number in COSE.
package enum SignatureAlgorithm: Int, Sendable, CaseIterable {
  /// Ed25519.
  case edDSA = -8
  /// ECDSA on P-256, with SHA-256.
  case es256 = -7
  /// RSASSA-PKCS1-v1_5, with SHA-256.
  case rs256 = -257
}

/// The public key of a passkey.
///
/// - Source: RFC 9053 section 7; RFC 8230 section 4; WebAuthn section 5.8.5.
package struct CredentialKey: Sendable {
  package let algorithm: SignatureAlgorithm
  private let kind: Kind

  private enum Kind: Sendable {
    case ed25519(Curve25519.Signing.PublicKey)
    case p256(P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)
  }

  /// The length of an RSA modulus in bits; verification with a longer one would take too long.
  private static let modulusBits = 2_048...4_096

  /// Reads a key in COSE's format.
  ///
  /// It must have the members of its kind, and no others.
  ///
  /// Throws `.invalidCBOR` or `.invalidKey` with the rule that the bytes break.
  package init(_ bytes: [UInt8]) throws(WebAuthnError) {
    guard let map = try CBOR.parse(bytes[...]).map else {
      throw .invalidKey(rule: "it is not a map")
    }
    let algorithm = map[.algorithm]?.integer.flatMap(SignatureAlgorithm.init)
    guard let algorithm else { throw .invalidKey(rule: "its alg is not supported") }
    self.algorithm = algorithm
    switch algorithm {
    case .edDSA: kind = .ed25519(try Self.ed25519(map))
    case .es256: kind = .p256(try Self.p256(map))
    case .rs256: kind = .rsa(try Self.rsa(map))
    }
  }

  private static func ed25519(
    _ map: CBORMap
  ) throws(WebAuthnError) -> Curve25519.Signing.PublicKey {
    try verify(map, kind: 1, curve: 6, members: [.kind, .algorithm, .curve, .x])
    let point = try coordinate(.x, of: map)
    guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: point) else {
      throw .invalidKey(rule: "it is not a point of its curve")
    }
    return key
  }

  private static func p256(_ map: CBORMap) throws(WebAuthnError) -> P256.Signing.PublicKey {
    try verify(map, kind: 2, curve: 1, members: [.kind, .algorithm, .curve, .x, .y])
    // An uncompressed point.
    let point = [4] + (try coordinate(.x, of: map)) + (try coordinate(.y, of: map))
    guard let key = try? P256.Signing.PublicKey(x963Representation: point) else {
      throw .invalidKey(rule: "it is not a point of its curve")
    }
    return key
  }

  private static func rsa(_ map: CBORMap) throws(WebAuthnError) -> _RSA.Signing.PublicKey {
    try verify(map, kind: 3, curve: nil, members: [.kind, .algorithm, .modulus, .exponent])
    guard let modulus = map[.modulus]?.bytes, let exponent = map[.exponent]?.bytes,
      let first = modulus.first, first != 0, let least = exponent.first, least != 0,
      let last = exponent.last
    else {
      throw .invalidKey(rule: "its n or e is not a number without leading zeros")
    }
    guard modulusBits.contains(8 * modulus.count - first.leadingZeroBitCount) else {
      throw .invalidKey(
        rule: "its n has not \(modulusBits.lowerBound) to \(modulusBits.upperBound) bits")
    }
    guard last & 1 == 1, !exponent.elementsEqual([1]) else {
      throw .invalidKey(rule: "its e is not an odd number above 1")
    }
    guard let key = try? _RSA.Signing.PublicKey(n: Array(modulus), e: Array(exponent)) else {
      throw .invalidKey(rule: "it is not an RSA key")
    }
    return key
  }

  /// Verifies that the kind and the curve fit the algorithm, and that the key has only `members`.
  private static func verify(
    _ map: CBORMap, kind: Int, curve: Int?, members: Set<CBORMap.Key>
  ) throws(WebAuthnError) {
    guard map[.kind]?.integer == kind else {
      throw .invalidKey(rule: "its kty does not fit its alg")
    }
    guard curve == nil || map[.curve]?.integer == curve else {
      throw .invalidKey(rule: "its crv does not fit its alg")
    }
    guard Set(map.entries.map(\.key)) == members else {
      throw .invalidKey(rule: "it has not the members of its kty")
    }
  }

  /// Returns a coordinate of 32 bytes.
  private static func coordinate(
    _ key: CBORMap.Key, of map: CBORMap
  ) throws(WebAuthnError) -> [UInt8] {
    guard let bytes = map[key]?.bytes, bytes.count == 32 else {
      throw .invalidKey(rule: "a coordinate has not 32 bytes")
    }
    return Array(bytes)
  }

  /// Returns whether a signature is that of the key.
  ///
  /// A signature of ECDSA is in DER; its `s` may be high.
  func isValidSignature(_ signature: [UInt8], for signed: [UInt8]) -> Bool {
    switch kind {
    case .ed25519(let key): key.isValidSignature(signature, for: signed)
    case .p256(let key):
      (try? P256.Signing.ECDSASignature(derRepresentation: signature))
        .map { key.isValidSignature($0, for: signed) } ?? false
    case .rsa(let key):
      key.isValidSignature(
        _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: signed),
        padding: .insecurePKCS1v1_5)
    }
  }
}

extension CBORMap.Key {
  // The members of a key, by RFC 9052 section 7.1.
  fileprivate static let (kind, algorithm): (Self, Self) = (1, 3)
  // Those of a key on a curve, and those of RSA, which have the same numbers.
  fileprivate static let (curve, x, y): (Self, Self, Self) = (-1, -2, -3)
  fileprivate static let (modulus, exponent): (Self, Self) = (-1, -2)
}
