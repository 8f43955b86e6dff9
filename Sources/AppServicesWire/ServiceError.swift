import EventLoop
import HTTP
import JSON
import Encoding
import WireKit

/// An error in the form that the clients of App Services read.
///
/// realm-core reads the text only if the media type is exactly `application/json`. realm-web
/// repeats a call forever if it is answered 401 although its token is valid. So only tokens and
/// logins return 401.
struct ServiceError: Error {
  let status: Status
  let text: String
  let code: ServiceErrorCode

  /// The maximum length of `text`: longer than any useful name from a client.
  private static let longestText = 400

  init(_ status: Status, _ text: String, _ code: ServiceErrorCode) {
    self.status = status
    self.text = text.excerpt(Self.longestText)
    self.code = code
  }

  /// Returns the body with a link to the explanation of the code.
  ///
  /// Without an origin, the link is relative.
  func json(origin: String, request: String) -> JSON {
    var body = JSONObject()
    body["error"] = .string(text)
    body["error_code"] = .string(code.rawValue)
    body["link"] = .string("\(origin)\(ErrorPage.path)?co_id=\(request)#\(code.rawValue)")
    return .object(body)
  }

  /// Returns the response to a call.
  ///
  /// Its link uses the host that the client requested.
  @EventLoop func response(to call: Call) -> Response {
    let origin = call.askedOrigin ?? ""
    let body = json(origin: origin, request: call.request.id.description)
    return Response(status, json: body.serialized())
  }

  // MARK: Errors with several uses

  static let invalidSession = ServiceError(.unauthorized, "invalid session", .invalidSession)
  /// The error for a logout without a session.
  ///
  /// realm-web treats this text as a logout already done.
  static let noRefreshToken = ServiceError(
    .unauthorized, "invalid session: failed to find refresh token", .invalidSession
  )
  static let invalidPassword = ServiceError(.unauthorized, "unauthorized", .invalidPassword)
  /// The error for the right password before the address is verified.
  ///
  /// Apps distinguish it from wrong credentials by its text and code.
  static let unconfirmed = ServiceError(.unauthorized, "confirmation required", .auth)
  static let authError = ServiceError(.unauthorized, "unauthorized", .auth)
  /// The error for valid credentials of a user who needs a second factor.
  ///
  /// No SDK can send one.
  static let secondFactorRequired = ServiceError(
    .unauthorized, "second factor required: the user needs one, and this client cannot send it",
    .auth
  )
  static let signUpClosed = ServiceError(
    .forbidden, "sign-up is closed: the app's settings do not let clients register", .forbidden
  )
  static let noSuchKey = ServiceError(.notFound, "API key not found", .noKey)
  static let invalidCall = ServiceError(.badRequest, "invalid function call request", .badRequest)

  static func invalidCall(_ reason: String) -> ServiceError {
    ServiceError(invalidCall.status, "\(invalidCall.text): \(reason)", invalidCall.code)
  }

  /// Returns the error for a document that would contain a malformed wrapper.
  ///
  /// An empty `place` is its top level.
  static func lookalike(_ what: String, at place: String) -> ServiceError {
    let place = place.isEmpty ? "its top level" : place
    return database("the \(what) at \(place) an object that only looks like Extended JSON")
  }

  static func badRequest(_ text: String) -> ServiceError {
    ServiceError(.badRequest, text, .badRequest)
  }

  static func noProvider(_ name: String) -> ServiceError {
    ServiceError(.notFound, "authentication provider not found: '\(name)'", .noAuthProvider)
  }

  /// Returns the error for an impossible link, which must not be a 401.
  static func refusedLink(_ status: Status, _ reason: String) -> ServiceError {
    ServiceError(status, "invalid user link request: \(reason)", .invalidParameter)
  }

  static func database(_ text: String) -> ServiceError {
    ServiceError(.badRequest, text, .database)
  }

  static func notPermitted(_ what: String) -> ServiceError {
    ServiceError(.badRequest, "\(what) not permitted", .noRule)
  }
}
