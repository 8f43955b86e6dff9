import EventLoop
package import JSON
package import Runtime

/// The scopes and tokens of the sessions of a wire.
package struct SessionStyle: Sendable {
  /// Claims of an access token beside those that this server adds.
  package typealias Claims =
    @EventLoop @Sendable (RequestContext) async throws(Failure) -> [(String, JSON)]

  /// A name that is unique among all wires, and is stored with each session.
  package let name: String
  package let scopes: Scopes
  let claims: Claims
  let refreshTokens: RefreshTokens
  /// Whether a sign-in keeps the earlier sessions of the user on the device.
  ///
  /// The tabs of a browser may share a device without sharing their tokens.
  package let keepsSessions: Bool
  /// The client of OpenID Connect that gets the tokens; nil for other wires and for the pages.
  package let party: Party?

  /// A client of OpenID Connect that signs users in itself.
  package struct Party: Sendable {
    package let client: ClientID
    /// The resource server of its access tokens; nil for none.
    package let audience: String?
    /// The issuer of its tokens.
    package let issuer: String
    /// Whether the client gets a message when the session ends.
    package let isNotified: Bool
    /// How long the session lasts without a refresh.
    package let lifetime: Duration

    package init(
      client: ClientID, audience: String?, issuer: String, isNotified: Bool, lifetime: Duration
    ) {
      (self.client, self.audience, self.issuer) = (client, audience, issuer)
      (self.isNotified, self.lifetime) = (isNotified, lifetime)
    }
  }

  /// - Parameters:
  ///   - name: the name of the wire, or of one of its kinds of clients.
  ///   - scopes: the scopes of the sessions.
  ///   - refreshTokens: the form of the refresh tokens.
  ///   - keepsSessions: whether a sign-in keeps the earlier sessions of the user on the device.
  ///   - party: the client of OpenID Connect that gets the tokens; nil for none.
  ///   - claims: claims of an access token beside those that this server adds.
  package init(
    _ name: String, scopes: Scopes, refreshTokens: RefreshTokens = .rotated,
    keepsSessions: Bool = false, of party: Party? = nil, claims: @escaping Claims = { _ in [] }
  ) {
    (self.name, self.scopes) = (name, scopes)
    (self.refreshTokens, self.keepsSessions) = (refreshTokens, keepsSessions)
    self.party = party
    self.claims = claims
  }

  /// The style of the REST API.
  package static let native = SessionStyle("native", scopes: .user) {
    (context) async throws(Failure) in
    try await AccountClaim.chosen(context)
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
