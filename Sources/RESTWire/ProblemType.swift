import HTTP
import JSON

/// A kind of problem: its code is stable, and never used again for anything else.
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
  case idempotencyKeyBusy = "idempotency_key_busy"
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
  case notLoopback = "not_loopback"
  case insufficientScope = "insufficient_scope"
  case wayInClosed = "way_in_closed"
  case signUpClosed = "sign_up_closed"
  case mfaOff = "mfa_off"
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
  case wayBackOpen = "way_back_open"
  case lastIdentity = "last_identity"
  case apiKeyLimit = "api_key_limit"
  case secondFactorLimit = "second_factor_limit"
  case deviceFull = "device_full"
  case notLoggedIn = "not_logged_in"
  case emailTaken = "email_taken"
  case noEmail = "no_email"
  case propertyMoved = "property_moved"
  case propertyLimit = "property_limit"
  case patchTestFailed = "patch_test_failed"
  case indexExists = "index_exists"
  case indexLimit = "index_limit"
  case versionMoved = "version_moved"
  case bodyTooLarge = "body_too_large"
  case documentTooLarge = "document_too_large"
  case uriTooLong = "uri_too_long"
  case pictureType = "picture_type"
  case mediaType = "media_type"
  case filterInvalid = "filter_invalid"
  case pictureTruncated = "picture_truncated"
  case pictureDamaged = "picture_damaged"
  case picturePixels = "picture_pixels"
  case pictureCost = "picture_cost"
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
  /// One sentence, the same for all of the kind.
  var title: String { facts.1 }

  private var facts: (Status, String) {
    switch self {
    case .pathMalformed: (.badRequest, "The path is not percent-encoded UTF-8.")
    case .bodyTruncated: (.badRequest, "The body is shorter than its stated length.")
    case .patchMalformed: (.badRequest, "The body is not a JSON Patch.")
    case .conditionMalformed: (.badRequest, "If-Match or If-None-Match is malformed.")
    case .idempotencyKeyMalformed: (.badRequest, "The Idempotency-Key is malformed.")
    case .idempotencyKeyUnsupported:
      (.badRequest, "This route does not take an Idempotency-Key.")
    case .idempotencyKeyReused:
      (.unprocessable, "The Idempotency-Key was used before, for another request.")
    case .idempotencyKeyBusy:
      (.conflict, "The first request with this Idempotency-Key has not been answered yet.")
    case .mailTokenInvalid: (.badRequest, "The token from the mail is wrong, used or expired.")
    case .jsonEmpty: (.badRequest, "The body is empty.")
    case .jsonSyntax: (.badRequest, "The body is not JSON.")
    case .jsonTrailing: (.badRequest, "The body goes on after its JSON value.")
    case .jsonUTF8: (.badRequest, "The body is not UTF-8.")
    case .jsonSurrogate:
      (.badRequest, "A string in the body has half of a character (a lone surrogate).")
    case .jsonNul: (.badRequest, "A string in the body has the character U+0000.")
    case .jsonDuplicateKey: (.badRequest, "An object of the body has the same key twice.")
    case .jsonDepth: (.badRequest, "The body is nested too deep.")
    case .jsonNumber: (.badRequest, "A number is too long or too large.")
    case .requestMalformed: (.badRequest, "The request is malformed.")
    case .clientUnknown:
      (.unauthorized, "The key of a program is missing, or is not accepted here.")
    case .externalTokenInvalid: (.unauthorized, "The app does not accept this token.")
    case .deviceUnknown: (.unauthorized, "The secret of the device is missing or not valid.")
    case .wrongCredentials:
      (.unauthorized, "The email address, the password or the key is wrong.")
    case .codeInvalid: (.unauthorized, "The code is wrong, used or expired.")
    case .refreshTokenInvalid:
      (.unauthorized, "The session cannot be refreshed: the user has to sign in again.")
    case .signInToVerify: (.unauthorized, "The token alone does not verify the address.")
    case .additionalFactorRequired: (.unauthorized, "A second factor completes the sign-in.")
    case .tokenMissing: (.unauthorized, "The access token is missing.")
    case .tokenInvalid: (.unauthorized, "The access token is not valid.")
    case .tokenExpired: (.unauthorized, "The access token has expired.")
    case .sessionEnded: (.unauthorized, "The session has ended.")
    case .reauthenticationRequired:
      (.unauthorized, "The user must log in, or show the password, once more before this.")
    case .notLoopback: (.forbidden, "This route is for programs on the server itself.")
    case .insufficientScope:
      (.forbidden, "The access token or the client does not have the scope for this.")
    case .wayInClosed: (.forbidden, "The app does not allow this way of logging in.")
    case .signUpClosed: (.forbidden, "The app does not let users sign up.")
    case .mfaOff: (.forbidden, "The app does not use second factors.")
    case .emailUnverified: (.forbidden, "The email address must be verified first.")
    case .switchingForbidden: (.forbidden, "In this app, users switch by logging in again.")
    case .originForbidden:
      (.forbidden, "Pages of this origin may not use the cookie of the device.")
    case .routeNotFound: (.notFound, "There is no route with this path.")
    case .notFound: (.notFound, "What was asked for does not exist.")
    case .appNotFound: (.notFound, "There is no app of that name.")
    case .methodNotAllowed: (.methodNotAllowed, "This path does not offer this method.")
    case .appExists: (.conflict, "An app of that name exists already.")
    case .hostTaken: (.conflict, "One of the host names belongs to another app.")
    case .issuerExists: (.conflict, "The app has an issuer of that name already.")
    case .userExists: (.conflict, "Another user has the id or the email address already.")
    case .identityTaken: (.conflict, "Another user logs in by this identity already.")
    case .identityExists: (.conflict, "The user has an identity of this kind already.")
    case .wayBackOpen:
      (.conflict, "An address was taken away from the user, and can still be given back.")
    case .lastIdentity: (.conflict, "This is the last way for the user to log in, and stays.")
    case .apiKeyLimit: (.conflict, "The user has as many API keys as are allowed.")
    case .secondFactorLimit: (.conflict, "The user has as many second factors as are allowed.")
    case .deviceFull: (.conflict, "The device holds as many users as are allowed.")
    case .notLoggedIn: (.conflict, "The user is not logged in on the device.")
    case .emailTaken: (.conflict, "Another user has this email address.")
    case .noEmail: (.conflict, "The user has no email address to log in with.")
    case .propertyMoved:
      (.conflict, "The property was changed meanwhile: it has another version than expected.")
    case .propertyLimit: (.conflict, "The user would have more properties than are allowed.")
    case .patchTestFailed: (.conflict, "A test operation of the patch failed.")
    case .indexExists: (.conflict, "The app has an index on that path already.")
    case .indexLimit: (.conflict, "The app has as many indexes as are allowed.")
    case .versionMoved:
      (
        .preconditionFailed,
        "The version that is stored is not one that If-Match or If-None-Match allows."
      )
    case .bodyTooLarge: (.contentTooLarge, "The body is too large.")
    case .documentTooLarge: (.contentTooLarge, "The document would become larger than is allowed.")
    case .uriTooLong: (.uriTooLong, "The path and query are too long.")
    case .pictureType: (.unsupportedMediaType, "The file is not a picture of an accepted kind.")
    case .mediaType:
      (.unsupportedMediaType, "The Content-Type is missing, or is not one that this route accepts.")
    case .filterInvalid: (.unprocessable, "The filter cannot be read.")
    case .pictureTruncated: (.unprocessable, "The file of the picture is not complete.")
    case .pictureDamaged: (.unprocessable, "The file of the picture is damaged.")
    case .picturePixels:
      (.unprocessable, "The picture has too many pixels, or a side of more than 16,384.")
    case .pictureCost: (.unprocessable, "The picture takes too much time or memory to decode.")
    case .invalid: (.unprocessable, "The input breaks one or more rules.")
    case .schemaMismatch:
      (.unprocessable, "The document would not match the schema that the app has for it.")
    case .patchNotApplicable: (.unprocessable, "The patch cannot be applied to the document.")
    case .notIndexed: (.unprocessable, "The filter has no term on an indexed path.")
    case .updateRefused: (.unprocessable, "The update cannot be carried out.")
    case .tooManyAttempts: (.tooManyRequests, "There were too many attempts; the next has to wait.")
    case .tooManyRequests: (.tooManyRequests, "Too many requests come from you or your network.")
    case .headerTooLarge: (.headerTooLarge, "The header fields are too large.")
    case .internalError: (.internalError, "Something went wrong in the server.")
    case .overloaded: (.unavailable, "The server is too busy at the moment.")
    case .mailNotConfigured: (.unavailable, "This deployment does not send mail.")
    case .issuerUnavailable:
      (.unavailable, "The keys of the issuer cannot be fetched at the moment.")
    case .searchTooSlow: (.unavailable, "The search took too long.")
    case .databaseUnavailable: (.unavailable, "The database cannot do this at the moment.")
    case .serverUnavailable: (.unavailable, "The server cannot answer at the moment.")
    }
  }
}

/// What is the same in every problem of a kind, beside its title.
extension ProblemType {
  /// What to do, or more about what is wrong, where nothing more particular is said.
  var advice: String? {
    switch self {
    case .clientUnknown:
      "Send the key of a client of this app, or of the operator, as Bearer. It begins with dck_, and "
        + "the client must not be disabled."
    case .signInToVerify:
      "Send the password of the user as the member password, or the access token of a session of the "
        + "user, with the token of the mail. The token can still be used."
    case .additionalFactorRequired:
      "Send flow, and a code of one of methods, to POST /v1/login/second-factor."
    case .conditionMalformed: "If-Match and If-None-Match take entity tags in quotes, or *."
    case .deviceUnknown:
      "It is the device_secret of the last login on the device, in the field Dossier-Device. A device "
        + "in a cookie is known to pages alone that the app's setting device_cookie_same_site lets "
        + "have it: localhost and 127.0.0.1 are two sites."
    case .originForbidden: "The operator can add the origin to the app's setting allowed_origins."
    case .notIndexed:
      "One of the terms that are joined by and must be on an indexed path, in each branch of an or. "
        + "Terms with != or under not do not count."
    case .pictureType:
      "JPEG, PNG, WebP, HEIF, AVIF and GIF are accepted; the bytes of the file decide."
    case .routeNotFound: "GET /reference shows the routes."
    case .searchTooSlow: "Add a term on an indexed path that few users match."
    case .switchingForbidden: "The app's setting switching is reauthenticate."
    case .internalError: "The operator finds the cause in the log by the id of this request."
    default: nil
    }
  }

  /// What a 401 tells of how to come in, where nothing more particular is said.
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
  /// What a body that is not JSON is told.
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
