import Accounts
import Delivery
import Documents
import Encoding
import EventLoop
import Federation
import HTTP
import JSON
import Operators
import Runtime
import Sessions
import Tenancy
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

/// The `error_code` of an error.
///
/// SDKs on realm-core know each name of App Services, and show other names unchanged.
enum ServiceErrorCode: String, CaseIterable, Sendable {
  case missingAuth = "MissingAuthReq"
  case invalidSession = "InvalidSession"
  case otherApp = "UserAppDomainMismatch"
  case auth = "AuthError"
  case invalidPassword = "InvalidPassword"
  case accountNameInUse = "AccountNameInUse"
  case userpassToken = "UserpassTokenInvalid"
  case noAuthProvider = "AuthProviderNotFound"
  case noKey = "APIKeyNotFound"
  case keyExists = "APIKeyAlreadyExists"
  case badRequest = "BadRequest"
  case missingParameter = "MissingParameter"
  case invalidParameter = "InvalidParameter"
  case noFunction = "FunctionNotFound"
  case noService = "ServiceNotFound"
  case noCommand = "ServiceCommandNotFound"
  case noRule = "NoMatchingRuleFound"
  case database = "MongoDBError"
  case schema = "SchemaValidationFailedWrite"
  case noApp = "AppNotFound"
  case notFound = "NotFound"
  case method = "MethodNotAllowed"
  case forbidden = "Forbidden"
  case conflict = "Conflict"
  case tooMany = "TooManyRequests"
  case unavailable = "ServiceUnavailable"
  case internalError = "InternalServerError"

  /// The meaning of the code and the remedy, for the page that `link` leads to.
  var meaning: String {
    switch self {
    case .missingAuth: "The request has no token. Log in, then repeat it with the token."
    case .invalidSession: "The token is no longer valid. Refresh it, or log in again."
    case .otherApp: "The token belongs to another app. Use a token of this app."
    case .auth: "The credentials are refused, or the user must take the step that the error names."
    case .invalidPassword: "The email address or the password is wrong."
    case .accountNameInUse: "A user already has this email address. Log in, or reset the password."
    case .userpassToken:
      "The token of the email is unknown, used or expired. Request another email."
    case .noAuthProvider:
      "The app has disabled this login method, or has no connection for it. The operator enables it."
    case .noKey: "The user has no API key with this id."
    case .keyExists: "The user already has an API key with this name. Choose another name."
    case .badRequest: "The request breaks the rule that the error names."
    case .missingParameter: "The body lacks the member that the error names."
    case .invalidParameter: "A value breaks the rule that the error names."
    case .noFunction: "This server does not offer functions."
    case .noService: "The app has no such service. See its setting app_services_collection."
    case .noCommand: "The service does not offer this operation."
    case .noRule: "Users may only read and write their own document, in the app's collection."
    case .database: "The query, update or document is refused. The error has the reason."
    case .schema: "The document does not match the app's JSON Schema. The error has the place."
    case .noApp: "No app has this id. Check the id in the SDK's configuration."
    case .notFound: "No route has this path."
    case .method: "The path does not support this method. See the header field Allow."
    case .forbidden: "The caller may not do this, or the app creates no users. See the error."
    case .conflict: "Another request changed the same resource at the same time. Repeat this one."
    case .tooMany: "There were too many requests or attempts. Wait for the seconds in Retry-After."
    case .unavailable: "The service is unavailable. Wait for the seconds in Retry-After."
    case .internalError: "The server failed. The operator finds the reason in the log."
    }
  }
}

extension ServiceError {
  /// Creates the error of a rejected call.
  @EventLoop init(_ failure: Failure, of call: Call) {
    switch failure {
    case .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded:
      self = Self.unauthenticated(failure, call)
    case .unknownApp, .wireDisabled: self = Self.unknownApp(call)
    case .unknownConnection where call.json["authCode"] != nil:
      self = .badRequest("an authCode needs a connection of the app to Google; send an id_token")
    case .unknownConnection: self = .noProvider(call.text("provider"))
    case .loginMethodDisabled:
      let setting = failure["setting"]?.string ?? ""
      self = .noProvider(call.captures["provider"] ?? Provider(setting).rawValue)
    case _ where failure["offset"] != nil && call.request.path.hasSuffix(FunctionRoutes.path):
      self = .invalidCall(failure.faults.first?.detail ?? failure.type.title)
    default: self.init(failure)
    }
  }

  /// Creates the error that is the same for every call.
  init(_ failure: Failure) { self = Self.known(failure) ?? Self.ofKind(failure) }

  /// The errors whose texts or codes the SDKs and their apps know.
  private static func known(_ failure: Failure) -> ServiceError? {
    switch failure {
    case .routeNotFound, .pathMalformed:
      ServiceError(.notFound, "there is nothing at this path", .notFound)
    case .methodNotAllowed:
      ServiceError(.methodNotAllowed, "this path has other methods", .method)
    case .internalOnly:
      ServiceError(
        .forbidden, "only the server and its internal networks may use this path", .forbidden
      )
    case .uriTooLong: ServiceError(.uriTooLong, "the path is too long", .badRequest)
    case .headerTooLarge:
      ServiceError(.headerTooLarge, "the header fields are too large", .badRequest)
    case .idempotencyKeyInUse:
      ServiceError(.conflict, "the same request is under way", .conflict)
    case .invalidRefreshToken: noRefreshToken
    case .wrongCredentials: invalidPassword
    case .emailUnverified: unconfirmed
    case .signUpClosed: signUpClosed
    case .additionalFactorRequired: secondFactorRequired
    case .invalidExternalToken: authError
    case .connectionFailed:
      ServiceError(.unauthorized, "unauthorized: the provider does not confirm the sign-in", .auth)
    case .identityNotAllowed:
      ServiceError(
        .unauthorized, "unauthorized: the app does not accept this account of the provider", .auth)
    case .accountExists:
      ServiceError(
        .conflict,
        "name already in use: log in to the account with this address, then link the provider",
        .accountNameInUse)
    case .redirectStateInvalid:
      .badRequest("the sign-in has ended, or began in another browser; begin it again")
    case .tooManyIdentities:
      refusedLink(.badRequest, "a user may have at most \(limit(of: failure)) identities")
    // Sessions of this wire are exempt from a recent sign-in, but not from a second factor.
    case .reauthenticationRequired:
      ServiceError(
        .forbidden,
        "second factor required: the session has not passed it, and this client cannot send one",
        .auth
      )
    case .emailTaken: ServiceError(.conflict, "name already in use", .accountNameInUse)
    case .identityTaken: refusedLink(.conflict, "the identity belongs to another user")
    case .identityExists:
      refusedLink(.badRequest, "the user has an identity of this provider already")
    case .emailRestorePending:
      refusedLink(
        .conflict,
        "the user's former address can be restored by email until \(failure["until"]?.string ?? "")"
      )
    case .lastIdentity:
      ServiceError(.forbidden, "the last login method cannot be removed", .invalidParameter)
    case .tooManyAPIKeys:
      ServiceError(
        .badRequest, "a user may have at most \(limit(of: failure)) API keys", .invalidParameter
      )
    case .deviceFull:
      ServiceError(
        .conflict, "the device knows \(limit(of: failure)) users already", .invalidParameter
      )
    case .invalidMailToken:
      ServiceError(.badRequest, "userpass token is expired or invalid", .userpassToken)
    case .mailNotConfigured:
      ServiceError(.unavailable, "this deployment sends no email", .unavailable)
    case .schemaMismatch:
      ServiceError(.badRequest, "schema validation failed\(place(of: failure))", .schema)
    case .documentTooLarge:
      .database("the document would have more than \(limit(of: failure)) bytes")
    case .updateRefused: mongo(failure)
    default: nil
    }
  }

  private static func ofKind(_ failure: Failure) -> ServiceError {
    let rule = failure.faults.first?.detail
    return switch failure.type.kind {
    case .malformed: .badRequest(rule ?? "the request cannot be read")
    case .invalid: .badRequest(rule ?? "the input breaks a rule")
    // A 401 is only for tokens and logins. realm-web would repeat the call forever.
    case .unauthenticated, .forbidden: ServiceError(.forbidden, "not allowed", .auth)
    case .notFound, .gone: ServiceError(.notFound, "not found", .notFound)
    case .conflict, .precondition:
      ServiceError(.conflict, "another call has changed it meanwhile", .conflict)
    case .tooLarge:
      ServiceError(
        .contentTooLarge, "the body may have at most \(limit(of: failure)) bytes", .badRequest
      )
    case .unsupportedMedia:
      ServiceError(.unsupportedMediaType, "the body must be JSON", .badRequest)
    case .tooMany: ServiceError(.tooManyRequests, "try again in a moment", .tooMany)
    case .unavailable:
      ServiceError(.unavailable, failure.detail ?? "try again in a moment", .unavailable)
    case .internal: ServiceError(.internalError, "internal server error", .internalError)
    }
  }

  private static func limit(of failure: Failure) -> String { failure["limit"]?.text ?? "" }

  private static func place(of failure: Failure) -> String {
    failure.faults.first.map { ": \($0.place) \($0.detail)" } ?? ""
  }

  private static func mongo(_ failure: Failure) -> ServiceError? {
    let path = failure["path"]?.string ?? ""
    return failure.faults.first.map { fault in
      mongo(fault.code, fault.detail, at: path.isEmpty ? fault.place : path)
    }
  }
}

extension ServiceError {
  /// Returns the only 401 that is not for a login.
  ///
  /// A valid token at another app's path is not answered 401. A new token would not help, and
  /// realm-web would request one forever.
  @EventLoop private static func unauthenticated(_ failure: Failure, _ call: Call) -> ServiceError {
    let token = try? call.request.bearerToken
    if failure.is(.tokenMissing) {
      return ServiceError(.unauthorized, "must authenticate first", .missingAuth)
    }
    guard let token else { return emptyBearer(call) }
    if let claimed = AccessTokens.app(of: token), let app = call.app, claimed != app.id {
      return ServiceError(.forbidden, "the token is of another app", .otherApp)
    }
    guard case .bearer = call.route?.access else { return .invalidSession }
    switch failure {
    case .sessionEnded, .tokenExpired: return .noRefreshToken
    case .tokenInvalid where AccessTokens.claimedType(of: token) == "access":
      return ServiceError(
        .unauthorized, "invalid refresh token: incorrect token type", .invalidSession
      )
    default: return ServiceError(.unauthorized, "signature is invalid", .invalidSession)
    }
  }

  @EventLoop private static func emptyBearer(_ call: Call) -> ServiceError {
    guard case .bearer = call.route?.access else { return .invalidSession }
    return ServiceError(
      .unauthorized, "expected Authorization header with JWT (Bearer schema)", .missingAuth
    )
  }

  @EventLoop private static func unknownApp(_ call: Call) -> ServiceError {
    guard call.request.path.utf8.starts(with: AppServicesWire.appStart.utf8) else {
      return .noRefreshToken
    }
    let name = call.text("app")
    return ServiceError(.notFound, "cannot find app using Client App ID '\(name)'", .noApp)
  }
}

extension ServiceError {
  /// Creates the error of a query, an update or a stage.
  init(_ error: OperatorError) {
    let place = error.path.isEmpty ? error.pointer : error.path
    self = .mongo(error.code.name, error.detail, at: place)
  }

  /// Returns an error in MongoDB's form.
  static func mongo(_ code: String, _ detail: String, at place: String) -> ServiceError {
    database("(\(code)) \(detail)\(place.isEmpty ? "" : " At \(place)")")
  }
}

/// The page that the `link` of an error leads to.
///
/// It explains each code.
///
/// Its path ends in `logs?co_id=…` as at App Services, whose SDKs call it the link to the logs. The
/// query has the request id, with which the operator finds the log line. The page does not read it.
enum ErrorPage {
  static let path = "\(AppServicesWire.prefix)/logs"

  static let route = Route(.get, path, access: .open, summary: "Explain the codes of errors") { _ in
    var response = Response(.ok)
    response.body = page
    response.add(.contentType, "text/html; charset=utf-8")
    response.add(.cacheControl, "public, max-age=300")
    return response
  }

  private static let page = Array(text.utf8)

  private static var text: String {
    let rows = ServiceErrorCode.allCases.map { code in
      "<dt id=\"\(code.rawValue)\"><code>\(code.rawValue)</code></dt>"
        + "<dd>\(HTML.escaped(code.meaning))</dd>"
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>Errors of the App Services API</title>
      </head>
      <body>
      <main>
      <h1>Errors of the App Services API</h1>
      <p>The address of this page has the id of the request after <code>co_id=</code>. The operator finds
      it in the log of the server, as <code>request</code>.</p>
      <dl>
      \(rows.joined(separator: "\n"))
      </dl>
      </main>
      </body>
      </html>

      """
  }
}
