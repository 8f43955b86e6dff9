import Encoding
package import Runtime

extension ErrorType {
  package static let authorizationExpired = ErrorType("authorization_expired", .notFound)
    .titled("This sign-in has expired, has ended, or was started in another browser.")
    .remedied("Start the sign-in again, in the app.")
  package static let invalidCodeOfClient = ErrorType("invalid_authorization_code", .invalid)
    .titled("The authorization code is not valid.")
    .remedied(
      "Start again at /authorize. A code expires after one minute, and works once. Only the same "
        + "exchange may be repeated, for 30 seconds."
    )
  package static let otherRedirect = ErrorType("other_redirect_uri", .invalid)
    .titled("The redirect_uri is not that of the /authorize request.")
    .remedied("Send the redirect_uri of the /authorize request with the code.")
  package static let invalidVerifier = ErrorType("invalid_verifier", .invalid)
    .titled("The code verifier does not belong to the authorization code.")
    .remedied("Send the code_verifier of the code_challenge in the /authorize request.")
  package static let refreshOfBlockedUser = ErrorType("refresh_of_blocked_user", .forbidden)
    .titled("The user of the refresh token is blocked.")
    .remedied("Sign the user out. An operator can unblock the user.")
  package static let refreshOfDeletedUser = ErrorType("refresh_of_deleted_user", .forbidden)
    .titled("The user of the refresh token has been deleted.")
    .remedied("Sign the user out.")
  package static let scopeNotGranted = ErrorType("scope_not_granted", .invalid)
    .titled("The client has not been granted a scope.")
    .remedied("Request only scopes that the user or the operator has granted.")
  package static let audienceNotGranted = ErrorType("audience_not_granted", .forbidden)
    .titled("The client has no grant for this resource server.")
    .remedied("Ask the operator for one: dossier client grant.")
  package static let clientScopesNotGranted = ErrorType("client_scopes_not_granted", .forbidden)
    .titled("The client has no grant for some of the scopes.")
    .remedied("Ask the operator for them: dossier client grant.")
}

extension Failure {
  package static var authorizationExpired: Failure { Failure(.authorizationExpired) }
  package static var invalidCodeOfClient: Failure { Failure(.invalidCodeOfClient) }
  package static var otherRedirect: Failure { Failure(.otherRedirect) }
  package static var invalidVerifier: Failure { Failure(.invalidVerifier) }
  /// The error for a request with a challenge whose code comes without a verifier.
  static var missingVerifier: Failure {
    Failure(
      .invalidVerifier, "The /authorize request had a code_challenge: send its code_verifier."
    )
  }
  /// The error for a verifier without a challenge.
  static var needlessVerifier: Failure {
    Failure(
      .invalidVerifier,
      "The /authorize request had no code_challenge: send one, or no code_verifier."
    )
  }
  static var refreshOfBlockedUser: Failure { Failure(.refreshOfBlockedUser) }
  static var refreshOfDeletedUser: Failure { Failure(.refreshOfDeletedUser) }

  static func audienceNotGranted(_ audience: String) -> Failure {
    let hint = audience.utf8.last == UInt8(ascii: "/") ? "" : " Is a slash missing?"
    return Failure(
      .audienceNotGranted,
      "The client has no grant for the audience \(audience.excerpt(200)).\(hint)"
    )
  }

  static func scopesNotGranted(_ scopes: [String]) -> Failure {
    let names = scopes.joined(separator: ", ").excerpt(400)
    return Failure(.clientScopesNotGranted, "Client has not been granted scopes: \(names)")
  }

  package static func scopeNotGranted(_ scope: String) -> Failure {
    Failure(.scopeNotGranted, "The client has not been granted the scope \(scope.excerpt(200)).")
  }
}
