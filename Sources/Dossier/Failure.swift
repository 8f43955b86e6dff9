package import JSON
import Encoding
package import Operators
package import Postgres

/// The errors of the domain: every reason to refuse a request.
///
/// Each wire has one exhaustive `switch` over it. A new case does not compile until every protocol
/// can report it.
package enum Failure: Error {
  /// No token, or one that is malformed, expired, of another issuer, or of an ended session.
  case unauthenticated(TokenFault)
  /// The session is live, but its last authentication is older than that.
  case reauthenticationRequired(maxAge: Duration)
  /// No client key, or one that was deleted, disabled, or belongs to another app.
  case unknownClient
  /// The principal lacks the scope that the route requires.
  case forbidden(scope: String)
  /// Members of the input that break a rule, each with its place.
  case invalid([Fault])
  /// The document, user or other resource does not exist.
  case notFound
  /// No app has that name.
  case unknownApp
  /// An app with that name already exists.
  case appExists
  /// The host name belongs to another app.
  case hostTaken
  /// The app already has an issuer with that name.
  case issuerExists
  /// Another user has the email address, or could restore it.
  case emailTaken
  /// A user with a member of the description already exists; each fault names a member.
  case userExists([Fault])
  /// The identity belongs to another user of the app.
  case identityTaken
  /// The user already has an identity of that kind, or an API key with that name.
  case identityExists
  /// The previous email address of the user can still be restored, until then.
  case emailRestorePending(until: Timestamp)
  /// The user would have no remaining login method.
  case lastIdentity
  /// The user has reached its limit of API keys.
  case tooManyAPIKeys(limit: Int)
  /// The app does not allow this login method.
  case loginMethodDisabled(String)
  /// The user does not exist or the password is wrong; the response does not reveal which.
  case wrongCredentials
  /// The refresh token is malformed, used up, expired, or of an ended session.
  case invalidRefreshToken
  /// The email address must be verified before its user can log in.
  case emailUnverified
  /// Only the management API creates users of the app.
  case signUpClosed
  /// The login requires a second factor: the flow, and its methods.
  case additionalFactorRequired(flow: String, methods: [String])
  /// The app does not use second factors.
  case factorsOff
  /// The user has as many second factors as allowed.
  case tooManyFactors(limit: Int)
  /// The user has no email address to change.
  case noEmail
  /// The code is wrong, used up, expired, or was requested by another client.
  case invalidCode
  /// The token of a mail is malformed, used up, expired or replaced by a newer one.
  case invalidMailToken
  /// The token of a mail is valid, but comes with neither a session of the user nor the password.
  case signInToVerify
  /// The request needs a mail, but mail delivery is not configured.
  case mailNotConfigured
  /// An external token breaks a rule; the text is for the client's developer.
  case invalidExternalToken(String)
  /// The keys of an issuer cannot be fetched; its name and the reason are for the operator.
  case issuerUnavailable(String, String, retryAfter: Duration)
  /// The device credential is missing or wrong.
  case deviceUnknown
  /// The device has reached its limit of known users.
  case deviceFull(limit: Int)
  /// The user is known on the device, and not logged in there.
  case notLoggedIn
  /// Users of the app must log in again instead of switching.
  case switchingForbidden
  /// A browser sent its cookie for a page whose origin the app does not allow.
  case originForbidden
  /// The secret was guessed, or mail requested, too often.
  case tooManyAttempts(retryAfter: Duration)
  /// The user, API client or network has reached its limit of concurrent requests.
  case tooManyAtOnce(retryAfter: Duration)
  /// The stored version does not satisfy the client's condition.
  case preconditionFailed(current: Int)
  /// The property is absent, or its version is not one that the client named.
  case versionConflict(key: String, Property?, expected: [Int])
  /// The user would exceed the limit of properties.
  case tooManyProperties(limit: Int)
  /// A `test` operation of a JSON Patch failed.
  case patchTestFailed(pointer: String)
  /// An operation of a JSON Patch cannot be applied to the stored document.
  case patchNotApplicable(pointer: String, reason: String)
  /// An update by operators is malformed or cannot be applied.
  case update(OperatorError, in: UpdatePart)
  /// The upload cannot be used as a picture.
  case picture(PictureFailure)
  /// The filter is malformed: the place, and the rule.
  case invalidFilter(FilterError)
  /// No term of the filter, or none of one branch, uses an indexed path; these paths are indexed.
  case notIndexed([String])
  /// The server stopped a search that took too long.
  case searchTooSlow
  /// The app already has an index on that path, or one that is being removed.
  case indexExists
  /// The app has reached its limit of indexes.
  case tooManyIndexes(limit: Int)
  /// The document would not match the app's schema for its class.
  case schemaMismatch([Fault])
  /// A stored document would exceed its limit, in bytes.
  case documentTooLarge(limit: Int)
  /// The server has too much work to serve the request soon; with the database error, if any.
  case overloaded(retryAfter: Duration, DatabaseError? = nil)
  /// PostgreSQL is unreachable, read-only, full, or too slow.
  case unavailable(retryAfter: Duration, DatabaseError? = nil)
  /// An internal error, for the operator's log; never sent to a client.
  case unforeseen(String)
}

/// The part of an update that an error concerns.
package enum UpdatePart: Sendable {
  /// The document that is written or read.
  case document
  case update
  case filter
}

/// The fault of a bearer token.
package enum TokenFault: Sendable {
  case missing
  case malformed
  case expired
  case sessionEnded
}

/// A member of the input that breaks a rule.
package struct Fault: Sendable, Equatable {
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

  private var json: JSON {
    ["pointer": .string(place), "code": .string(code), "detail": .string(detail)]
  }

  /// Returns the member `errors` of a response, and of a line of results.
  package static func json(of faults: [Fault]) -> JSON {
    .array(faults.prefix(limit).map(\.json))
  }
}

extension Failure {
  /// Maps a database error.
  ///
  /// The verb that runs a statement says what a taken key or a broken check means: see `Sent.rows`.
  init(_ error: DatabaseError) {
    switch error.state {
    // The user was deleted after the session was read.
    case .foreignKeyViolation: self = .unauthenticated(.sessionEnded)
    case .shareTaken: self = .tooManyAtOnce(retryAfter: .seconds(1))
    case .laneFull: self = .overloaded(retryAfter: .seconds(1), error)
    case _ where error.isConflict: self = .overloaded(retryAfter: .seconds(1), error)
    case _ where error.isTransient || error.serverFault != nil:
      self = .unavailable(retryAfter: .seconds(1), error)
    default: self = .unforeseen(error.description)
    }
  }

  /// One sentence for a client, if the operator of PostgreSQL must act; else nil.
  package var explanation: String? { cause?.serverFault?.explanation }

  /// The database error behind this failure, if any; for the operator.
  package var cause: DatabaseError? {
    switch self {
    case .overloaded(_, let cause), .unavailable(_, let cause): cause
    default: nil
    }
  }
}
