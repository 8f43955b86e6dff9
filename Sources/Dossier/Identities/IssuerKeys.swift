internal import Crypto
import JSON

/// What the tokens of an issuer are verified with.
enum IssuerKeys {
  case set([IssuerKey])
  /// Shared with the issuer.
  case secret([UInt8])

  /// How many of a set are looked at, more than issuers show, and how many a token is tried with: that
  /// takes at most about a millisecond.
  private static let (keyLimit, tryLimit) = (100, 8)

  /// The keys of a set that can verify; others in it, also symmetric ones, are passed over.
  init(set: JSON?) {
    let keys = set?["keys"]?.array ?? []
    self = .set(keys.prefix(Self.keyLimit).compactMap(IssuerKey.init))
  }

  /// Whether there is one that can verify tokens.
  var isUsable: Bool {
    if case .set(let keys) = self { !keys.isEmpty } else { true }
  }

  /// Whether a token is signed with one of them, by the algorithm that its head says.
  ///
  /// A token that names its key is verified with that one, and with keys that have no name; one that
  /// names none, with any.
  func verify(_ token: SignedToken) -> Bool {
    switch self {
    case .set(let keys):
      keys.filter { $0.mayHaveSigned(token) }.prefix(Self.tryLimit).contains { $0.hasSigned(token) }
    case .secret(let secret): Self.isSigned(token, by: secret)
    }
  }

  private static func isSigned(_ token: SignedToken, by secret: [UInt8]) -> Bool {
    // A secret shorter than the hash is too short for it: RFC 7518 section 3.2.
    func holds<Hash: HashFunction>(_: Hash.Type) -> Bool {
      secret.count >= Hash.Digest.byteCount
        && HMAC<Hash>.isValidAuthenticationCode(
          token.signature,
          authenticating: token.signed,
          using: SymmetricKey(data: secret)
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
