import JSON

extension ErrorType {
  package static let wrongCredentials = ErrorType("wrong_credentials", .unauthenticated)
    .titled("The email address, the password or the key is wrong.")
    .remedied("Ask for the password or the key again. A mail can reset a password.")
  package static let invalidCode = ErrorType("code_invalid", .unauthenticated)
    .titled("The code is wrong, used or expired.")
    .remedied(
      "Ask the user for the code again. A code works once, for 10 minutes and 5 tries. POST "
        + "/v1/login/code/request mails another one."
    )
  package static let invalidMailToken = ErrorType("mail_token_invalid", .malformed)
    .titled("The token from the mail is wrong, used or expired.")
    .remedied(
      "Request another mail. A token works once, and expires after a day, or after an hour if "
        + "it resets a password. A newer token replaces older ones."
    )
  package static let signInToVerify = ErrorType("sign_in_to_verify", .unauthenticated)
    .titled("The token alone does not verify the address.")
    .remedied(
      "Send the token of the mail together with the member password, or with an access token of "
        + "the user. The token of the mail stays valid."
    )
  package static let loginMethodDisabled = ErrorType("login_method_disabled", .forbidden)
    .titled("The app does not allow this login method.")
    .remedied("Enable the login method with dossier app set.")
  package static let signUpClosed = ErrorType("sign_up_closed", .forbidden)
    .titled("The app does not allow users to sign up.")
    .remedied("Create the user as an operator, or set sign_up to immediate or verify_first.")
  package static let emailUnverified = ErrorType("email_unverified", .forbidden)
    .titled("The email address must be verified first.")
    .remedied("Ask the user to use the mail. POST /v1/email/verify/request sends another one.")
  package static let emailTaken = ErrorType("email_taken", .conflict)
    .titled("Another user already has this email address.")
    .remedied("Ask the user to sign in, or to choose another address.")
  package static let noEmail = ErrorType("no_email", .conflict)
    .titled("The user has no email address to sign in with.")
    .remedied("Link an address and a password: POST /v1/me/identities.")

  package static let accountErrors = [
    wrongCredentials, invalidCode, invalidMailToken, signInToVerify, loginMethodDisabled,
    signUpClosed, emailUnverified, emailTaken, noEmail,
  ]
}

extension Failure {
  /// The user does not exist or the password is wrong; the response does not reveal which.
  package static let wrongCredentials = Failure(.wrongCredentials)
  static let invalidCode = Failure(.invalidCode)
  static let invalidMailToken = Failure(.invalidMailToken)
  /// The token of a mail is valid, but comes with neither a session of the user nor the password.
  static let signInToVerify = Failure(.signInToVerify)
  static let signUpClosed = Failure(.signUpClosed)
  static let emailUnverified = Failure(.emailUnverified)
  /// Another user has the email address, or could restore it.
  static let emailTaken = Failure(.emailTaken, at: "/email")
  static let noEmail = Failure(.noEmail)

  /// Returns the error for a login method whose setting is false.
  static func loginMethodDisabled(_ method: LoginMethod) -> Failure {
    Failure(
      .loginMethodDisabled,
      "The app's setting \(method.rawValue) is false.",
      members: [("setting", .string(method.rawValue))]
    )
  }
}
