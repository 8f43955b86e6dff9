import EventLoop
package import JSON

/// What the sessions of a wire may do, and which tokens they have.
package struct SessionStyle: Sendable {
  /// One of its own among all wires: it is stored with each session.
  package let name: String
  package let scopes: Scopes
  let tokens: TokenProfile
  /// Whether a sign-in keeps the sessions that the user has on the device.
  ///
  /// The tabs of a browser may have one device and not one memory.
  let keepsSessions: Bool

  /// - Parameters:
  ///   - name: of the wire, or of one of its kinds of clients.
  ///   - scopes: what the sessions may do.
  ///   - tokens: which tokens they have.
  ///   - keepsSessions: whether a sign-in keeps the sessions of the user on the device.
  package init(
    _ name: String,
    scopes: Scopes,
    tokens: TokenProfile = .native(),
    keepsSessions: Bool = false
  ) {
    self.name = name
    self.scopes = scopes
    self.tokens = tokens
    self.keepsSessions = keepsSessions
  }

  /// The client of OpenID Connect whose sessions they are: another one can use none of them.
  var client: String? { if case .openID(let tokens) = tokens { tokens.client } else { nil } }

  /// Of the user's own clients.
  package static let native = SessionStyle(
    "native",
    scopes: .user,
    tokens: .native { (context) async throws(Failure) in
      try await AccountClaim.chosen(context)
    }
  )
}

/// What the tokens of a session are signed with, and what they say.
package enum TokenProfile: Sendable {
  /// Members of a token beside those that this server gives it.
  package typealias Claims =
    @EventLoop @Sendable (RequestContext) async throws(Failure) -> [(String, JSON)]

  /// An access token for this server: with ES256, and with claims that the wire adds.
  case native(claims: Claims = { _ in [] }, refresh: RefreshTokens = .rotated)
  case openID(OpenIDTokens)

  /// Makes the access token of a session, and the ID token of those who want one.
  @EventLoop func issue(
    _ context: RequestContext
  ) async throws(Failure) -> (access: String, identity: String?) {
    let lifetime = context.app.settings.accessTokenLifetime
    switch self {
    case .native(let claims, _):
      let claims = try await claims(context)
      let access = try await context.tokens.token(
        .native,
        of: context.principal,
        lifetime: lifetime,
        claims
      )
      return (access, nil)
    case .openID(let tokens):
      return try await tokens.issue(lifetime: lifetime, context)
    }
  }

  var refresh: RefreshTokens {
    if case .native(_, let refresh) = self { refresh } else { .rotated }
  }
}

/// What becomes of a refresh token when it is used.
package enum RefreshTokens: Sendable {
  /// It is exchanged for the next one.
  case rotated
  /// It stays: a JWT that is good for `lifetime`, or for the app's lifetime of sessions where there is
  /// none, with claims that the wire adds.
  case signed(lifetime: Duration? = nil, claims: @Sendable (Principal) -> JSONObject)
}

/// The tokens of a client of OpenID Connect: an access token and an ID token.
///
/// The ID token tells who the user is. Both are signed with RS256, by a key from the set that holds
/// such keys only.
/// - Source: OpenID Connect Core 1.0 section 2; RFC 9068 section 2.
package struct OpenIDTokens: Sendable {
  private let issuer: String
  fileprivate let client: String
  private let audience: [String]
  private let nonce: String?
  private let claims: TokenProfile.Claims

  /// - Parameters:
  ///   - issuer: the `iss` of both, as the client knows this server.
  ///   - client: the client's id, for which the ID token is.
  ///   - audience: for whom the access token is.
  ///   - nonce: what the client sent to know its ID token again; nil for a refresh.
  ///   - claims: what the ID token says of the user, beside the id and the time of its proof.
  package init(
    issuer: String,
    client: String,
    audience: [String],
    nonce: String? = nil,
    claims: @escaping TokenProfile.Claims = { _ in [] }
  ) {
    self.issuer = issuer
    self.client = client
    self.audience = audience
    self.nonce = nonce
    self.claims = claims
  }

  @EventLoop fileprivate func issue(
    lifetime: Duration,
    _ context: RequestContext
  ) async throws(Failure) -> (access: String, identity: String?) {
    let access = try await context.tokens.token(
      .openID,
      of: context.principal,
      by: issuer,
      for: .array(audience.map(JSON.string)),
      lifetime: lifetime,
      [("client_id", .string(client)), ("jti", .string(ID<OpenIDTokens>().text))]
    )
    var claims = try await claims(context)
    if let nonce { claims.append(("nonce", .string(nonce))) }
    if let user = context.principal.user, let session = context.principal.session,
      let time = try await context.first(SessionsQueries.authenticated, user, session)
    {
      claims.append(("auth_time", .number(JSONNumber(time))))
    }
    let identity = try await context.tokens.token(
      .identity,
      of: context.principal,
      by: issuer,
      for: .string(client),
      lifetime: lifetime,
      claims
    )
    return (access, identity)
  }
}
