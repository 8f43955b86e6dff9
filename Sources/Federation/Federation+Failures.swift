import JSON
package import Runtime

extension Failure {
  package static let unknownConnection = Failure("connection_not_found", .notFound)
    .titled("The app has no enabled connection with this name.")
    .remedied("GET /v1/connections/public lists the connections.")
  package static let redirectStateInvalid = Failure("redirect_state_invalid", .malformed)
    .titled("This response belongs to no sign-in that has begun here.")
    .remedied("Begin the sign-in again, in the same browser. It may take an hour at most.")
  package static let connectionFailed = Failure("connection_failed", .malformed)
    .titled("The sign-in at the other service did not work.")
    .remedied("Begin the sign-in again. The log has the reason under the request id.")
  package static let connectionUnavailable = Failure("connection_unavailable", .unavailable)
    .titled("The other service cannot be reached, or refuses this app.")
    .remedied(retryRemedy)
  package static let identityNotAllowed = Failure("identity_not_allowed", .forbidden)
    .titled("The account at the other service may not sign in to this app.")
    .remedied("Use an account of an allowed domain or tenant.")
  package static let logoutTokenInvalid = Failure("logout_token_invalid", .malformed)
    .titled("This is no valid logout token of the service.")
    .remedied("The log has the broken rule under the request id.")
  package static let freshSignInUnproved = Failure("fresh_sign_in_unproved", .forbidden)
    .titled("The other service did not confirm that the user has just signed in there.")
    .remedied("Authenticate in another way, such as by a password or a mailed code.")
  package static let accountExists = Failure("account_exists", .conflict)
    .titled("Another account has the address of the account at the other service.")
    .remedied(
      "Sign in to that account in another way. Then link the identity: POST /v1/me/identities with "
        + "provider pending, and the flow of this error. Without a flow, the connection links no "
        + "accounts by their addresses.")

  package static let connectionInUse = Failure("connection_in_use", .conflict)
    .titled("Some users can sign in only by this connection.")
    .remedied(
      "Disable it with enabled=false, or delete it with force=true (dossier connection delete --force). "
        + "Its users stay, and can sign in again by a new connection to the same service.")
  package static let pendingIdentityInvalid = Failure("pending_identity_invalid", .forbidden)
    .titled("The flow belongs to no account that waits for this user, or has expired.")
    .remedied("Sign in at the other service again, and then as the user who has its address.")

  /// Why an account at another service may not sign in, beside its domain and tenant.
  package enum IdentityRefusal: String {
    case signUpClosed = "sign_up_closed"
    case addressTaken = "address_taken"
  }

  package static func identityNotAllowed(because refusal: IdentityRefusal) -> Failure {
    .identityNotAllowed(members: [("reason", .string(refusal.rawValue))])
  }

  package var refusal: IdentityRefusal? {
    self["reason"]?.string.flatMap(IdentityRefusal.init(rawValue:))
  }
}
