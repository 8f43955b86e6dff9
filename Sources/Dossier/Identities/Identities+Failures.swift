import JSON

extension ErrorType {
  package static let invalidExternalToken = ErrorType("external_token_invalid", .unauthenticated)
    .titled("The app does not accept this token.")
    .remedied("Compare iss, aud and exp of the token with the app's issuers (dossier issuer list).")
  package static let identityTaken = ErrorType("identity_taken", .conflict)
    .titled("Another user already has this identity.")
    .remedied("Sign in with that identity, or unlink it from the other user first.")
  package static let identityExists = ErrorType("identity_exists", .conflict)
    .titled("The user already has an identity of this kind.")
    .remedied(
      "Unlink the existing identity first, or change the password or the address. If the user "
        + "has only signed in with codes, set a password with POST /v1/password/reset-request."
    )
  package static let emailRestorePending = ErrorType("email_restore_pending", .conflict)
    .titled("The previous email address can still be restored.")
    .remedied(
      "Wait until the time in until. Or restore the address with POST /v1/email/restore and the "
        + "token from its mail, then change it with POST /v1/me/email."
    )
  package static let lastIdentity = ErrorType("last_identity", .conflict)
    .titled("The last login method cannot be removed.")
    .remedied("Link another login method first, or delete the user.")
  package static let tooManyAPIKeys = ErrorType("api_key_limit", .conflict)
    .titled("The user has the maximum number of API keys.")
    .remedied("Delete an API key, or raise the app's api_keys_per_user.")
  package static let issuerUnavailable = ErrorType("issuer_unavailable", .unavailable)
    .titled("The keys of the issuer cannot be fetched.")
    .remedied(retryRemedy)

  package static let identityErrors = [
    invalidExternalToken, identityTaken, identityExists, emailRestorePending, lastIdentity,
    tooManyAPIKeys, issuerUnavailable,
  ]
}

extension Failure {
  static let identityTaken = Failure(.identityTaken)
  /// The user already has an identity of that kind, or an API key with that name.
  static let identityExists = Failure(.identityExists)
  static let lastIdentity = Failure(.lastIdentity)

  /// Returns the error for a token of another issuer that breaks a rule.
  ///
  /// The rule is for the client's developer and the log. It contains no token, no claim and no
  /// other value that a client chose.
  static func invalidExternalToken(_ rule: String) -> Failure {
    Failure(.invalidExternalToken, "The token is not valid because \(rule).")
  }

  /// Returns the error for an address that can be restored until a time.
  static func emailRestorePending(until end: Timestamp) -> Failure {
    Failure(
      .emailRestorePending,
      "The token that was mailed to that address restores it until \(end.text).",
      members: [("until", .string(end.text))]
    )
  }

  static func tooManyAPIKeys(limit: Int) -> Failure { Failure(.tooManyAPIKeys, limit: limit) }

  /// Returns the error for keys that cannot be fetched; its reason is for the operator's log.
  static func issuerUnavailable(
    _ issuer: String,
    _ reason: String,
    retryAfter time: Duration
  ) -> Failure {
    Failure(.issuerUnavailable, retryAfter: time, reason: "issuer \(issuer): \(reason)")
  }
}
