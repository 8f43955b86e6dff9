import JSON

extension ErrorType {
  /// The remedy for a failure of the server that may pass.
  package static let retryRemedy =
    "Repeat the request after the number of seconds in Retry-After. The log has the cause."
}

/// The types of error that several features have.
extension ErrorType {
  package static let invalid = ErrorType("validation_failed", .invalid)
    .titled("The input breaks one or more rules.")
    .remedied(
      "Correct the members that errors lists. Each entry has a JSON Pointer and the broken rule."
    )
  package static let notFound = ErrorType("not_found", .notFound)
    .titled("The requested resource does not exist.")
    .remedied(
      "Check the ids in the path and the body. The resource was deleted, never existed, or "
        + "belongs to another user."
    )
  package static let preconditionFailed = ErrorType("precondition_failed", .precondition)
    .titled("The stored version does not satisfy If-Match or If-None-Match.")
    .remedied("Read the resource again, apply the change to it, and send the new ETag.")
  package static let tokenMissing = ErrorType("token_missing", .unauthenticated)
    .titled("The access token is missing.")
    .remedied("Send Authorization: Bearer with an access token. Every sign-in returns one.")
  package static let tokenInvalid = ErrorType("token_invalid", .unauthenticated)
    .titled("The access token is not valid.")
    .remedied(
      "Refresh, and repeat the request. The token may be truncated, or may belong to another app."
    )
  package static let tokenExpired = ErrorType("token_expired", .unauthenticated)
    .titled("The access token has expired.")
    .remedied("Refresh with POST /v1/token/refresh, and repeat the request.")
  package static let sessionEnded = ErrorType("session_ended", .unauthenticated)
    .titled("The session has ended.")
    .remedied("Sign in again. A sign-out, a new password, a block or its age ended the session.")
  package static let insufficientScope = ErrorType("insufficient_scope", .forbidden)
    .titled("The access token or the client lacks the scope of this route.")
    .remedied("Give the client the scope, or use another client.")
  package static let bodyTooLarge = ErrorType("body_too_large", .tooLarge)
    .titled("The body is too large.")
    .remedied("Send at most as many bytes as limit allows.")
  package static let tooManyAttempts = ErrorType("too_many_attempts", .tooMany)
    .titled("There were too many attempts.")
    .remedied("Wait for the number of seconds in Retry-After.")
  package static let tooManyRequests = ErrorType("too_many_requests", .tooMany)
    .titled("Too many requests come from this client or its network.")
    .remedied("Wait for the number of seconds in Retry-After.")
  package static let internalError = ErrorType("internal", .internal)
    .titled("The server failed unexpectedly.")
    .remedied("Report the id in instance to the operator, who finds the cause under it in the log.")
  package static let overloaded = ErrorType("overloaded", .unavailable)
    .titled("The server is too busy.")
    .remedied(retryRemedy)
  package static let databaseUnavailable = ErrorType("database_unavailable", .unavailable)
    .titled("The database is unavailable.")
    .remedied(retryRemedy)
  package static let searchTooSlow = ErrorType("search_too_slow", .unavailable)
    .titled("The search took too long.")
    .remedied("Add a term on an indexed path that few users match.")

  package static let generalErrors = [
    invalid, notFound, preconditionFailed, tokenMissing, tokenInvalid, tokenExpired, sessionEnded,
    insufficientScope, bodyTooLarge, tooManyAttempts, tooManyRequests, internalError, overloaded,
    databaseUnavailable, searchTooSlow,
  ]
}

extension Failure {
  package static let notFound = Failure(.notFound)
  package static let tokenMissing = Failure(.tokenMissing)
  /// The token is malformed, of another issuer, or of another app.
  package static let tokenInvalid = Failure(.tokenInvalid)
  package static let tokenExpired = Failure(.tokenExpired)
  package static let sessionEnded = Failure(.sessionEnded)
  package static let searchTooSlow = Failure(.searchTooSlow, retryAfter: .seconds(10))

  /// Returns the error for members of the input that break a rule, each with its place.
  package static func invalid(_ faults: [FieldError]) -> Failure {
    Failure(.invalid, faults: faults)
  }

  /// Returns the error for a principal without the scope that the request requires.
  package static func insufficientScope(_ scope: String) -> Failure {
    Failure(
      .insufficientScope, "The route requires the scope \(scope).",
      members: [("scope", .string(scope))]
    )
  }

  /// Returns the error for a stored version that does not satisfy the client's condition.
  package static func preconditionFailed(current: Int) -> Failure {
    Failure(
      .preconditionFailed, "The current version is \(current).",
      members: [("current_version", .number(JSONNumber(current)))]
    )
  }

  /// Returns the error for a body of more than `limit` bytes.
  package static func bodyTooLarge(limit: Int) -> Failure {
    Failure(.bodyTooLarge, limit: limit, "The route reads at most \(limit) bytes.")
  }

  /// Returns the error for too many guesses of a secret, or too many requests for mail.
  package static func tooManyAttempts(retryAfter time: Duration) -> Failure {
    Failure(.tooManyAttempts, retryAfter: time)
  }

  /// Returns the error for a user, API client or network at its limit.
  package static func tooManyRequests(retryAfter time: Duration) -> Failure {
    Failure(.tooManyRequests, retryAfter: time)
  }

  /// Returns the error for a server with too much work to serve the request soon.
  package static func overloaded(retryAfter time: Duration) -> Failure {
    Failure(.overloaded, retryAfter: time)
  }

  /// Returns the error for a database that is unreachable, read-only, full or too slow.
  package static func databaseUnavailable(retryAfter time: Duration) -> Failure {
    Failure(.databaseUnavailable, retryAfter: time)
  }

  /// Returns the error for a fault of the server, with its cause for the operator's log.
  package static func internalError(_ reason: String) -> Failure {
    Failure(.internalError, reason: reason)
  }
}
