package import EventLoop
import IdentitySubjects
package import JSON
package import Runtime
import Sessions
package import Tenancy

/// Introspection and revocation of tokens by clients.
///
/// - Source: RFC 7009; RFC 7662.
@EventLoop package enum Introspection {
  /// Returns the claims of a valid token; nil for any other token.
  ///
  /// - Parameters:
  ///   - token: an access token, or a refresh token of the client.
  ///   - client: the client that asks, which is authenticated.
  ///   - issuer: the issuer that the client asks; it knows only its own tokens.
  ///   - context: the context of the request.
  /// - Returns: the members of the response.
  /// - Throws: `.databaseUnavailable`.
  package static func claims(
    of token: String, for client: Client, at issuer: String, _ context: RequestContext
  ) async throws(Failure) -> JSONObject? {
    guard let claims = try await claims(ofAccessToken: token, at: issuer, context) else {
      return try await self.claims(ofRefreshToken: token, for: client, at: issuer, context)
    }
    // A back end of the owner receives tokens of other clients. A third party has only its own.
    let isOwn = claims["client_id"]?.string?.hasSameBytes(as: client.id.text) == true
    guard isOwn || client.settings.isFirstParty,
      try await isLive(claims, at: issuer, context)
    else { return nil }
    var json = JSONObject()
    json["active"] = true
    json["token_type"] = "Bearer"
    for name in ["scope", "client_id", "sub", "aud", "iss", "exp", "iat", "jti"] {
      json[name] = claims[name]
    }
    return json
  }

  private static func claims(
    ofAccessToken token: String, at issuer: String, _ context: RequestContext
  ) async throws(Failure) -> JSONObject? {
    do throws(Failure) {
      let app = context.app.id
      return try await context.tokens.claims(ofOpenIDToken: token, app: app, issuer: issuer)
    } catch .tokenExpired {
      return nil
    }
  }

  /// Returns whether the client of a token exists, and its session or its grant does.
  private static func isLive(
    _ claims: JSONObject, at issuer: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let app = context.app.id
    guard let id = claims["client_id"]?.string.flatMap({ ClientID($0) }),
      let owner = try await Clients.client(id, of: app, context)
    else { return false }
    if let session = claims["sid"] {
      guard let user = claims.user, let session = session.string.flatMap({ SessionID($0) }) else {
        return false
      }
      return try await ClientSessions.isLive(session, of: user, context)
    }
    guard let audience = claims["aud"]?.string,
      let server = try await ResourceServers.find(audience: audience, at: issuer, of: app, context),
      let granted = try await ClientGrants.scopes(of: owner.id, at: server.id, app: app, context)
    else { return false }
    return [String](scopes: claims["scope"]?.string ?? "").allSatisfy { granted.contains($0) }
  }

  private static func claims(
    ofRefreshToken token: String, for client: Client, at issuer: String, _ context: RequestContext
  ) async throws(Failure) -> JSONObject? {
    guard
      let session = try await ClientSessions.session(ofRefreshToken: token, of: client, context),
      session.issuer.hasSameBytes(as: issuer)
    else { return nil }
    var json = JSONObject()
    json["active"] = true
    json["token_type"] = "refresh_token"
    json["scope"] = .string(session.scopes.joined(separator: " "))
    json["client_id"] = .string(client.id.text)
    json["sub"] = .string(try await client.subject(of: session.user, context))
    return json
  }

  /// Ends the session of a token that belongs to the client.
  ///
  /// Does nothing for an unknown token.
  /// - Returns: false for an access token without a user, which has no session.
  /// - Throws: `.databaseUnavailable`.
  package static func revoke(
    _ token: String, of client: Client, at issuer: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let claims = try await claims(ofAccessToken: token, at: issuer, context) else {
      try await ClientSessions.revoke(refreshToken: token, of: client, at: issuer, context)
      return true
    }
    guard let session = claims["sid"]?.string.flatMap({ SessionID($0) }), let user = claims.user
    else { return false }
    try await ClientSessions.revoke(session, of: user, by: client, at: issuer, context)
    return true
  }
}
