import EventLoop
import HTTP
import JSON
import Notation

/// An error as the clients of App Services read it.
///
/// realm-core looks at the words only where the type is `application/json` and nothing else, and
/// realm-web repeats a call for ever that is answered 401 though its token is good: 401 is for tokens
/// and logins alone.
struct ServiceError: Error {
  let status: Status
  let text: String
  let code: String?
  private var fields: [(FieldName, String)] = []

  /// More than any name of a client's that is worth telling back.
  private static let longestText = 400

  init(_ status: Status, _ text: String, _ code: String? = nil) {
    self.status = status
    self.text = text.excerpt(Self.longestText)
    self.code = code
  }

  func with(_ field: FieldName, _ value: String) -> ServiceError {
    var error = self
    error.fields.append((field, value))
    return error
  }

  var json: JSON {
    var body = JSONObject()
    body["error"] = .string(text)
    if let code { body["error_code"] = .string(code) }
    return .object(body)
  }

  var response: Response {
    var response = Response(status, json: json.serialized())
    for (name, value) in fields { response.add(name, value) }
    return response
  }

  // MARK: What is told in several places

  static let invalidSession = ServiceError(.unauthorized, "invalid session", "InvalidSession")
  /// realm-web takes these words at a logout for one that was done already.
  static let noRefreshToken = ServiceError(
    .unauthorized,
    "invalid session: failed to find refresh token",
    "InvalidSession"
  )
  static let invalidPassword = ServiceError(.unauthorized, "unauthorized", "InvalidPassword")
  static let authError = ServiceError(.unauthorized, "unauthorized", "AuthError")
  static let noSuchKey = ServiceError(.notFound, "API key not found", "APIKeyNotFound")
  static let invalidCall = ServiceError(.badRequest, "invalid function call request")

  static func invalidCall(_ reason: String) -> ServiceError {
    ServiceError(invalidCall.status, "\(invalidCall.text): \(reason)")
  }

  /// What only looks like Extended JSON would be somewhere in the document; `""` is its top.
  static func lookalike(_ what: String, at place: String) -> ServiceError {
    let place = place.isEmpty ? "its top" : place
    return database("the \(what) at \(place) what only looks like Extended JSON")
  }

  static func badRequest(_ text: String) -> ServiceError {
    ServiceError(.badRequest, text, "BadRequest")
  }

  static func noProvider(_ name: String) -> ServiceError {
    ServiceError(.notFound, "authentication provider not found: '\(name)'", "AuthProviderNotFound")
  }

  /// A link that cannot be, which must not be answered 401.
  static func refusedLink(_ status: Status, _ reason: String) -> ServiceError {
    ServiceError(status, "invalid user link request: \(reason)", "InvalidParameter")
  }

  static func database(_ text: String) -> ServiceError {
    ServiceError(.badRequest, text, "MongoDBError")
  }

  static func notPermitted(_ what: String) -> ServiceError {
    ServiceError(.badRequest, "\(what) not permitted", "NoMatchingRuleFound")
  }
}
