package import Runtime
import JSON

extension ErrorType {
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
      "Wait until the time that `until` states. Or restore the address with POST /v1/email/restore and the "
        + "token from its email, then change it with POST /v1/me/email."
    )
  package static let lastIdentity = ErrorType("last_identity", .conflict)
    .titled("The last login method cannot be removed.")
    .remedied("Link another login method first, or delete the user.")
  package static let tooManyAPIKeys = ErrorType("api_key_limit", .conflict)
    .titled("The user has the maximum number of API keys.")
    .remedied("Delete an API key, or raise the app's api_keys_per_user.")

  package static let identityErrors = [
    identityTaken, identityExists, emailRestorePending, lastIdentity, tooManyAPIKeys,
  ]
}

extension Failure {
  package static let identityTaken = Failure(.identityTaken)
  /// The user already has an identity of that kind, or an API key with that name.
  package static let identityExists = Failure(.identityExists)
  package static let lastIdentity = Failure(.lastIdentity)

  /// Returns the error for an address that can be restored until a time.
  package static func emailRestorePending(until end: Timestamp) -> Failure {
    Failure(
      .emailRestorePending,
      "The token that was mailed to that address restores it until \(end.text).",
      members: [("until", .string(end.text))]
    )
  }

  package static func tooManyAPIKeys(limit: Int) -> Failure {
    Failure(.tooManyAPIKeys, limit: limit)
  }
}
