import FoundationEssentials
import JSON
internal import JWTKit

/// A token of another issuer as it was read: nothing in it is verified.
struct ExternalToken {
  let claims: ExternalClaims
  let algorithm: String?
  /// All claims, as JSON that has passed our gate.
  let members: JSONObject

  /// Reads a token.
  ///
  /// - Throws: `.invalidExternalToken` with the rule that it breaks.
  init(_ token: String) throws(Failure) {
    guard token.utf8.count <= 16_384,
      let parts = try? DefaultJWTParser().parse(Data(token.utf8), as: ExternalClaims.self),
      let (head, members) = Self.parts(of: token)
    else { throw .invalidExternalToken("it is not a JWT with iss, sub, aud and exp") }
    if let fault = TokenHead.fault(in: head) { throw .invalidExternalToken(fault) }
    (claims, algorithm, self.members) = (parts.payload, parts.header.alg, members)
  }

  private static func parts(of token: String) -> (head: JSONObject, claims: JSONObject)? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let head = object(parts[0]), let claims = object(parts[1]) else {
      return nil
    }
    return (head, claims)
  }

  private static func object(_ part: Substring) -> JSONObject? {
    Data(base64URL: part).flatMap { (try? JSON.parse([UInt8]($0)))?.object }
  }
}

/// The claims that every token must have.
struct ExternalClaims: JWTPayload {
  let iss: String
  let sub: String
  let aud: AudienceClaim
  let exp: Int
  let nbf: Int?

  /// Times are checked with a leeway, by the caller.
  func verify(using algorithm: some JWTAlgorithm) {}
}
