import HTTP
import JSON

/// A kind of problem.
///
/// Its code is stable, and no other kind ever gets the code.
///
/// - Source: RFC 9457 section 3.1.1.
enum ProblemType: String, CaseIterable, Sendable {
  case pathMalformed = "path_malformed"
  case bodyTruncated = "body_truncated"
  case patchMalformed = "patch_malformed"
  case conditionMalformed = "condition_malformed"
  case idempotencyKeyMalformed = "idempotency_key_malformed"
  case idempotencyKeyUnsupported = "idempotency_key_unsupported"
  case idempotencyKeyReused = "idempotency_key_reused"
  case idempotencyKeyInUse = "idempotency_key_in_use"
  case mailTokenInvalid = "mail_token_invalid"
  case jsonEmpty = "json.empty"
  case jsonSyntax = "json.syntax"
  case jsonTrailing = "json.trailing"
  case jsonUTF8 = "json.utf8"
  case jsonSurrogate = "json.surrogate"
  case jsonNul = "json.nul"
  case jsonDuplicateKey = "json.duplicate_key"
  case jsonDepth = "json.depth"
  case jsonNumber = "json.number"
  case requestMalformed = "request_malformed"
  case clientUnknown = "client_unknown"
  case externalTokenInvalid = "external_token_invalid"
  case deviceUnknown = "device_unknown"
  case wrongCredentials = "wrong_credentials"
  case codeInvalid = "code_invalid"
  case refreshTokenInvalid = "refresh_token_invalid"
  case signInToVerify = "sign_in_to_verify"
  case additionalFactorRequired = "additional_factor_required"
  case tokenMissing = "token_missing"
  case tokenInvalid = "token_invalid"
  case tokenExpired = "token_expired"
  case sessionEnded = "session_ended"
  case reauthenticationRequired = "reauthentication_required"
  case internalOnly = "internal_only"
  case insufficientScope = "insufficient_scope"
  case loginMethodDisabled = "login_method_disabled"
  case signUpClosed = "sign_up_closed"
  case mfaDisabled = "mfa_disabled"
  case emailUnverified = "email_unverified"
  case switchingForbidden = "switching_forbidden"
  case originForbidden = "origin_forbidden"
  case routeNotFound = "route_not_found"
  case notFound = "not_found"
  case appNotFound = "app_not_found"
  case methodNotAllowed = "method_not_allowed"
  case appExists = "app_exists"
  case hostTaken = "host_taken"
  case issuerExists = "issuer_exists"
  case userExists = "user_exists"
  case identityTaken = "identity_taken"
  case identityExists = "identity_exists"
  case emailRestorePending = "email_restore_pending"
  case lastIdentity = "last_identity"
  case apiKeyLimit = "api_key_limit"
  case secondFactorLimit = "second_factor_limit"
  case deviceFull = "device_full"
  case notLoggedIn = "not_logged_in"
  case emailTaken = "email_taken"
  case noEmail = "no_email"
  case versionConflict = "version_conflict"
  case propertyLimit = "property_limit"
  case patchTestFailed = "patch_test_failed"
  case indexExists = "index_exists"
  case indexLimit = "index_limit"
  case preconditionFailed = "precondition_failed"
  case bodyTooLarge = "body_too_large"
  case documentTooLarge = "document_too_large"
  case uriTooLong = "uri_too_long"
  case pictureType = "picture_type"
  case mediaType = "media_type"
  case filterInvalid = "filter_invalid"
  case pictureTruncated = "picture_truncated"
  case pictureDamaged = "picture_damaged"
  case picturePixels = "picture_pixels"
  case pictureTooComplex = "picture_too_complex"
  case invalid
  case schemaMismatch = "schema_mismatch"
  case patchNotApplicable = "patch_not_applicable"
  case notIndexed = "not_indexed"
  case updateRefused = "update_refused"
  case tooManyAttempts = "too_many_attempts"
  case tooManyRequests = "too_many_requests"
  case headerTooLarge = "header_too_large"
  case internalError = "internal"
  case overloaded
  case mailNotConfigured = "mail_not_configured"
  case issuerUnavailable = "issuer_unavailable"
  case searchTooSlow = "search_too_slow"
  case databaseUnavailable = "database_unavailable"
  case serverUnavailable = "server_unavailable"

  var status: Status { facts.0 }
  /// The cause, in one sentence that every problem of this kind shares.
  var title: String { facts.1 }

  private var facts: (Status, String) {
    switch self {
    case .pathMalformed: (.badRequest, "The path is not percent-encoded UTF-8.")
    case .bodyTruncated: (.badRequest, "The body is shorter than its stated length.")
    case .patchMalformed: (.badRequest, "The body is not a JSON Patch.")
    case .conditionMalformed: (.badRequest, "If-Match or If-None-Match is malformed.")
    case .idempotencyKeyMalformed: (.badRequest, "The Idempotency-Key is malformed.")
    case .idempotencyKeyUnsupported:
      (.badRequest, "This route does not accept an Idempotency-Key.")
    case .idempotencyKeyReused:
      (.unprocessable, "The Idempotency-Key was already used for another request.")
    case .idempotencyKeyInUse:
      (.conflict, "The first request with this Idempotency-Key is still in progress.")
    case .mailTokenInvalid: (.badRequest, "The token from the mail is wrong, used or expired.")
    case .jsonEmpty: (.badRequest, "The body is empty.")
    case .jsonSyntax: (.badRequest, "The body is not JSON.")
    case .jsonTrailing: (.badRequest, "The body continues after its JSON value.")
    case .jsonUTF8: (.badRequest, "The body is not UTF-8.")
    case .jsonSurrogate:
      (.badRequest, "A string in the body contains a lone surrogate.")
    case .jsonNul: (.badRequest, "A string in the body contains the character U+0000.")
    case .jsonDuplicateKey: (.badRequest, "An object in the body has the same key twice.")
    case .jsonDepth: (.badRequest, "The body is nested too deeply.")
    case .jsonNumber: (.badRequest, "A number is too long or too large.")
    case .requestMalformed: (.badRequest, "The request is malformed.")
    case .clientUnknown:
      (.unauthorized, "The client key is missing, or is not valid for this app.")
    case .externalTokenInvalid: (.unauthorized, "The app does not accept this token.")
    case .deviceUnknown: (.unauthorized, "The device secret is missing or not valid.")
    case .wrongCredentials:
      (.unauthorized, "The email address, the password or the key is wrong.")
    case .codeInvalid: (.unauthorized, "The code is wrong, used or expired.")
    case .refreshTokenInvalid:
      (.unauthorized, "The session cannot be refreshed. The user must sign in again.")
    case .signInToVerify: (.unauthorized, "The token alone does not verify the address.")
    case .additionalFactorRequired: (.unauthorized, "A second factor completes the sign-in.")
    case .tokenMissing: (.unauthorized, "The access token is missing.")
    case .tokenInvalid: (.unauthorized, "The access token is not valid.")
    case .tokenExpired: (.unauthorized, "The access token has expired.")
    case .sessionEnded: (.unauthorized, "The session has ended.")
    case .reauthenticationRequired:
      (.unauthorized, "The user must authenticate again first.")
    case .internalOnly:
      (.forbidden, "Only the server itself and its operations networks may use this route.")
    case .insufficientScope:
      (.forbidden, "The access token or the client lacks the scope of this route.")
    case .loginMethodDisabled: (.forbidden, "The app does not allow this login method.")
    case .signUpClosed: (.forbidden, "The app does not allow users to sign up.")
    case .mfaDisabled: (.forbidden, "The app does not use second factors.")
    case .emailUnverified: (.forbidden, "The email address must be verified first.")
    case .switchingForbidden: (.forbidden, "The app requires users to sign in when they switch.")
    case .originForbidden:
      (.forbidden, "Pages of this origin may not use the device cookie.")
    case .routeNotFound: (.notFound, "No route has this path.")
    case .notFound: (.notFound, "The requested resource does not exist.")
    case .appNotFound: (.notFound, "No app has that name.")
    case .methodNotAllowed: (.methodNotAllowed, "This path does not support this method.")
    case .appExists: (.conflict, "An app with that name already exists.")
    case .hostTaken: (.conflict, "One of the host names belongs to another app.")
    case .issuerExists: (.conflict, "The app already has an issuer with that name.")
    case .userExists: (.conflict, "Another user already has the id or the email address.")
    case .identityTaken: (.conflict, "Another user already has this identity.")
    case .identityExists: (.conflict, "The user already has an identity of this kind.")
    case .emailRestorePending:
      (.conflict, "The previous email address can still be restored.")
    case .lastIdentity: (.conflict, "The last login method cannot be removed.")
    case .apiKeyLimit: (.conflict, "The user has the maximum number of API keys.")
    case .secondFactorLimit: (.conflict, "The user has the maximum number of second factors.")
    case .deviceFull: (.conflict, "The device has the maximum number of users.")
    case .notLoggedIn: (.conflict, "The user is not signed in on the device.")
    case .emailTaken: (.conflict, "Another user already has this email address.")
    case .noEmail: (.conflict, "The user has no email address to sign in with.")
    case .versionConflict:
      (.conflict, "The stored property does not have the expected version.")
    case .propertyLimit: (.conflict, "The user would have too many properties.")
    case .patchTestFailed: (.conflict, "A test operation of the patch failed.")
    case .indexExists: (.conflict, "The app already has an index on that path.")
    case .indexLimit: (.conflict, "The app has the maximum number of indexes.")
    case .preconditionFailed:
      (
        .preconditionFailed,
        "The stored version does not satisfy If-Match or If-None-Match."
      )
    case .bodyTooLarge: (.contentTooLarge, "The body is too large.")
    case .documentTooLarge: (.contentTooLarge, "The document would become too large.")
    case .uriTooLong: (.uriTooLong, "The path and query are too long.")
    case .pictureType: (.unsupportedMediaType, "The file is not a picture in an accepted format.")
    case .mediaType:
      (.unsupportedMediaType, "The Content-Type is missing, or this route does not accept it.")
    case .filterInvalid: (.unprocessable, "The filter has a syntax error.")
    case .pictureTruncated: (.unprocessable, "The picture file is truncated.")
    case .pictureDamaged: (.unprocessable, "The picture file is damaged.")
    case .picturePixels:
      (.unprocessable, "The picture has too many pixels, or a side of more than 16,384.")
    case .pictureTooComplex:
      (.unprocessable, "The picture needs too much time or memory to decode.")
    case .invalid: (.unprocessable, "The input breaks one or more rules.")
    case .schemaMismatch:
      (.unprocessable, "The document would not match the app's schema.")
    case .patchNotApplicable: (.unprocessable, "The patch cannot be applied to the document.")
    case .notIndexed: (.unprocessable, "The filter has no term on an indexed path.")
    case .updateRefused: (.unprocessable, "The update cannot be applied to the document.")
    case .tooManyAttempts: (.tooManyRequests, "There were too many attempts.")
    case .tooManyRequests:
      (.tooManyRequests, "Too many requests come from this client or its network.")
    case .headerTooLarge: (.headerTooLarge, "The header fields are too large.")
    case .internalError: (.internalError, "The server failed unexpectedly.")
    case .overloaded: (.unavailable, "The server is too busy.")
    case .mailNotConfigured: (.unavailable, "This deployment does not send mail.")
    case .issuerUnavailable:
      (.unavailable, "The keys of the issuer cannot be fetched.")
    case .searchTooSlow: (.unavailable, "The search took too long.")
    case .databaseUnavailable: (.unavailable, "The database is unavailable.")
    case .serverUnavailable: (.unavailable, "The server is unavailable.")
    }
  }
}

/// Texts and fields that every problem of a kind shares.
extension ProblemType {
  /// The default of the member `detail`.
  var advice: String? {
    switch self {
    case .clientUnknown:
      "Send the key (ds_client_…) of an enabled client of this app, or of the operator, as a Bearer token."
    case .signInToVerify:
      "Send the token of the mail together with the member password, or with an access token of the "
        + "user. The token of the mail stays valid."
    case .additionalFactorRequired:
      "Send flow, and a code of one of methods, to POST /v1/login/second-factor."
    case .conditionMalformed: "If-Match and If-None-Match accept entity tags in quotes, or *."
    case .deviceUnknown:
      "Send the device_secret of the last sign-in on the device as Dossier-Device. If a cookie holds "
        + "the device, the app's setting device_cookie_same_site decides which pages send it; "
        + "localhost and 127.0.0.1 are two sites."
    case .originForbidden: "The operator can add the origin to the app's setting allowed_origins."
    case .notIndexed:
      "Each branch of an or needs a term on an indexed path. Terms with != or under not do not count."
    case .pictureType:
      "The server accepts JPEG, PNG, WebP, HEIF, AVIF and GIF, and detects the format from the file."
    case .routeNotFound: "GET /reference lists the routes."
    case .searchTooSlow: "Add a term on an indexed path that few users match."
    case .switchingForbidden: "The app's setting switching is reauthenticate."
    case .internalError: "The operator finds the cause in the log, under the id of this request."
    default: nil
    }
  }

  /// The default of `WWW-Authenticate` in a 401 response.
  ///
  /// - Source: RFC 6750 section 3.1.
  var challenge: String {
    switch self {
    case .tokenInvalid, .tokenExpired, .sessionEnded: "Bearer error=\"invalid_token\""
    default: "Bearer"
    }
  }
}

extension ProblemType {
  /// Creates the kind of problem for a body that is not valid JSON.
  init(_ reason: JSONError.Reason) {
    self =
      switch reason {
      case .empty: .jsonEmpty
      case .syntax: .jsonSyntax
      case .trailing: .jsonTrailing
      case .utf8: .jsonUTF8
      case .surrogate: .jsonSurrogate
      case .nul: .jsonNul
      case .duplicateKey: .jsonDuplicateKey
      case .depth: .jsonDepth
      case .number: .jsonNumber
      }
  }
}
