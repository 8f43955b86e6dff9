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
      "The app has disabled this login method. The operator enables it with a setting."
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
