import Crypto
import EventLoop
import Glibc
import IdentitySubjects
import JSON
import Encoding
import Permissions
import Runtime
import Sessions
import Tenancy
import Records

/// The tokens that a client gets.
package struct IssuedTokens: Sendable {
  package let accessToken: String
  package let identityToken: String?
  package let refreshToken: String?
  package let lifetime: Duration
  package let scopes: [String]
}

/// Makes the tokens of clients.
///
/// - Source: OpenID Connect Core section 2; RFC 9068 section 2.
@EventLoop enum TokenIssue {
  /// How long an ID token is valid: it tells who has signed in, and grants nothing.
  private nonisolated static let identityLifetime = Duration.seconds(36_000)
  /// How long an access token is valid that is for the user's claims only.
  nonisolated static let usualLifetime = Duration.seconds(86_400)

  /// Makes the tokens of a session, and makes its user the principal of the request.
  ///
  /// - Parameters:
  ///   - session: the session.
  ///   - requested: the scopes of the access token: all of the session, or fewer. An API that
  ///     enforces policies may grant fewer.
  ///   - nonce: the value of the authorization request; nil for a refresh.
  ///   - wanted: the class of authentication of the authorization request; nil for a refresh.
  ///   - client: the client.
  ///   - provider: this server as the client knows it.
  ///   - context: the context of the request.
  /// - Returns: the tokens.
  /// - Throws: `.sessionEnded`, `.overloaded`, `.databaseUnavailable`.
  static func tokens(
    of session: ClientSession, _ requested: [String], nonce: String? = nil,
    wanted: AuthenticationClass? = nil, for client: Client, at provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    let server = try await audience(of: session, context)
    let permissions = try await permissions(of: session.user, at: server, context)
    let scopes = server?.granting(requested, by: permissions) ?? requested
    if scopes.count < requested.count {
      context.note(withheld: requested.filter { !scopes.has(scope: $0) }, from: client)
    }
    context.principal = session.principal(in: context.app.id, scopes)
    let lifetime = server?.tokenLifetime ?? usualLifetime
    let user = try await StandardClaims.user(
      withVersions: context.app.sessionSettings.tokensHaveVersions, context)
    let versions = user.versions?.claim(in: context.app)
    var access = try await StandardClaims.mapped(
      server?.claims ?? .none, of: user, at: provider, context
    )
    var audiences =
      session.audience.map {
        [ProvidedAPI.audience(of: $0, at: provider.issuer)]
      } ?? []
    if session.audience == nil || scopes.contains(.openID) { audiences.append(provider.userInfo) }
    access["aud"] =
      audiences.count == 1 ? .string(audiences[0]) : .array(audiences.map(JSON.string))
    access["did"] = .string(session.device.text)
    access["ver"] = versions
    if let server { add(permissions, to: &access, of: server) }
    begin(&access, for: client, scopes, context)
    let subject = user.subject(for: client)
    complete(&access, for: session, subject, by: provider, lifetime)
    var identity: JSONObject?
    if scopes.contains(.openID) {
      var claims = try await StandardClaims.members(
        of: user, for: scopes, of: client, at: provider, context
      )
      claims["aud"] = .string(client.id.text)
      claims["auth_time"] = .number(JSONNumber(session.authenticatedAt))
      if !session.methods.isEmpty {
        claims["amr"] = .array(session.methods.map(JSON.string))
        let reached = [wanted, .secondFactor].compactMap(\.self)
          .first { $0.isMet(by: session.methods) }
        claims["acr"] = (reached?.rawValue).map(JSON.string)
      }
      claims["nonce"] = nonce.map(JSON.string)
      claims["ver"] = versions
      complete(&claims, for: session, subject, by: provider, identityLifetime)
      identity = claims
    }
    let signed = try await sign(access, identity, context)
    return IssuedTokens(
      accessToken: signed.access, identityToken: signed.identity,
      refreshToken: session.scopes.contains(.offlineAccess) ? session.refreshToken(context) : nil,
      lifetime: lifetime, scopes: scopes
    )
  }

  /// Makes the access token of a client that acts for no user.
  static func token(
    of client: Client, at server: ResourceServer, _ scopes: [String], by provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    var claims = JSONObject()
    let subject = "\(client.id)@clients"
    claims["aud"] = .string(ProvidedAPI.audience(of: server.identifier, at: provider.issuer))
    begin(&claims, for: client, scopes, context)
    add(scopes, to: &claims, of: server)
    claims["gty"] = "client-credentials"
    claims["iss"] = .string(provider.issuer)
    claims["sub"] = .string(subject)
    stamp(&claims, server.tokenLifetime)
    let signed = try await sign(claims, nil, context)
    return IssuedTokens(
      accessToken: signed.access, identityToken: nil, refreshToken: nil,
      lifetime: server.tokenLifetime, scopes: scopes
    )
  }

  /// Returns the resource server of a session; nil for none.
  ///
  /// - Throws: `.invalidRefreshToken` if the operator has deleted it.
  static func audience(
    of session: ClientSession, _ context: RequestContext
  ) async throws(Failure) -> ResourceServer? {
    guard let identifier = session.audience else { return nil }
    let server = try await ResourceServers.find(identifier, of: context.app.id, context)
    // The operator has deleted it, so no program would accept a token.
    guard let server else { throw .invalidRefreshToken }
    return server
  }

  /// Returns the scopes of a resource server that a user may get; empty if it does not ask for them.
  private static func permissions(
    of user: UserID, at server: ResourceServer?, _ context: RequestContext
  ) async throws(Failure) -> [String] {
    guard let server, server.enforcesPolicies || server.tokenDialect == .withPermissions else {
      return []
    }
    return try await UserPermissions.scopes(of: user, at: server, context)
  }

  /// Adds the claim `permissions`, if the dialect of the resource server has it.
  private static func add(
    _ permissions: [String], to claims: inout JSONObject, of server: ResourceServer
  ) {
    guard server.tokenDialect == .withPermissions else { return }
    claims["permissions"] = .array(permissions.map(JSON.string))
  }

  /// Adds the claims that all access tokens have.
  private static func begin(
    _ claims: inout JSONObject, for client: Client, _ scopes: [String], _ context: RequestContext
  ) {
    claims["azp"] = .string(client.id.text)
    claims["client_id"] = .string(client.id.text)
    claims["scope"] = .string(scopes.joined(separator: " "))
    claims["app"] = .string(context.app.id.text)
    claims["jti"] = .string(ID<IssuedTokens>().text)
  }

  private static func complete(
    _ claims: inout JSONObject, for session: ClientSession, _ subject: String,
    by provider: Provider, _ lifetime: Duration
  ) {
    claims["iss"] = .string(provider.issuer)
    claims.setUser(session.user, as: subject)
    claims["sid"] = .string(session.session.text)
    stamp(&claims, lifetime)
  }

  private static func stamp(_ claims: inout JSONObject, _ lifetime: Duration) {
    let now = time(nil)
    claims["iat"] = .number(JSONNumber(now))
    claims["exp"] = .number(JSONNumber(now + lifetime.wholeSeconds))
  }

  /// Signs an access token, and an ID token with its hash.
  private static func sign(
    _ access: JSONObject, _ identity: JSONObject?, _ context: RequestContext
  ) async throws(Failure) -> (access: String, identity: String?) {
    try await withKey(of: context.app.id, context) { key in
      let access = try key.token(access.serialized(), as: .access)
      guard var claims = identity else { return (access, nil) }
      claims["at_hash"] = .string(halfHash(of: access))
      return (access, try key.token(claims.serialized()))
    }
  }

  /// Signs with the current key of an app, on a thread: RSA takes a millisecond.
  private static func withKey<Signed: Sendable>(
    of app: AppID, _ context: RequestContext,
    _ sign: @escaping @Sendable (SigningKey) throws -> Signed
  ) async throws(Failure) -> Signed {
    let key = try await context.keys.signer(for: app, .openID)
    return try await context.calculate(on: .max) { () throws(Failure) in
      do {
        return try sign(key)
      } catch {
        throw .internalError(reason: "a token cannot be signed")
      }
    }
  }

  /// Returns the claim `at_hash`.
  ///
  /// - Source: OpenID Connect Core section 3.1.3.6.
  private nonisolated static func halfHash(of token: String) -> String {
    Array(SHA256.hash(data: Array(token.utf8)).prefix(16)).base64URL
  }

  /// Makes the token that tells a client that a session has ended.
  ///
  /// - Source: OpenID Connect Back-Channel Logout section 2.4.
  static func logoutToken(
    of session: SessionID, _ user: UserID, known subject: String, for client: ClientID,
    by issuer: String, app: AppID, _ context: RequestContext
  ) async throws(Failure) -> String {
    var claims = JSONObject()
    claims["iss"] = .string(issuer)
    claims["aud"] = .string(client.text)
    claims.setUser(user, as: subject)
    claims["sid"] = .string(session.text)
    claims["jti"] = .string(ID<IssuedTokens>().text)
    claims["events"] = ["http://schemas.openid.net/event/backchannel-logout": [:]]
    stamp(&claims, .seconds(120))
    return try await withKey(of: app, context) { [claims] key in
      try key.token(claims.serialized(), as: .logout)
    }
  }
}

extension ResourceServer {
  /// Returns the requested scopes without those of this API that a user may not get.
  fileprivate func granting(_ requested: [String], by permissions: [String]) -> [String] {
    guard record.enforcesPolicies else { return requested }
    return requested.filter { scope in
      permissions.has(scope: scope) || !record.scopes.contains { $0.name.hasSameBytes(as: scope) }
    }
  }
}
