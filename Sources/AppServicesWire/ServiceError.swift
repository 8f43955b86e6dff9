import EventLoop
import HTTP
import JSON
import Notation
import Wiring

/// An error as the clients of App Services read it.
///
/// realm-core looks at the words only where the type is `application/json` and nothing else, and
/// realm-web repeats a call for ever that is answered 401 though its token is good: 401 is for tokens
/// and logins alone.
struct ServiceError: Error {
  let status: Status
  let text: String
  let code: ServiceErrorCode
  private var fields: [(FieldName, String)] = []

  /// More than any name of a client's that is worth telling back.
  private static let longestText = 400

  init(_ status: Status, _ text: String, _ code: ServiceErrorCode) {
    self.status = status
    self.text = text.excerpt(Self.longestText)
    self.code = code
  }

  func with(_ field: FieldName, _ value: String) -> ServiceError {
    var error = self
    error.fields.append((field, value))
    return error
  }

  /// The body, with a link to the code's explanation; a link without an origin is relative.
  func json(origin: String, request: String) -> JSON {
    var body = JSONObject()
    body["error"] = .string(text)
    body["error_code"] = .string(code.rawValue)
    body["link"] = .string("\(origin)\(ErrorPage.path)?co_id=\(request)#\(code.rawValue)")
    return .object(body)
  }

  /// The response to a call; its link is to the host that the client asked.
  @EventLoop func response(to call: Call) -> Response {
    let origin = ServiceOrigin.asked(by: call) ?? ""
    let body = json(origin: origin, request: call.request.id.description)
    var response = Response(status, json: body.serialized())
    for (name, value) in fields { response.add(name, value) }
    return response
  }

  // MARK: What is told in several places

  static let invalidSession = ServiceError(.unauthorized, "invalid session", .invalidSession)
  /// realm-web takes these words at a logout for one that was done already.
  static let noRefreshToken = ServiceError(
    .unauthorized,
    "invalid session: failed to find refresh token",
    .invalidSession
  )
  static let invalidPassword = ServiceError(.unauthorized, "unauthorized", .invalidPassword)
  /// The error for the right password before the address is verified.
  ///
  /// Apps read the text and the code to tell it from wrong credentials.
  static let unconfirmed = ServiceError(.unauthorized, "confirmation required", .auth)
  static let authError = ServiceError(.unauthorized, "unauthorized", .auth)
  /// The error for right credentials of a user who needs a second factor, which no SDK can send.
  static let secondFactorRequired = ServiceError(
    .unauthorized,
    "second factor required: the user needs one, and this client cannot send it",
    .auth
  )
  static let signUpClosed = ServiceError(
    .forbidden,
    "sign-up is closed: only the operator creates users",
    .forbidden
  )
  static let noSuchKey = ServiceError(.notFound, "API key not found", .noKey)
  static let invalidCall = ServiceError(.badRequest, "invalid function call request", .badRequest)

  static func invalidCall(_ reason: String) -> ServiceError {
    ServiceError(invalidCall.status, "\(invalidCall.text): \(reason)", invalidCall.code)
  }

  /// What only looks like Extended JSON would be somewhere in the document; `""` is its top.
  static func lookalike(_ what: String, at place: String) -> ServiceError {
    let place = place.isEmpty ? "its top" : place
    return database("the \(what) at \(place) what only looks like Extended JSON")
  }

  static func badRequest(_ text: String) -> ServiceError {
    ServiceError(.badRequest, text, .badRequest)
  }

  static func noProvider(_ name: String) -> ServiceError {
    ServiceError(.notFound, "authentication provider not found: '\(name)'", .noAuthProvider)
  }

  /// A link that cannot be, which must not be answered 401.
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
