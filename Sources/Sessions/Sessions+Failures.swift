package import Runtime
import EventLoop
import JSON

extension ErrorType {
  package static let wrongCredentials = ErrorType("wrong_credentials", .unauthenticated)
    .titled("The email address, the password or the key is wrong.")
    .remedied("Ask for the password or the key again. An email can reset a password.")
  package static let invalidCode = ErrorType("code_invalid", .unauthenticated)
    .titled("The code is wrong, used or expired.")
    .remedied(
      "Ask the user for the code again. A mailed code works once, for 10 minutes and 5 tries. "
        + "After that, request another. A code of an authenticator app works once: wait for "
        + "the next one."
    )
  package static let invalidRefreshToken = ErrorType("refresh_token_invalid", .unauthenticated)
    .titled("The session cannot be refreshed. The user must sign in again.")
    .remedied(
      "Sign in again. The session has ended, or the token was used more than 30 seconds after its "
        + "successor was issued."
    )
  package static let reauthenticationRequired = ErrorType(
    "reauthentication_required", .unauthenticated
  )
  .titled("The user must authenticate again first.")
  .remedied(
    "Sign in again, or ask the user for the password and send it to POST /v1/reauthenticate. "
      + "Then repeat the request. It must arrive within max_age seconds of the sign-in."
  )

  package static let sessionErrors = [
    wrongCredentials, invalidCode, invalidRefreshToken, reauthenticationRequired,
  ]
}

extension Failure {
  /// The user does not exist or the password is wrong; the response does not reveal which.
  package static let wrongCredentials = Failure(.wrongCredentials)
  /// The code is wrong, used up, expired, or was requested by another client.
  package static let invalidCode = Failure(.invalidCode)
  /// The refresh token is malformed, used up, expired, or of an ended session.
  package static let invalidRefreshToken = Failure(.invalidRefreshToken)

  /// Returns the error for a live session whose last authentication is older than `maxAge`.
  package static func reauthenticationRequired(maxAge: Duration) -> Failure {
    Failure(
      .reauthenticationRequired, members: [("max_age", .number(JSONNumber(maxAge.wholeSeconds)))]
    )
  }
}
