package import JSON
import Notation
package import Operators
package import Postgres

/// Every way in which a call can be refused.
///
/// Each wire has one `switch` over it, so that a new case does not build until every language that
/// clients speak has words for it.
package enum Failure: Error {
  /// No token, or one that is malformed, expired, of another issuer, or of a session that ended.
  case unauthenticated(TokenFault)
  /// The session is live, and its last login or other proof is older than that.
  case reauthenticationRequired(maxAge: Duration)
  /// No key of a client, or one that was deleted, disabled, or is of another app.
  case unknownClient
  /// The token, or the client, lacks the scope that the route asks for.
  case forbidden(scope: String)
  /// Members of the input that break a rule, each with its place.
  case invalid([Fault])
  /// No such document, user or thing.
  case notFound
  /// There is no app of that name.
  case unknownApp
  /// There is an app of that name already.
  case appExists
  /// The host name is another app's.
  case hostTaken
  /// The app has an issuer of that name already.
  case issuerExists
  /// Another user has the email address, or could restore it.
  case emailTaken
  /// There is a user by something of the description: what, each with its place.
  case userExists([Fault])
  /// The identity belongs to another user of the app.
  case identityTaken
  /// The user has an identity of that kind already, or an API key of that name.
  case identityExists
  /// An address was taken away from the user, and may be given back until then.
  case wayBackOpen(until: Timestamp)
  /// There would be no way left to log in.
  case lastIdentity
  /// The user has as many API keys as it may.
  case tooManyAPIKeys(limit: Int)
  /// The app does not let users come this way.
  case wayInClosed(String)
  /// No such user, or another password; which of both is not told.
  case wrongCredentials
  /// The refresh token is malformed, used up, expired, or of a session that ended.
  case invalidRefreshToken
  /// The email address must be verified before its user can sign in.
  case emailUnverified
  /// Only the management API makes users of the app.
  case signUpClosed
  /// A second factor completes the sign-in: the flow, and the methods that complete it.
  case additionalFactorRequired(flow: String, methods: [String])
  /// The app does not use second factors.
  case factorsOff
  /// The user has as many second factors as allowed.
  case tooManyFactors(limit: Int)
  /// The user has no address of mail that it could change.
  case noEmail
  /// The code is wrong, used up, expired, or was asked for by somebody else.
  case invalidCode
  /// What a mail brought is malformed, used up, expired or replaced by a newer one.
  case invalidMailToken
  /// The token of a mail is valid, and comes neither with a session of the user nor with the password.
  case signInToVerify
  /// Mail is asked for, and the operator has not said how it is sent.
  case mailNotConfigured
  /// The token of another issuer breaks a rule, for the client's developer.
  case invalidExternalToken(String)
  /// The keys of an issuer cannot be fetched; which, and why, is for the operator.
  case issuerUnavailable(String, String, retryAfter: Duration)
  /// No proof of a device, or a wrong one.
  case deviceUnknown
  /// The device knows as many users as it may.
  case deviceFull(limit: Int)
  /// The user is known on the device, and not logged in there.
  case notLoggedIn
  /// Users of the app log in again instead of being switched to.
  case switchingForbidden
  /// A browser sent its cookie for a page whose origin the app does not allow.
  case originForbidden
  /// The secret was guessed at, or mail asked for, too often.
  case tooManyAttempts(retryAfter: Duration)
  /// As much of the user, the program or the network waits already as it may.
  case tooManyAtOnce(retryAfter: Duration)
  /// The stored version is not the one that the caller named.
  case versionMoved(current: Int)
  /// The property has another version than those that the caller named, or is not there.
  case propertyMoved(key: String, Property?, expected: [Int])
  /// There would be more properties than a user may have.
  case tooManyProperties(limit: Int)
  /// A `test` of a JSON Patch did not hold.
  case patchTestFailed(pointer: String)
  /// The operation of a JSON Patch cannot be applied to the stored document.
  case patchNotApplicable(pointer: String, reason: String)
  /// An update by operators cannot be read or carried out.
  case update(OperatorError, in: UpdatePart)
  /// An upload is not taken as a picture.
  case picture(PictureFailure)
  /// The text is no filter: where, and by which rule.
  case invalidFilter(FilterError)
  /// No term of the filter, or none of a branch of it, is on a path that is indexed; these are.
  case notIndexed([String])
  /// The server ended a search that took too long.
  case searchTooSlow
  /// The app has an index on that path already, or one that is being removed.
  case indexExists
  /// The app has as many indexes as it may.
  case tooManyIndexes(limit: Int)
  /// The document would not be what the app's schema for its class says.
  case schemaMismatch([Fault])
  /// A stored document would grow over its limit, in bytes.
  case documentTooLarge(limit: Int)
  /// More is asked than can be done soon; with what the database said, where it was that.
  case overloaded(retryAfter: Duration, DatabaseError? = nil)
  /// PostgreSQL cannot do what it should: it is away, read-only, full, or too slow.
  case unavailable(retryAfter: Duration, DatabaseError? = nil)
  /// What nobody foresaw; for the operator's log, never for an answer.
  case unforeseen(String)
}

/// What of a change by operators an error is about.
package enum UpdatePart: Sendable {
  /// The document that is written or read.
  case document
  case update
  case filter
}

/// What was wrong with a bearer token.
package enum TokenFault: Sendable {
  case missing
  case malformed
  case expired
  case sessionEnded
}

/// One member of the input that breaks a rule.
package struct Fault: Sendable, Equatable {
  /// The field that it is in, as the domain names it, and the place in what the field holds, in the
  /// form of a pointer of RFC 6901; empty for the whole.
  package let place: String
  /// Stable, for programs.
  package let code: String
  /// The rule, for people.
  package let detail: String

  /// The most that are told at once: more than anybody corrects, and no answer is much longer than
  /// what it answers.
  package static let limit = 20

  package init(_ place: String, _ code: String, _ detail: String) {
    self.place = JSONPointer.shortened(place)
    self.code = code
    self.detail = detail.excerpt(512)
  }

  private var json: JSON {
    ["pointer": .string(place), "code": .string(code), "detail": .string(detail)]
  }

  /// The member `errors` of an answer, and of a line of results.
  package static func json(of faults: [Fault]) -> JSON {
    .array(faults.prefix(limit).map(\.json))
  }
}

extension Failure {
  /// The failure of an error of the database.
  ///
  /// The verb that runs a statement says what a taken key or a broken check means: see `Sent.rows`.
  init(_ error: DatabaseError) {
    switch error.state {
    // The user was deleted between the reading of the session and the write.
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

  /// What the database said, where that is all there is to say; for the operator.
  package var cause: DatabaseError? {
    switch self {
    case .overloaded(_, let cause), .unavailable(_, let cause): cause
    default: nil
    }
  }
}
