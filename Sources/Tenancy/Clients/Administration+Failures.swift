package import Runtime

extension Failure {
  package static let unknownClient = Failure("client_unknown", .unauthenticated)
    .titled("The client secret is missing, or is not valid for this app.")
    .remedied(
      "Send Authorization: Bearer with a client secret (ds_client_…) of this app or of "
        + "the operator. dossier client list shows the clients, and whether they are disabled."
    )
  package static let publicClient = Failure("client_public", .conflict)
    .titled("A client of this kind has no secret.")
    .remedied(
      "Create a client of kind web or machine. Native and single-page programs cannot keep a secret."
    )
  package static let clientExists = Failure("client_exists", .conflict)
    .titled("A client of the deployment already has this id.")
    .remedied("Omit the id to get a new one, or change the client that has it.")
  package static let grantExists = Failure("client_grant_exists", .conflict)
    .titled("The client already has a grant for the API.")
    .remedied("Change the scopes of the grant.")
  package static let resourceServerExists = Failure("resource_server_exists", .conflict)
    .titled("The app already has an API with that identifier.")
    .remedied("Choose another identifier.")
  package static let issuerExists = Failure("issuer_exists", .conflict)
    .titled("The app already has an issuer with that name.")
    .remedied("Choose another name.")
  package static let invalidExternalToken = Failure("external_token_invalid", .unauthenticated)
    .titled("The app does not accept this token.")
    .remedied("Compare iss, aud and exp of the token with the app's issuers (dossier issuer list).")
  package static let issuerUnavailable = Failure("issuer_unavailable", .unavailable)
    .titled("The keys of the issuer cannot be fetched.")
    .remedied(retryRemedy)

  /// Returns the error for a token of another issuer that breaks a rule.
  ///
  /// The rule is for the client's developer and the log. It contains no token, no claim and no
  /// other value that a client chose.
  package static func invalidExternalToken(rule: String) -> Failure {
    .invalidExternalToken("The token is not valid because \(rule).")
  }

  /// Returns the error for keys that cannot be fetched; its reason is for the operator's log.
  package static func issuerUnavailable(
    _ issuer: String, _ reason: String, retryAfter time: Duration
  ) -> Failure {
    .issuerUnavailable(retryAfter: time, reason: "issuer \(issuer): \(reason)")
  }
}
