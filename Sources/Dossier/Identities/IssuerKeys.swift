internal import Crypto
import FoundationEssentials
import JSON
internal import JWTKit
import Notation

/// What the tokens of an issuer are verified with.
enum IssuerKeys {
  /// By the algorithm: a key verifies what says in its head to be signed as the key is used, or by
  /// any algorithm of the key's type when the set does not say which.
  ///
  /// Each has a collection of its own, as one that was not told a key's algorithm stays with the
  /// first that a token names, though the token is nobody's.
  case sets([String: JWTKeyCollection])
  /// Shared with the issuer.
  case secret([UInt8])

  /// The keys of a set that can verify; others in it, also symmetric ones, are passed over.
  init(set: JSON?) async {
    var sets: [String: JWTKeyCollection] = [:]
    for key in set?["keys"]?.array ?? [] {
      for jwk in Self.usable(key) {
        guard let algorithm = jwk.algorithm?.rawValue else { continue }
        let collection = sets[algorithm] ?? JWTKeyCollection()
        if (try? await collection.add(jwk: jwk)) != nil { sets[algorithm] = collection }
      }
    }
    self = .sets(sets)
  }

  /// Whether a key set has a key that can verify tokens.
  static func canVerify(by set: JSON) async -> Bool {
    guard case .sets(let sets) = await IssuerKeys(set: set) else { return false }
    return !sets.isEmpty
  }

  /// A key as each algorithm uses it that it may be used by.
  private static func usable(_ key: JSON) -> [JWK] {
    let names: [JWK.Algorithm] =
      switch key["kty"]?.string {
      case "RSA": [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
      case "EC": [.es256, .es384, .es512]
      case "OKP": [.eddsa]
      default: []
      }
    guard key["use"]?.string ?? "sig" == "sig",
      let jwk = try? JSONDecoder().decode(JWK.self, from: Data(key.serialized()))
    else { return [] }
    return names.filter { jwk.algorithm == nil || jwk.algorithm == $0 }.map {
      var copy = jwk
      copy.algorithm = $0
      return copy
    }
  }

  /// Whether a token is signed with one of them, by the algorithm that its head says.
  func verify(_ token: String) async -> Bool {
    switch self {
    case .sets(let sets):
      guard let collection = SignedToken(token)?.head["alg"]?.string.flatMap({ sets[$0] }) else {
        return false
      }
      return (try? await collection.verify(token, as: ExternalClaims.self)) != nil
    case .secret(let secret): return Self.verify(token, by: secret)
    }
  }

  /// Not by a collection, which keeps one signer without a key id, and stops the process over a
  /// secret that is too short for its algorithm.
  private static func verify(_ token: String, by secret: [UInt8]) -> Bool {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Data(base64URL: parts[0]),
      let signature = Data(base64URL: parts[2])
    else { return false }
    let signed = Data("\(parts[0]).\(parts[1])".utf8)

    func holds<Hash: HashFunction>(_: Hash.Type) -> Bool {
      secret.count >= Hash.Digest.byteCount
        && HMAC<Hash>.isValidAuthenticationCode(
          signature,
          authenticating: signed,
          using: SymmetricKey(data: secret)
        )
    }

    switch (try? JSON.parse([UInt8](head)))?["alg"]?.string {
    case "HS256": return holds(SHA256.self)
    case "HS384": return holds(SHA384.self)
    case "HS512": return holds(SHA512.self)
    default: return false
    }
  }
}
