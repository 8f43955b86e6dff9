package import Runtime
import EventLoop
package import JSON

/// The scopes and tokens of the sessions of a wire.
package struct SessionStyle: Sendable {
  /// A name that is unique among all wires, and is stored with each session.
  package let name: String
  package let scopes: Scopes
  package let tokens: TokenProfile
  /// Whether a sign-in keeps the earlier sessions of the user on the device.
  ///
  /// The tabs of a browser may share a device without sharing their tokens.
  package let keepsSessions: Bool

  /// - Parameters:
  ///   - name: the name of the wire, or of one of its kinds of clients.
  ///   - scopes: the scopes of the sessions.
  ///   - tokens: the form of the tokens.
  ///   - keepsSessions: whether a sign-in keeps the earlier sessions of the user on the device.
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

  /// The client of OpenID Connect that owns the sessions; no other client can use them.
  package var client: String? {
    if case .openID(let tokens) = tokens { tokens.client } else { nil }
  }

  /// The style of the REST API.
  package static let native = SessionStyle(
    "native",
    scopes: .user,
    tokens: .native { (context) async throws(Failure) in
      try await AccountClaim.chosen(context)
    }
  )
}

/// The signature and the claims of the tokens of a session.
package enum TokenProfile: Sendable {
  /// Claims of a token beside those that this server adds.
  package typealias Claims =
    @EventLoop @Sendable (RequestContext) async throws(Failure) -> [(String, JSON)]

  /// An access token for this server, signed with ES256, with claims of the wire.
  case native(claims: Claims = { _ in [] }, refresh: RefreshTokens = .rotated)
  case openID(OpenIDTokens)

  /// Returns an access token of the session, and an ID token for clients of OpenID Connect.
  @EventLoop func issue(
    _ context: RequestContext
  ) async throws(Failure) -> (access: String, identity: String?) {
    let lifetime = context.app.sessionSettings.accessTokenLifetime
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

/// Whether a refresh token is replaced when it is used.
package enum RefreshTokens: Sendable {
  /// A successor replaces it.
  case rotated
  /// It stays: a JWT with claims of the wire.
  ///
  /// It is valid for `lifetime`, or for the session lifetime of the app if `lifetime` is nil.
  case signed(lifetime: Duration? = nil, claims: @Sendable (Principal) -> JSONObject)
}

/// The tokens of a client of OpenID Connect: an access token and an ID token.
///
/// The ID token identifies the user. Keys for RS256, which have a key set of their own, sign both.
/// - Source: OpenID Connect Core 1.0 section 2; RFC 9068 section 2.
package struct OpenIDTokens: Sendable {
  private let issuer: String
  fileprivate let client: String
  private let audience: [String]
  private let nonce: String?
  private let claims: TokenProfile.Claims

  /// - Parameters:
  ///   - issuer: the `iss` of both, by which the client knows this server.
  ///   - client: the client's id, the audience of the ID token.
  ///   - audience: the audience of the access token.
  ///   - nonce: the value from the client's request, which returns in the ID token; nil for a refresh.
  ///   - claims: claims of the ID token beside the id and the authentication time of the user.
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
