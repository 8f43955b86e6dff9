/// The reason why a sign-in at an issuer, or the set-up of one, cannot go on.
///
/// Each rule is a clause about what the issuer sent: "its nonce is another one". It names members
/// and limits, and never a code, a token or a claim of a person.
package enum OpenIDClientError: Error, Equatable {
  /// The operator's settings do not suffice, or contradict each other.
  case invalidSettings(rule: String)
  /// The client secret cannot be computed.
  case invalidClientSecret(rule: String)
  /// The discovery document breaks a rule.
  case invalidMetadata(rule: String)
  /// The parameters of the callback break a rule.
  case invalidCallback(rule: String)
  /// The code or the access token of an app, or what it has sent with it, breaks a rule.
  case invalidGrant(rule: String)
  /// The issuer answered with an error code.
  ///
  /// - Parameters:
  ///   - code: the code, such as `access_denied` and `invalid_client`.
  ///   - description: the first bytes of the issuer's explanation, for the log only.
  case refused(code: String, description: String?)
  /// The answer of the token endpoint breaks a rule.
  case invalidTokenResponse(rule: String)
  /// The ID token breaks a rule.
  case invalidIDToken(rule: String)
  /// The token about a sign-out breaks a rule.
  case invalidLogoutToken(rule: String)
  /// The answer of the userinfo endpoint breaks a rule.
  case invalidUserinfo(rule: String)
  /// The user is of another tenant than the connection allows.
  case tenantNotAllowed
  /// The user is of another domain than the connection allows.
  case domainNotAllowed

  /// The rule that was broken, for the log.
  package var rule: String {
    switch self {
    case .invalidSettings(let rule), .invalidClientSecret(let rule), .invalidMetadata(let rule),
      .invalidCallback(let rule), .invalidGrant(let rule), .invalidTokenResponse(let rule),
      .invalidIDToken(let rule), .invalidLogoutToken(let rule), .invalidUserinfo(let rule):
      rule
    case .refused(let code, let description):
      description.map { "the issuer answered \(code): \($0)" } ?? "the issuer answered \(code)"
    case .tenantNotAllowed: "the user's tenant is not one that the connection allows"
    case .domainNotAllowed: "the user's domain is not one that the connection allows"
    }
  }
}
