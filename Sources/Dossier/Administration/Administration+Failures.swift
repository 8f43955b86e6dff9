extension ErrorType {
  package static let unknownClient = ErrorType("client_unknown", .unauthenticated)
    .titled("The client key is missing, or is not valid for this app.")
    .remedied(
      "Send Authorization: Bearer with a client key (ds_client_…) of this app or of the "
        + "operator. dossier client list shows the clients, and whether they are disabled."
    )
  package static let issuerExists = ErrorType("issuer_exists", .conflict)
    .titled("The app already has an issuer with that name.")
    .remedied("Choose another name.")
  package static let userExists = ErrorType("user_exists", .conflict)
    .titled("Another user already has the id or the email address.")
    .remedied("Change the existing user, or omit the value that errors names.")

  package static let administrationErrors = [unknownClient, issuerExists, userExists]
}

extension Failure {
  package static let unknownClient = Failure(.unknownClient)
  static let issuerExists = Failure(.issuerExists)

  /// Returns the error for a new user whose members an existing user has; each fault names one.
  static func userExists(_ faults: [Fault]) -> Failure { Failure(.userExists, faults: faults) }
}
