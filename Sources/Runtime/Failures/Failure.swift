package import JSON
package import Postgres

/// A failed request: the type of the error, and what is specific to this request.
///
/// Features declare a static member for each of their types, so that functions throw `.notFound` or
/// `.deviceFull(limit: 16)`. `catch .deviceFull` and `case .deviceFull` compare the type only.
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

  /// Creates a failure with one place in the input, under the code of the type.
  package convenience init(_ type: ErrorType, at pointer: String, _ detail: String? = nil) {
    self.init(type, faults: [FieldError(pointer, type.code, detail ?? type.title)])
  }

  /// Creates a failure with the limit that the request would exceed.
  package convenience init(_ type: ErrorType, limit: Int, _ detail: String? = nil) {
    self.init(type, detail, members: [("limit", .number(JSONNumber(limit)))])
  }

  /// Returns the failure with the places of its faults in another form.
  package func placed(_ form: (String) -> String) -> Failure {
    guard !faults.isEmpty else { return self }
    return Failure(
      type, detail, faults: faults.map { FieldError(form($0.place), $0.code, $0.detail) },
      members: members, retryAfter: retryAfter, cause: cause, reason: reason
    )
  }

  package static func ~= (type: ErrorType, failure: Failure) -> Bool { failure.type == type }

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
    case .shareTaken: self.init(.tooManyRequests, retryAfter: second)
    case .laneFull: self.init(.overloaded, retryAfter: second, cause: error)
    case _ where error.isConflict: self.init(.overloaded, retryAfter: second, cause: error)
    case _ where error.isTransient || error.serverFault != nil:
      self.init(.databaseUnavailable, retryAfter: second, cause: error)
    default: self.init(.internalError, reason: error.description)
    }
  }
}

extension Optional {
  /// Unwraps the row of a statement that always returns one.
  package func orUnforeseen(_ what: String) throws(Failure) -> Wrapped {
    guard let self else { throw .internalError("no row for \(what)") }
    return self
  }
}
