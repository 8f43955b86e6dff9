package import Runtime
import JSON

extension ErrorType {
  package static let invalidMailToken = ErrorType("mail_token_invalid", .malformed)
    .titled("The token from the email is wrong, used or expired.")
    .remedied(
      "Request another email. A token works once. It expires after a day, after an hour if it "
        + "resets a password, or after 7 days if it restores an address. Only the tokens of the "
        + "newest 50 emails are valid."
    )
  package static let signInToVerify = ErrorType("sign_in_to_verify", .unauthenticated)
    .titled("The token alone does not verify the address.")
    .remedied(
      "Send the token of the email together with the member password, or with an access token of "
        + "the user. The token of the email stays valid."
    )
  package static let loginMethodDisabled = ErrorType("login_method_disabled", .forbidden)
    .titled("The app does not allow this login method.")
    .remedied("Enable the login method with dossier app set.")
  package static let signUpClosed = ErrorType("sign_up_closed", .forbidden)
    .titled("The app does not allow users to sign up.")
    .remedied("Create the user as an operator, or set sign_up to immediate or verify_first.")
  package static let emailUnverified = ErrorType("email_unverified", .forbidden)
    .titled("The email address must be verified first.")
    .remedied(
      "Ask the user to open the link in the email. POST /v1/email/verify/request sends another."
    )
  package static let emailTaken = ErrorType("email_taken", .conflict)
    .titled("Another user already has this email address.")
    .remedied("Ask the user to sign in, or to choose another address.")
  package static let noEmail = ErrorType("no_email", .conflict)
    .titled("The user has no email address to sign in with.")
    .remedied("Link an address and a password: POST /v1/me/identities.")
  package static let noHostName = ErrorType("app_without_host", .conflict)
    .titled("The app has no host name, so it has no pages.")
    .remedied("Give the app a host name: dossier app host set.")
  package static let userBlocked = ErrorType("user_blocked", .forbidden)
    .titled("The user is blocked.")
    .remedied(
      "An operator can unblock the user with dossier user unblock. Only the hosted pages report a "
        + "block."
    )
  package static let userExists = ErrorType("user_exists", .conflict)
    .titled("Another user already has the id or the email address.")
    .remedied(
      "The member errors names the taken value. Change the existing user, or omit the value."
    )

  package static let accountErrors = [
    userExists, userBlocked,
    invalidMailToken, signInToVerify, loginMethodDisabled,
    signUpClosed, emailUnverified, emailTaken, noEmail, noHostName,
  ]
}

extension Failure {
  /// The token of a mail is malformed, used up, expired or replaced by a newer one.
  package static let invalidMailToken = Failure(.invalidMailToken)
  /// The token of a mail is valid, but comes with neither a session of the user nor the password.
  package static let signInToVerify = Failure(.signInToVerify)
  package static let signUpClosed = Failure(.signUpClosed)
  package static let emailUnverified = Failure(.emailUnverified)
  /// Another user has the email address, or could restore it.
  package static let emailTaken = Failure(.emailTaken, at: "/email")
  package static let noEmail = Failure(.noEmail)
  package static let userBlocked = Failure(.userBlocked)

  /// Returns the error for a login method whose setting is false.
  package static func loginMethodDisabled(_ method: LoginMethod) -> Failure {
    Failure(
      .loginMethodDisabled, "The app's setting \(method.rawValue) is false.",
      members: [("setting", .string(method.rawValue))]
    )
  }

  /// Returns the error for a new user whose members an existing user has; each fault names one.
  package static func userExists(_ faults: [FieldError]) -> Failure {
    Failure(.userExists, faults: faults)
  }
}
