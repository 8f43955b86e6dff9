import FoundationEssentials
import JSON
internal import JWTKit

/// A token of another issuer as it was read: nothing in it is verified.
struct ExternalToken {
  let claims: ExternalClaims
  /// Whom the token is for: one, or a list, which may be empty.
  ///
  /// From our gate: jwt-kit's claim stops the process over an empty list.
  let audiences: [String]
  let algorithm: String?
  /// All claims, as JSON that has passed our gate.
  let members: JSONObject

  /// Reads a token.
  ///
  /// - Throws: `.invalidExternalToken` with the rule that it breaks.
  init(_ token: String) throws(Failure) {
    guard token.utf8.count <= 16_384, let read = SignedToken(token),
      let parts = try? DefaultJWTParser().parse(Data(token.utf8), as: ExternalClaims.self)
    else { throw .invalidExternalToken("it is not a JWT with iss, sub, aud and exp") }
    if let fault = TokenHead.fault(in: read.head) { throw .invalidExternalToken(fault) }
    (claims, algorithm, members) = (parts.payload, parts.header.alg, read.claims)
    let audience = read.claims["aud"] ?? .null
    let listed = audience.array ?? [audience]
    audiences = listed.compactMap(\.string)
    guard audiences.count == listed.count else {
      throw .invalidExternalToken("its aud is neither a string nor a list of strings")
    }
  }

  /// When the issuer last saw the user log in; without `auth_time`, when it issued the token.
  ///
  /// Long ago when the token says neither, and never later than `now`.
  /// - Source: OpenID Connect Core section 2, RFC 7519 section 4.1.6.
  func authenticatedAt(_ now: Int) -> Int {
    guard let seconds = (members["auth_time"] ?? members["iat"])?.number?.double, seconds > 0 else {
      return 0
    }
    return seconds < Double(now) ? Int(seconds) : now
  }
}

/// The claims that every token must have, beside `aud`.
struct ExternalClaims: JWTPayload {
  let iss: String
  let sub: String
  let exp: Int
  let nbf: Int?

  /// Times are checked with a leeway, by the caller.
  func verify(using algorithm: some JWTAlgorithm) {}
}
