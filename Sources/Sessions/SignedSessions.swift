package import Runtime
import PasswordHashes
import EventLoop
import Glibc
import JSON
import Encoding
import Postgres
import WebTokens

/// Sessions whose refresh token is a JWT that does not rotate.
///
/// It is valid until it expires or the session ends. The master key signs it, so that it stays valid
/// when the keys of access tokens rotate.
extension Sessions {
  /// Returns an access token of the session of the request, without a new refresh token.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  package static func accessToken(
    as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> String {
    let account = try await AccountClaim.claims(chosen: style.hasAccountClaims, context)
    return try await context.tokens.token(
      of: context.principal, lifetime: context.app.sessionSettings.accessTokenLifetime,
      style.claims(context) + account
    )
  }

  /// Returns the refresh token of a session; nil if those of its style rotate.
  package static func signedRefreshToken(
    as style: SessionStyle, _ context: RequestContext
  ) -> String? {
    guard case .signed(let lifetime, let claims) = style.refreshTokens else { return nil }
    return context.tokens.signedRefreshToken(
      of: context.principal, with: claims(context.principal),
      lifetime: lifetime ?? context.app.sessionSettings.sessionLifetime, context
    )
  }
}

extension AccessTokens {
  /// The encoded header of a token, with its dot.
  private static let head = Array(
    (Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8).base64URL + ".").utf8
  )
  private static let tag = Array("refresh token ".utf8)

  /// Returns a JWT with the claims of the wire and those that this server reads.
  fileprivate func signedRefreshToken(
    of principal: Principal, with claims: [(String, JSON)], lifetime: Duration,
    _ context: RequestContext
  ) -> String {
    var token = Self.head
    let claims = SessionClaims(of: principal, at: time(nil), for: lifetime, claims)
    token.append(base64URL: claims.serialized())
    let mark = context.keys.master.mark(of: Self.tag + token, by: 0)
    token.append(UInt8(ascii: "."))
    token.append(base64URL: mark)
    return String(decoding: token, as: UTF8.self)
  }

  /// Verifies such a token, and returns its principal; the next statement checks the session.
  ///
  /// - Throws: `.tokenInvalid`, `.tokenExpired`.
  package func principal(
    ofSignedRefreshToken token: String, _ context: RequestContext
  ) throws(Failure) -> Principal {
    guard token.utf8.count <= 4_096, let dot = token.utf8.lastIndex(of: UInt8(ascii: ".")),
      token.utf8.starts(with: Self.head),
      let shown = [UInt8](base64URL: token[token.utf8.index(after: dot)...]),
      context.keys.master.number(
        marking: Self.tag + Array(token.utf8[..<dot]), { areSame($0, shown) }
      ) != nil,
      let claims = SignedToken(token)?.claims,
      claims["app"]?.string == context.app.id.text,
      let user = claims["sub"]?.string.flatMap({ UserID($0) }),
      let session = claims["sid"]?.string.flatMap({ SessionID($0) }),
      let device = claims["did"]?.string.flatMap({ DeviceID($0) }),
      let expires = claims["exp"]?.number?.int
    else { throw .tokenInvalid }
    guard expires > time(nil) else { throw .tokenExpired }
    return Principal(user, session, device, in: context.app.id, scopes: .user)
  }

  /// Returns the claim `typ` of a token, without verifying it.
  package nonisolated static func claimedType(of token: String) -> String? {
    guard token.utf8.count <= tokenLimit else { return nil }
    return SignedToken(token)?.claims["typ"]?.string
  }
}

extension Sessions {
  /// Extends a session whose refresh token stays by the session lifetime of the app.
  ///
  /// The session of an anonymous user has no longest duration, since it is the only way to sign in.
  /// - Parameters:
  ///   - style: the style of the session. A session of another style counts as ended.
  ///   - context: the context of the request.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func renew(
    as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) {
    let user = try context.principal.user.orGone(context)
    let renewed = try await context.write(
      SignedSessionQueries.renew, user, context.principal,
      context.app.sessionSettings.sessionLifetime, context.app.sessionSettings.longestSession,
      context.app.sessionSettings.mfa == .required, style.name
    )
    if renewed.isEmpty { throw context.gone }
  }
}

package enum SignedSessionQueries {
  /// The latest end of the session; null for an anonymous user.
  private static let latest: SQL =
    "case when not c.anonymous then \(.sum("s.created_at", "$4::interval")) end"

  /// Returns one row if the session is live and has not reached its longest duration.
  ///
  /// - Parameter 4: that duration; null for no limit. Anonymous users have none.
  /// - Parameter 5: whether the session must have had a second factor, or need none.
  static let renew = Statement<String, UserID, Principal, Duration, Duration?, Bool, String>(
    "signed_sessions.renew",
    """
    update sessions s set refreshed_at = now(),
      expires_at = \(.end(after: "$3::interval", atMost: latest))
    from users c
    where \(.isAuthorized) and s.user_id = $1 and s.session_id = $2 and s.ended_at is null
      and s.style = $6
      and (c.anonymous or $4::interval is null
        or \(.sum("s.created_at", "$4::interval")) > now())
      and meets_mfa($5::boolean, s.amr, s.provider, c.anonymous)
    returning s.session_id
    """)
}
