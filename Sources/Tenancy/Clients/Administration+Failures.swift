package import Runtime

extension ErrorType {
  package static let unknownClient = ErrorType("client_unknown", .unauthenticated)
    .titled("The client secret is missing, or is not valid for this app.")
    .remedied(
      "Send Authorization: Bearer with a client secret (ds_client_…) of this app or of "
        + "the operator. dossier client list shows the clients, and whether they are disabled."
    )
  package static let publicClient = ErrorType("client_public", .conflict)
    .titled("A client of this kind has no secret.")
    .remedied(
      "Create a client of kind web or machine. Native and single-page programs cannot keep a secret."
    )
  package static let clientExists = ErrorType("client_exists", .conflict)
    .titled("A client of the deployment already has this id.")
    .remedied("Omit the id to get a new one, or change the client that has it.")
  package static let grantExists = ErrorType("client_grant_exists", .conflict)
    .titled("The client already has a grant for the API.")
    .remedied("Change the scopes of the grant.")
  package static let resourceServerExists = ErrorType("resource_server_exists", .conflict)
    .titled("The app already has an API with that identifier.")
    .remedied("Choose another identifier.")
  package static let issuerExists = ErrorType("issuer_exists", .conflict)
    .titled("The app already has an issuer with that name.")
    .remedied("Choose another name.")
  package static let invalidExternalToken = ErrorType("external_token_invalid", .unauthenticated)
    .titled("The app does not accept this token.")
    .remedied("Compare iss, aud and exp of the token with the app's issuers (dossier issuer list).")
  package static let issuerUnavailable = ErrorType("issuer_unavailable", .unavailable)
    .titled("The keys of the issuer cannot be fetched.")
    .remedied(retryRemedy)

  package static let administrationErrors =
    [
      unknownClient, publicClient, clientExists, grantExists, resourceServerExists, issuerExists,
      invalidExternalToken, issuerUnavailable,
    ] + roleErrors
}

extension Failure {
  package static let unknownClient = Failure(.unknownClient)
  package static let publicClient = Failure(.publicClient)
  package static let clientExists = Failure(.clientExists)
  package static let grantExists = Failure(.grantExists)
  package static let resourceServerExists = Failure(.resourceServerExists)
  package static let issuerExists = Failure(.issuerExists)

  /// Returns the error for a token of another issuer that breaks a rule.
  ///
  /// The rule is for the client's developer and the log. It contains no token, no claim and no
  /// other value that a client chose.
  package static func invalidExternalToken(_ rule: String) -> Failure {
    Failure(.invalidExternalToken, "The token is not valid because \(rule).")
  }

  /// Returns the error for keys that cannot be fetched; its reason is for the operator's log.
  package static func issuerUnavailable(
    _ issuer: String, _ reason: String, retryAfter time: Duration
  ) -> Failure {
    Failure(.issuerUnavailable, retryAfter: time, reason: "issuer \(issuer): \(reason)")
  }
}
