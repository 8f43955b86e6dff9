import JSON
package import EventLoop
package import Runtime
import Sessions
package import Tenancy

/// The grants at the token endpoint beside the exchange of a code.
@EventLoop package enum ClientTokens {
  /// Exchanges a refresh token.
  ///
  /// - Parameters:
  ///   - text: the token.
  ///   - scopes: the scopes of the new access token, of those of the session; nil for all.
  ///   - client: the client, which is authenticated.
  ///   - provider: this server as the client knows it.
  ///   - context: the context of the request.
  /// - Returns: the tokens, with a new refresh token.
  /// - Throws: `.invalidRefreshToken`, `.scopeNotGranted`, `.overloaded`, `.databaseUnavailable`.
  package static func refresh(
    _ text: String,
    _ scopes: [String]?,
    by client: Client,
    at provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    // A refusal must not use the token up.
    if let before = try await ClientSessions.session(of: text, context), before.client == client.id
    {
      _ = try before.granting(scopes)
      _ = try await TokenIssue.audience(of: before, context)
    }
    let (user, live) = try await Sessions.rotate(
      text,
      of: ClientSession.style,
      client: client.id.text,
      for: client.settings.refreshTokenLifetime,
      context
    )
    guard let session = try await ClientSessions.find(live.session, of: user, context) else {
      throw .invalidRefreshToken
    }
    let granted = try session.granting(scopes)
    return try await TokenIssue.tokens(of: session, granted, for: client, at: provider, context)
  }

  /// Makes an access token of a client that acts for no user.
  ///
  /// - Parameters:
  ///   - audience: the identifier of the resource server.
  ///   - scopes: the scopes, of those of the client's grant; nil for all.
  ///   - client: the client, which is authenticated.
  ///   - provider: this server as the client knows it.
  ///   - context: the context of the request.
  /// - Returns: the token.
  /// - Throws: `.audienceNotGranted`, `.scopeNotGranted`, `.overloaded`, `.databaseUnavailable`.
  package static func token(
    for audience: String,
    _ scopes: [String]?,
    by client: Client,
    at provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    let app = context.app.id
    guard let server = try await ResourceServers.find(audience, of: app, context),
      let grant = try await ClientGrants.scopes(of: client.id, at: server.id, app: app, context)
    else { throw .audienceNotGranted }
    let all = grant.text.split(separator: " ").map(String.init)
    let granted = scopes ?? all
    for scope in granted where !all.has(scope: scope) {
      throw .scopeNotGranted(scope)
    }
    return try await TokenIssue.token(of: client, at: server, granted, by: provider, context)
  }
}
