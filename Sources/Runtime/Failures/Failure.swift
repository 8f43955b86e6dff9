import Encoding
package import JSON
package import Records
package import Postgres

/// A failed request: the type of the error, and what is specific to this request.
///
/// A feature declares each type once, as a static member, which is the failure without specifics:
///
///     extension Failure {
///       package static let deviceFull = Failure("device_full", .conflict)
///         .titled("The device has the maximum number of users.")
///         .remedied("Remove a user from the device: DELETE /v1/device/users/{user}.")
///     }
///
/// Functions throw `.deviceFull` or, with specifics, `.deviceFull(limit: 16)`. `catch .deviceFull`,
/// `case .deviceFull` and `is(.deviceFull)` compare the type only. A route names it in `refuses`.
///
/// It is an object, so that a function that throws it returns one word.
package final class Failure: Error {
  package let type: ErrorType
  /// The cause in this request; nil if the title says all.
  package let detail: String?
  /// The members of the input that break a rule.
  package let faults: [FieldError]
  /// Additional members of the response, such as the limit.
  package let members: [(name: String, value: JSON)]
  /// The time after which the same request may succeed.
  package let retryAfter: Duration?
  /// The database error behind this failure, if any; for the operator.
  package let cause: DatabaseError?
  private let reason: String?

  /// Creates a failure.
  ///
  /// - Parameters:
  ///   - type: the type.
  ///   - detail: the cause in this request, for the client. By default, it is a sentence about the
  ///     condition of PostgreSQL, if its operator must act.
  ///   - faults: the members of the input that break a rule.
  ///   - members: additional members of the response.
  ///   - retryAfter: the time after which the same request may succeed.
  ///   - cause: the database error.
  ///   - reason: the cause for the operator's log. No response contains it.
  package init(
    _ type: ErrorType, _ detail: String? = nil, faults: [FieldError] = [],
    members: [(name: String, value: JSON)] = [], retryAfter: Duration? = nil,
    cause: DatabaseError? = nil, reason: String? = nil
  ) {
    self.type = type
    self.detail = detail ?? cause?.serverFault?.explanation
    self.faults = faults
    self.members = members
    self.retryAfter = retryAfter
    self.cause = cause
    self.reason = reason
  }

  /// Declares a type, whose failures have a time after which the request may succeed, or none.
  package convenience init(_ code: String, _ kind: ErrorKind, retryAfter: Duration? = nil) {
    self.init(ErrorType(code, kind), retryAfter: retryAfter)
  }

  /// Creates the same failure.
  package convenience init(_ other: Failure) {
    self.init(
      other.type, other.detail, faults: other.faults, members: other.members,
      retryAfter: other.retryAfter, cause: other.cause, reason: other.reason
    )
  }

  /// Returns the failure with the cause, in one sentence.
  package func titled(_ title: String) -> Failure {
    Failure(type.titled(title), retryAfter: retryAfter)
  }

  /// Returns the failure with the advice for developers and operators.
  package func remedied(_ remedy: String) -> Failure {
    Failure(type.remedied(remedy), retryAfter: retryAfter)
  }

  /// Returns a failure of this type with what is specific to a request: see `init`.
  package func callAsFunction(
    _ detail: String? = nil, faults: [FieldError] = [], members: [(name: String, value: JSON)] = [],
    retryAfter: Duration? = nil, cause: DatabaseError? = nil, reason: String? = nil
  ) -> Failure {
    Failure(
      type, detail, faults: faults, members: members, retryAfter: retryAfter, cause: cause,
      reason: reason
    )
  }

  /// Returns a failure of this type for members of the input that break a rule.
  package func callAsFunction(_ faults: [FieldError]) -> Failure { Failure(type, faults: faults) }

  /// Returns a failure of this type with one place in the input, under the code of the type.
  package func callAsFunction(at pointer: String, _ detail: String? = nil) -> Failure {
    Failure(type, faults: [FieldError(pointer, type.code, detail ?? type.title)])
  }

  /// Returns a failure of this type with the limit that the request would exceed.
  package func callAsFunction(limit: Int, _ detail: String? = nil) -> Failure {
    Failure(type, detail, members: [("limit", .number(JSONNumber(limit)))])
  }

  /// Returns the failure with the places of its faults in another form.
  package func placed(_ form: (String) -> String) -> Failure {
    guard !faults.isEmpty else { return self }
    return Failure(
      type, detail, faults: faults.map { FieldError(form($0.place), $0.code, $0.detail) },
      members: members, retryAfter: retryAfter, cause: cause, reason: reason
    )
  }

  /// Returns whether both failures have the same type.
  package func `is`(_ other: Failure) -> Bool { type == other.type }

  package static func ~= (pattern: Failure, failure: Failure) -> Bool { failure.is(pattern) }

  /// The cause in this request, or else what to do.
  package var explanation: String { detail ?? type.remedy }

  /// The cause for the operator's log; nil if the client caused the failure.
  package var report: String? { reason ?? cause.map { "database: \($0)" } }

  /// Whether a change may be stored all the same, since the connection to the database was lost.
  package var leavesChangeUnknown: Bool { cause?.isServerAway == true }

  package subscript(member: String) -> JSON? { members.first { $0.name == member }?.value }
}

extension Failure: CustomStringConvertible {
  package var description: String { report.map { "\(type.code): \($0)" } ?? type.code }
}

extension Failure {
  /// Maps a database error.
  ///
  /// The verb that runs a statement says what a taken key or a broken check means: see `Sent.rows`.
  package convenience init(_ error: DatabaseError) {
    let second = Duration.seconds(1)
    switch error.state {
    // The user was deleted after the session was read. See `RequestContext.failure`.
    case .foreignKeyViolation: self.init(.sessionEnded)
    case .shareTaken: self.init(.tooManyRequests(retryAfter: second))
    case .laneFull: self.init(.overloaded(retryAfter: second, cause: error))
    case _ where error.isConflict:
      self.init(.overloaded(retryAfter: second, cause: error))
    case _ where error.isTransient || error.serverFault != nil:
      self.init(.databaseUnavailable(retryAfter: second, cause: error))
    default: self.init(.internalError(reason: error.description))
    }
  }
}

extension Optional {
  /// Unwraps the row of a statement that always returns one.
  package func orUnforeseen(_ what: String) throws(Failure) -> Wrapped {
    guard let self else { throw .internalError(reason: "no row for \(what)") }
    return self
  }
}

/// A member of the input that breaks a rule.
package struct FieldError: Sendable, Equatable {
  /// The place of the value, as a JSON Pointer (RFC 6901) that starts with the field's name in the
  /// domain; empty for the whole.
  package let place: String
  /// A stable code for programs.
  package let code: String
  /// The rule, for people.
  package let detail: String

  /// The most faults in one response: enough to correct, and it bounds the length of responses.
  package static let limit = 20

  package init(_ place: String, _ code: String, _ detail: String) {
    self.place = JSONPointer.shortened(place)
    self.code = code
    self.detail = detail.excerpt(512)
  }

  package init(_ fault: ColumnFault) { self.init(fault.place, fault.code, fault.detail) }

  /// Creates the error of a parameter of a query, whose place is its name.
  package init(ofParameter name: String, _ code: String, _ detail: String) {
    self.init("/" + JSONPointer.escaped(name), code, detail)
  }

  /// Maps the error of a text that is not valid JSON.
  package init(_ error: JSONError) {
    self.init(error.pointer, error.reason.rawValue, error.detail)
  }

  /// Returns the error of a member with another type than the expected one.
  package static func wrongType(_ place: String, _ expected: String) -> FieldError {
    FieldError(place, "type", "This member must be \(expected).")
  }

  /// Returns the same error of a value whose place is inside another.
  package func inside(_ outer: String) -> FieldError { FieldError(outer + place, code, detail) }

  private var json: JSON {
    ["pointer": .string(place), "code": .string(code), "detail": .string(detail)]
  }

  /// Returns the member `errors` of a response, and of a line of results.
  package static func json(of faults: [FieldError]) -> JSON {
    .array(faults.prefix(limit).map(\.json))
  }
}

/// The kind of an error, from which each wire and the command line derive their own status.
///
/// Every `switch` over it is exhaustive. A new kind does not compile until each wire maps it.
package enum ErrorKind: CaseIterable, Sendable {
  /// The request cannot be parsed.
  case malformed
  /// A value breaks a rule.
  case invalid
  /// The credentials are missing or not valid.
  case unauthenticated
  case forbidden
  case notFound
  /// The resource existed, and exists no more.
  case gone
  /// The state of the resource does not allow the change.
  case conflict
  /// The stored version does not satisfy the client's condition.
  case precondition
  case tooLarge
  case unsupportedMedia
  case tooMany
  /// A later attempt may succeed.
  case unavailable
  case `internal`
}

/// A type of error: a stable code, a kind, and the texts that all errors of the type share.
///
/// It is declared as a static member of `Failure`. A code is never reused for another type.
///
/// - Source: RFC 9457 section 3.1.1.
package struct ErrorType: Sendable {
  package let code: String
  package let kind: ErrorKind
  /// The cause, in one sentence.
  package private(set) var title = ""
  /// The advice for developers and operators.
  package private(set) var remedy = ""

  package init(_ code: String, _ kind: ErrorKind) { (self.code, self.kind) = (code, kind) }

  func titled(_ title: String) -> ErrorType {
    var type = self
    type.title = title
    return type
  }

  func remedied(_ remedy: String) -> ErrorType {
    var type = self
    type.remedy = remedy
    return type
  }
}

extension ErrorType: Hashable {
  package static func == (first: ErrorType, second: ErrorType) -> Bool {
    first.code == second.code
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

/// The types of error that several features have.
extension Failure {
  /// The remedy for a failure of the server that may pass.
  package static let retryRemedy =
    "Repeat the request after the number of seconds in Retry-After. The log has the cause."

  package static let invalid = Failure("validation_failed", .invalid)
    .titled("The input breaks one or more rules.")
    .remedied(
      "Correct the members that errors lists. Each entry has a JSON Pointer and the broken rule."
    )
  package static let notFound = Failure("not_found", .notFound)
    .titled("The requested resource does not exist.")
    .remedied(
      "Check the ids in the path and the body. The resource was deleted, never existed, or "
        + "belongs to another user."
    )
  package static let preconditionFailed = Failure("precondition_failed", .precondition)
    .titled("The stored version does not satisfy If-Match or If-None-Match.")
    .remedied("Read the resource again, apply the change to it, and send the new ETag.")
  package static let tokenMissing = Failure("token_missing", .unauthenticated)
    .titled("The access token is missing.")
    .remedied("Send Authorization: Bearer with an access token. Every sign-in returns one.")
  /// The token is malformed, of another issuer, or of another app.
  package static let tokenInvalid = Failure("token_invalid", .unauthenticated)
    .titled("The access token is not valid.")
    .remedied(
      "Refresh, and repeat the request. The token may be truncated, or may belong to another app."
    )
  package static let tokenExpired = Failure("token_expired", .unauthenticated)
    .titled("The access token has expired.")
    .remedied("Refresh with POST /v1/token/refresh, and repeat the request.")
  package static let sessionEnded = Failure("session_ended", .unauthenticated)
    .titled("The session has ended.")
    .remedied("Sign in again. A sign-out, a new password, a block or its age ended the session.")
  /// The user does not exist or the password is wrong; the response does not reveal which.
  package static let wrongCredentials = Failure("wrong_credentials", .unauthenticated)
    .titled("The email address, the password or the key is wrong.")
    .remedied("Ask for the password or the key again. An email can reset a password.")
  /// The code is wrong, used up, expired, or was requested by another client.
  package static let invalidCode = Failure("code_invalid", .unauthenticated)
    .titled("The code is wrong, used or expired.")
    .remedied(
      "Ask the user for the code again. A mailed code works once, for 10 minutes and 5 tries. "
        + "After that, request another. A code of an authenticator app works once: wait for "
        + "the next one."
    )
  package static let additionalFactorRequired = Failure(
    "additional_factor_required", .unauthenticated
  )
  .titled("A second factor completes the sign-in.")
  .remedied("Ask the user for a code, and send it with flow to POST /v1/login/second-factor.")
  package static let insufficientScope = Failure("insufficient_scope", .forbidden)
    .titled("The access token or the client lacks the scope of this route.")
    .remedied("Give the client the scope, or use another client.")
  package static let bodyTooLarge = Failure("body_too_large", .tooLarge)
    .titled("The body is too large.")
    .remedied("Send at most as many bytes as limit allows.")
  /// There were too many guesses of a secret, or too many requests for mail.
  package static let tooManyAttempts = Failure("too_many_attempts", .tooMany)
    .titled("There were too many attempts.")
    .remedied("Wait for the number of seconds in Retry-After.")
  /// A user, API client or network is at its limit.
  package static let tooManyRequests = Failure("too_many_requests", .tooMany)
    .titled("Too many requests come from this client or its network.")
    .remedied("Wait for the number of seconds in Retry-After.")
  /// A fault of the server, with its cause for the operator's log as `reason`.
  package static let internalError = Failure("internal", .internal)
    .titled("The server failed unexpectedly.")
    .remedied("Report the id in instance to the operator, who finds the cause under it in the log.")
  /// The server has too much work to serve the request soon.
  package static let overloaded = Failure("overloaded", .unavailable)
    .titled("The server is too busy.")
    .remedied(retryRemedy)
  /// The database is unreachable, read-only, full or too slow.
  package static let databaseUnavailable = Failure("database_unavailable", .unavailable)
    .titled("The database is unavailable.")
    .remedied(retryRemedy)
  package static let searchTooSlow = Failure(
    "search_too_slow", .unavailable, retryAfter: .seconds(10)
  )
  .titled("The search took too long.")
  .remedied("Add a term on an indexed path that few users match.")

  /// Returns the error for a principal without the scope that the request requires.
  package static func insufficientScope(scope: String) -> Failure {
    .insufficientScope(
      "The route requires the scope \(scope).", members: [("scope", .string(scope))]
    )
  }

  /// Returns the error for a stored version that does not satisfy the client's condition.
  ///
  /// - Parameters:
  ///   - current: the stored version.
  ///   - conflict: what each side has; nil if the error does not say it.
  /// - Returns: the error.
  package static func preconditionFailed(current: Int, conflict: JSONObject? = nil) -> Failure {
    let sides = conflict.map { [("conflict", JSON.object($0))] } ?? []
    return .preconditionFailed(
      "The current version is \(current).",
      members: [("current_version", .number(JSONNumber(current)))] + sides
    )
  }

  /// Returns the error for a body of more than `limit` bytes.
  package static func bodyTooLarge(above limit: Int) -> Failure {
    .bodyTooLarge(limit: limit, "The route reads at most \(limit) bytes.")
  }
}
