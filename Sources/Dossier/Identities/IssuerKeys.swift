internal import Crypto
import FoundationEssentials
import JSON
internal import JWTKit

/// What the tokens of an issuer are verified with.
enum IssuerKeys {
  case set(JWTKeyCollection)
  /// Shared with the issuer.
  case secret([UInt8])

  /// The keys of a set that can verify; others in it, also symmetric ones, are passed over.
  init(set: JSON?) async {
    let collection = JWTKeyCollection()
    for key in set?["keys"]?.array ?? [] { _ = await Self.add(key, to: collection) }
    self = .set(collection)
  }

  /// Whether a key set has a key that can verify tokens.
  static func canVerify(by set: JSON) async -> Bool {
    for key in set["keys"]?.array ?? [] where await add(key, to: JWTKeyCollection()) { return true }
    return false
  }

  private static func add(_ key: JSON, to collection: JWTKeyCollection) async -> Bool {
    guard key["kty"]?.string != "oct", key["use"]?.string ?? "sig" == "sig",
      let jwk = try? JSONDecoder().decode(JWK.self, from: Data(key.serialized()))
    else { return false }
    return (try? await collection.add(jwk: jwk)) != nil
  }

  /// Whether a token is signed with one of them.
  func verify(_ token: String) async -> Bool {
    switch self {
    case .set(let collection):
      (try? await collection.verify(token, as: ExternalClaims.self)) != nil
    case .secret(let secret): Self.verify(token, by: secret)
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
