import EventLoop
package import JSON
package import Runtime
package import Records

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
  /// Whether access tokens have the claims of the setting `access_token_claims`.
  let hasAccountClaims: Bool
  /// Whether a sign-in keeps the earlier sessions of the user on the device.
  ///
  /// The tabs of a browser may share a device without sharing their tokens.
  package let keepsSessions: Bool
  /// The client of OpenID Connect that gets the tokens; nil for other wires and for the pages.
  package let party: Party?
  /// How long a session lasts; nil for the setting of the app.
  package let lifetime: Duration?

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
  ///   - hasAccountClaims: whether access tokens have the claims of the setting `access_token_claims`.
  ///   - refreshTokens: the form of the refresh tokens.
  ///   - keepsSessions: whether a sign-in keeps the earlier sessions of the user on the device.
  ///   - party: the client of OpenID Connect that gets the tokens; nil for none.
  ///   - lifetime: how long a session lasts; nil for the setting of the app.
  ///   - claims: claims of an access token beside those that this server adds.
  package init(
    _ name: String, scopes: Scopes, hasAccountClaims: Bool = false,
    refreshTokens: RefreshTokens = .rotated, keepsSessions: Bool = false, of party: Party? = nil,
    lifetime: Duration? = nil,
    claims: @escaping Claims = { _ in [] }
  ) {
    (self.name, self.scopes, self.hasAccountClaims) = (name, scopes, hasAccountClaims)
    (self.refreshTokens, self.keepsSessions) = (refreshTokens, keepsSessions)
    (self.party, self.lifetime) = (party, lifetime ?? party?.lifetime)
    self.claims = claims
  }

  /// The style of the REST API.
  package static let native = SessionStyle("native", scopes: .user, hasAccountClaims: true)
}

/// Whether a refresh token is replaced when it is used.
package enum RefreshTokens: Sendable {
  /// A successor replaces it.
  case rotated
  /// It stays: a JWT with claims of the wire.
  ///
  /// It is valid for `lifetime`, or for the session lifetime of the app if `lifetime` is nil.
  case signed(lifetime: Duration? = nil, claims: @Sendable (Principal) -> [(String, JSON)])
}

/// The settings of sessions and their tokens.
package struct SessionSettings: RecordPart {
  package let mfa: MFA
  /// The name that authenticator apps show; empty for the name of the app.
  let mfaIssuer: String
  package let accessTokenLifetime: Duration
  let accessTokenClaims: Set<AccountClaim>
  /// Whether tokens have the claim `ver`.
  package let tokensHaveVersions: Bool
  /// How long a session lasts after its creation or last refresh.
  package let sessionLifetime: Duration
  /// How long a session lasts, however often it is refreshed; nil for no limit.
  package let longestSession: Duration?
  /// The greatest age of a session's authentication where the API requires a recent one.
  package let proofLifetime: Duration
  package let allowsSwitching: Bool
  package let sessionsPerUser: Int

  package init(_ read: inout RecordReader) {
    mfa = read.choice(
      "mfa", MFA.off, safe: .required,
      "whether users have a second factor: off, optional, or required"
    )
    mfaIssuer = read.text(
      "mfa_issuer",
      .text(
        0...100, "name",
        "This setting must be a name of at most 100 characters without a colon, or empty."
      ) { !$0.contains(":") },
      "",
      "the name that authenticator apps show beside a code; empty for the name of the app"
    )
    accessTokenLifetime = read.duration(
      "access_token_seconds", .seconds, 60...86_400, 1_800,
      "seconds for which an access token is valid"
    )
    accessTokenClaims = read.choices(
      "access_token_claims",
      "claims about the account in access tokens: email, email_verified and anonymous, as they were "
        + "when the token was signed"
    )
    tokensHaveVersions = read.flag(
      "token_versions", false, safe: false,
      "whether access tokens and ID tokens have the claim ver, with the versions of the profile and the "
        + "documents that the user may see"
    )
    let idle = read.duration(
      "session_days", .days, 1...3_650, 60, "days a session lasts after its last refresh"
    )
    let longest = read.duration(
      "session_max_days", .days, 0...36_500, 365,
      "days a session lasts after its sign-in, however often it is refreshed; 0 for no such limit"
    )
    longestSession = longest == .zero ? nil : longest
    sessionLifetime = longest == .zero ? idle : min(idle, longest)
    proofLifetime = read.duration(
      "reauthentication_minutes",
      .minutes,
      1...1_440,
      10,
      "minutes after a sign-in, here or at an issuer, in which a user may change credentials without "
        + "authenticating again"
    )
    let switching = read.choice(
      "switching", Switching.allow, safe: .reauthenticate,
      "whether the users of a device switch without signing in again: allow or reauthenticate"
    )
    allowsSwitching = switching == .allow
    sessionsPerUser = read.number(
      "sessions_per_user", 1...1_000, 100,
      "the most sessions of a user; one more ends the least recently used one, of API keys first"
    )
  }
}

extension App {
  package var sessionSettings: SessionSettings { settings[SessionSettings.self] }
}

extension RequestContext {
  /// The error for a live session whose last authentication is too old or too weak.
  package var reauthenticationRequired: Failure {
    .reauthenticationRequired(maxAge: app.sessionSettings.proofLifetime)
  }
}

/// Whether users have a second factor.
package enum MFA: String, CaseIterable {
  case off
  case optional
  case required
}

/// How users of one device switch.
private enum Switching: String, CaseIterable {
  case allow
  /// Only by signing in again.
  case reauthenticate
}
