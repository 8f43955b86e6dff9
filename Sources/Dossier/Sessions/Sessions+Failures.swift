import EventLoop
import JSON

extension ErrorType {
  package static let invalidRefreshToken = ErrorType("refresh_token_invalid", .unauthenticated)
    .titled("The session cannot be refreshed. The user must sign in again.")
    .remedied("Sign in again. A refresh token works once, so let only one tab refresh at a time.")
  package static let reauthenticationRequired = ErrorType(
    "reauthentication_required",
    .unauthenticated
  )
  .titled("The user must authenticate again first.")
  .remedied(
    "Sign in again, or ask the user for the password and send it to POST /v1/reauthenticate. "
      + "Then repeat the request within the seconds in max_age."
  )

  package static let sessionErrors = [invalidRefreshToken, reauthenticationRequired]
}

extension Failure {
  package static let invalidRefreshToken = Failure(.invalidRefreshToken)

  /// Returns the error for a live session whose last authentication is older than `maxAge`.
  static func reauthenticationRequired(maxAge: Duration) -> Failure {
    Failure(
      .reauthenticationRequired,
      members: [("max_age", .number(JSONNumber(maxAge.wholeSeconds)))]
    )
  }
}
