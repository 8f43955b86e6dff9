package import Runtime
import JSON
import WebTokens

extension AccessTokens {
  /// Whether a text has the form of an access token, be it one or not: a JWT has two dots.
  package nonisolated static func isOfForm(_ text: String) -> Bool {
    text.utf8.count { $0 == UInt8(ascii: ".") } == 2
  }

  /// The app that an access token says it is of, for routes that name none; nothing is verified.
  package nonisolated static func app(of token: String) -> AppID? {
    guard token.utf8.count <= tokenLimit else { return nil }
    return SignedToken(token)?.claims["app"]?.string.flatMap { AppID($0) }
  }
}

extension AccessTokens {
  /// Returns the client that a verified access token of OpenID Connect was issued to.
  package nonisolated static func claimedClient(of token: String) -> ClientID? {
    claimedOwner(of: token)?.client
  }

  /// Returns the client that a token of OpenID Connect names, and whether it is of a user's session.
  package nonisolated static func claimedOwner(
    of token: String
  ) -> (client: ClientID, isOfUser: Bool)? {
    guard token.utf8.count <= tokenLimit, let claims = SignedToken(token)?.claims,
      let client = claims["azp"]?.string.flatMap({ ClientID($0) })
    else { return nil }
    return (client, claims["sid"] != nil)
  }
}
