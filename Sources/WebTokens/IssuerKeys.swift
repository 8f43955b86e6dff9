internal import Crypto
package import JSON

/// The keys that verify the tokens of an issuer.
package enum IssuerKeys {
  case set([IssuerKey])
  /// A secret shared with the issuer.
  case secret([UInt8])

  /// The most keys read from a set, and the most tried for one token.
  ///
  /// Issuers publish fewer keys. Trying 8 takes at most about a millisecond.
  private static let (keyLimit, tryLimit) = (100, 8)

  /// Keeps the keys of a set that can verify, and skips the others, such as symmetric ones.
  package init(set: JSON?) {
    let keys = set?["keys"]?.array ?? []
    self = .set(keys.prefix(Self.keyLimit).compactMap(IssuerKey.init))
  }

  /// Whether a key can verify tokens.
  package var isUsable: Bool {
    if case .set(let keys) = self { !keys.isEmpty } else { true }
  }

  /// Verifies that one of the keys signed a token, by the algorithm in its header.
  ///
  /// If the token names its key, only that key and unnamed keys are tried, otherwise all keys.
  package func verify(_ token: SignedToken) -> Bool {
    switch self {
    case .set(let keys):
      keys.filter { $0.mayHaveSigned(token) }.prefix(Self.tryLimit).contains { $0.hasSigned(token) }
    case .secret(let secret): Self.isSigned(token, by: secret)
    }
  }

  private static func isSigned(_ token: SignedToken, by secret: [UInt8]) -> Bool {
    // A secret must be at least as long as the hash: RFC 7518 section 3.2.
    func holds<Hash: HashFunction>(_: Hash.Type) -> Bool {
      secret.count >= Hash.Digest.byteCount
        && HMAC<Hash>.isValidAuthenticationCode(
          token.signature, authenticating: token.signed, using: SymmetricKey(data: secret)
        )
    }

    switch token.algorithm {
    case "HS256": return holds(SHA256.self)
    case "HS384": return holds(SHA384.self)
    case "HS512": return holds(SHA512.self)
    default: return false
    }
  }
}
