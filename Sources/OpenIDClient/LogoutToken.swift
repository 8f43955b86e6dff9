import JSON
package import WebTokens

/// A token by which an issuer reports that a user has signed out there.
///
/// - Source: OpenID Connect Back-Channel Logout sections 2.4 and 2.6.
package struct LogoutToken: Sendable {
  /// The issuer as it is in identities.
  package let issuer: String
  /// The user and the session that ended; at least one is present.
  package let (subject, sessionID): (String?, String?)
  /// When it was issued, in seconds since 1970: a repeated token concerns no later session.
  package let issuedAt: Int

  static let event = "http://schemas.openid.net/event/backchannel-logout"

  /// Parses a token, whose signature the caller then verifies.
  ///
  /// - Throws: `.invalidLogoutToken` with the rule that it breaks.
  package static func parse(_ text: String) throws(OpenIDClientError) -> SignedToken {
    guard text.utf8.count <= TokenResponse.tokenLimit, let token = SignedToken(text) else {
      throw .invalidLogoutToken(
        rule: "it is not a JWT of at most \(TokenResponse.tokenLimit) bytes")
    }
    var head = token.head
    if head["typ"]?.string?.lowercased() == "logout+jwt" { head["typ"] = nil }
    if let fault = TokenHead.fault(in: head) ?? IDTokenRules.algorithmFault(of: token) {
      throw .invalidLogoutToken(rule: fault)
    }
    return token
  }

  /// Verifies the claims of a token, whose signature is valid.
  ///
  /// - Parameters:
  ///   - token: the parsed token.
  ///   - provider: the issuer.
  ///   - audiences: the client ids of the connection.
  ///   - now: the time in seconds since 1970.
  /// - Throws: `.invalidLogoutToken` with the rule that it breaks.
  package init(
    _ token: SignedToken, of provider: Provider, audiences: [String], now: Int
  ) throws(OpenIDClientError) {
    let claims = token.claims
    let rules = IDTokenRules(provider, audiences: audiences, nonce: .unused, accessToken: nil)
    do throws(OpenIDClientError) {
      issuer = try rules.issuer(of: claims)
      try rules.verifyAudience(of: claims)
      try rules.verifyTimes(of: claims, now: now)
      issuedAt = min(try rules.time("iat", in: claims) ?? now, now)
    } catch {
      throw .invalidLogoutToken(rule: error.rule)
    }
    guard claims["events"]?[Self.event]?.object != nil else {
      throw .invalidLogoutToken(rule: "its events have no \(Self.event)")
    }
    // Else an ID token would end a session.
    guard claims["nonce"] == nil else { throw .invalidLogoutToken(rule: "it has a nonce") }
    subject = claims["sub"]?.string.flatMap { ProfileText.isSubject($0) ? $0 : nil }
    sessionID = IDTokenRules.sessionID(in: claims)
    guard subject != nil || sessionID != nil else {
      throw .invalidLogoutToken(rule: "it has neither sub nor sid of 1 to 255 bytes")
    }
    guard let id = claims["jti"]?.string, (1...255).contains(id.utf8.count) else {
      throw .invalidLogoutToken(rule: "it has no jti of 1 to 255 bytes")
    }
  }
}
