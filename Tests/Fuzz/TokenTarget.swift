import Crypto
import FoundationEssentials
import JSON
import Encoding
import WebTokens
@testable import Tenancy

extension FuzzTarget {
  /// Lines: the head and the claims of a token, its signature, and a key set.
  ///
  /// A single line is a whole token.
  static let tokens = FuzzTarget(
    "tokens",
    isJSON: true,
    words: [
      "alg", "typ", "kid", "crit", "b64", "jku", "jwk", "JWT", "HS256", "HS384", "HS512", "RS256",
      "PS256", "ES256", "EdDSA", "none", "iss", "sub", "aud", "exp", "nbf", "iat", "email", "name",
      "keys", "kty", "use", "sig", "RSA", "EC", "OKP", "oct", "crv", "P-256", "Ed25519", "x", "y",
      "n", "e", "k", "AQAB", "https://issuer.example", "one",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input)
    guard lines.count >= 3 else { return read(text(input)) }
    let signed = "\(Array(lines[0]).base64URL).\(Array(lines[1]).base64URL)"
    if (try? JSON.parse(lines[0]))?["alg"] == "HS256" {
      let code = HMAC<SHA256>.authenticationCode(
        for: Data(signed.utf8), using: SymmetricKey(data: secret)
      )
      let token = "\(signed).\(Array(code).base64URL)"
      let isValid = SignedToken(token).map(IssuerKeys.secret(secret).verify)
      expect(isValid ?? true, "a genuine signature is not valid: \(token)")
    }
    for token in ["\(signed).\(Array(lines[2]).base64URL)", "\(signed).\(text(lines[2]))"] {
      read(token)
    }
    guard lines.count > 3, let set = try? JSON.parse(lines[3]) else { return }
    let token = "\(signed).\(Array(lines[2]).base64URL)"
    guard let read = try? ExternalToken(token) else { return }
    let isValid = IssuerKeys(set: set).verify(read.token)
    expect(!isValid, "a forged signature is valid: \(token) \(set.text)")
  }

  private static func read(_ token: String) {
    guard let signed = SignedToken(token) else { return }
    let isValid = IssuerKeys.secret(secret).verify(signed)
    expect(!isValid, "a forged signature is valid: \(token)")
    guard let read = try? ExternalToken(token) else { return }
    expectStorable(.object(read.members), "the claims of a token")
  }

  private static let secret = [UInt8](repeating: 7, count: 64)
}
