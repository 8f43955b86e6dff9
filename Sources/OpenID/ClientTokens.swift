package import EventLoop
import JSON
import Postgres
import RateLimiting
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
  ///   - audience: the audience that the client expects; nil for that of the session.
  ///   - client: the client, which is authenticated.
  ///   - provider: this server as the client knows it.
  ///   - context: the context of the request.
  /// - Returns: the tokens, with a new refresh token.
  /// - Throws: `.invalidRefreshToken`, `.refreshOfBlockedUser`, `.refreshOfDeletedUser`,
  ///   `.unknownScopes`, `.scopeNotGranted`, `.audienceNotGranted`, `.tooManyAttempts`, `.overloaded`,
  ///   `.databaseUnavailable`.
  package static func refresh(
    _ text: String, _ scopes: [String]?, for audience: String?, by client: Client,
    at provider: Provider, _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    guard var session = try await ClientSessions.session(of: text, context),
      session.client == client.id
    else { throw try await refusal(of: text, context) }
    // A refusal must not use the token up.
    guard session.issuer.hasSameBytes(as: provider.issuer) else { throw .invalidRefreshToken }
    let server = try await TokenIssue.audience(of: session, context)
    try provider.require(audience, toBe: session.audience)
    let requested = RequestedScopes(scopes ?? [], at: server)
    try requested.check(for: client, at: server, of: provider.issuer, context)
    context.note(
      withheld: requested.granted.filter { !session.scopes.has(scope: $0) }, from: client)
    let granted = try session.granting(scopes)
    do throws(Failure) {
      let rotated = try await Sessions.rotate(
        text, of: ClientSession.style, client: client.id.text,
        for: client.settings.refreshTokenLifetime, context
      )
      session.generation = rotated.live.generation
    } catch .invalidRefreshToken {
      throw try await refusal(of: text, context)
    }
    return try await TokenIssue.tokens(of: session, granted, for: client, at: provider, context)
  }

  /// Returns why a refresh token is refused; only a client that had a real one learns about its user.
  private static func refusal(
    of text: String, _ context: RequestContext
  ) async throws(Failure) -> Failure {
    guard let token = Credential(.refreshToken, text, context.keys.master) else {
      return .invalidRefreshToken
    }
    let user = token.owner(as: UserID.self)
    guard let isBlocked = try await context.first(ClientTokenQueries.isBlocked, user) else {
      return .refreshOfDeletedUser
    }
    return isBlocked ? .refreshOfBlockedUser : .invalidRefreshToken
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
  /// - Throws: `.audienceNotGranted`, `.clientScopesNotGranted`, `.overloaded`, `.databaseUnavailable`.
  package static func token(
    for audience: String, _ scopes: [String]?, by client: Client, at provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    let app = context.app.id
    guard
      let server = try await ResourceServers.find(
        audience: audience, at: provider.issuer, of: app, context
      ),
      let grant = try await ClientGrants.scopes(of: client.id, at: server.id, app: app, context)
    else { throw .audienceNotGranted(audience: audience) }
    let all = grant.text.split(separator: " ").map(String.init)
    let granted = scopes ?? all
    let missing = granted.filter { !all.has(scope: $0) }
    context.note(withheld: missing, from: client)
    guard missing.isEmpty else { throw .scopesNotGranted(missing) }
    return try await TokenIssue.token(of: client, at: server, granted, by: provider, context)
  }
}

package enum ClientTokenQueries {
  /// Returns no row if the user was deleted.
  static let isBlocked = Statement<Bool, UserID>(
    "client_tokens.is_blocked", "select blocked_at is not null from users where user_id = $1"
  )
}

/// The signed assertions by which clients authenticate in place of their secret.
@EventLoop package enum ClientAssertions {
  /// How many assertions of a client are accepted in `window`; each leaves a row for a while.
  private nonisolated static let most = 36_000
  private nonisolated static let window = Duration.seconds(360)

  /// Returns whether an assertion proves that its sender is a client, and uses it up.
  ///
  /// A used id is a rate limit of one attempt, so all workers count it together, and maintenance
  /// deletes it. Only tokens with a right signature are counted.
  /// - Parameters:
  ///   - text: the assertion.
  ///   - client: the client.
  ///   - issuer: the issuer that the assertion must be for.
  ///   - context: the context of the request.
  /// - Returns: false for a wrong assertion, and for one whose id was used before.
  /// - Throws: `.tooManyAttempts` if the client has sent too many, `.databaseUnavailable`.
  /// - Source: RFC 7523 section 3, item 7.
  package static func accept(
    _ text: String, of client: Client, for issuer: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let assertion = client.assertion(text, for: issuer) else { return false }
    let all = RateLimit.anywhere("assertions", client.id.text, burst: most, in: window, context)
    let once = RateLimit(
      "assertion", of: [client.id.text, assertion.id], burst: 1, in: assertion.memory,
      isReported: false, context.keys.master
    )
    if try await RateLimitSet([all, once], context).spendIfLeft(isReported: false) { return true }
    try await RateLimitSet([all], context).requireLeft()
    return false
  }
}
