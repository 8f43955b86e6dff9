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
  case refreshTokenInvalid = "refresh_token_invalid"
  case claimantUnproved = "claimant_unproved"
  case tokenMissing = "token_missing"
  case tokenInvalid = "token_invalid"
  case tokenExpired = "token_expired"
  case sessionEnded = "session_ended"
  case reauthenticationRequired = "reauthentication_required"
  case notLoopback = "not_loopback"
  case insufficientScope = "insufficient_scope"
  case wayInClosed = "way_in_closed"
  case emailUnconfirmed = "email_unconfirmed"
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
  case lastIdentity = "last_identity"
  case apiKeyLimit = "api_key_limit"
  case deviceFull = "device_full"
  case notLoggedIn = "not_logged_in"
  case emailTaken = "email_taken"
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
    case .bodyTruncated: (.badRequest, "The body is shorter than stated.")
    case .patchMalformed: (.badRequest, "The body is not a JSON Patch.")
    case .conditionMalformed: (.badRequest, "A precondition is malformed.")
    case .mailTokenInvalid: (.badRequest, "The token of the mail is of no more use.")
    case .jsonEmpty: (.badRequest, "The body is empty.")
    case .jsonSyntax: (.badRequest, "The body is not JSON.")
    case .jsonTrailing: (.badRequest, "Something follows the JSON of the body.")
    case .jsonUTF8: (.badRequest, "The body is not UTF-8.")
    case .jsonSurrogate: (.badRequest, "A string holds half a surrogate pair.")
    case .jsonNul: (.badRequest, "A string holds U+0000.")
    case .jsonDuplicateKey: (.badRequest, "An object has a key twice.")
    case .jsonDepth: (.badRequest, "The body is nested too deep.")
    case .jsonNumber: (.badRequest, "A number is too long or too large.")
    case .requestMalformed: (.badRequest, "The request is malformed.")
    case .clientUnknown: (.unauthorized, "The route asks for the key of a client.")
    case .externalTokenInvalid: (.unauthorized, "The token is not one this app takes.")
    case .deviceUnknown: (.unauthorized, "The route asks for the proof of a device.")
    case .wrongCredentials: (.unauthorized, "The email address or the password is wrong.")
    case .refreshTokenInvalid: (.unauthorized, "The refresh token is of no more use.")
    case .claimantUnproved:
      (.unauthorized, "It is not shown that the address was registered by the one who confirms it.")
    case .tokenMissing: (.unauthorized, "The route asks for an access token.")
    case .tokenInvalid: (.unauthorized, "The access token is not one of ours.")
    case .tokenExpired: (.unauthorized, "The access token has expired.")
    case .sessionEnded: (.unauthorized, "The session has ended.")
    case .reauthenticationRequired:
      (.unauthorized, "The route asks for a fresh proof that it is the user who calls.")
    case .notLoopback: (.forbidden, "This route is for programs on the server itself.")
    case .insufficientScope: (.forbidden, "The token or the client does not allow this.")
    case .wayInClosed: (.forbidden, "The app does not let users come this way.")
    case .emailUnconfirmed: (.forbidden, "The email address must be confirmed first.")
    case .switchingForbidden: (.forbidden, "Users of this app log in to change places.")
    case .originForbidden: (.forbidden, "Pages of this origin may not use the cookie.")
    case .routeNotFound: (.notFound, "There is no such route.")
    case .notFound: (.notFound, "There is no such thing.")
    case .appNotFound: (.notFound, "There is no such app.")
    case .methodNotAllowed: (.methodNotAllowed, "The route has other methods.")
    case .appExists: (.conflict, "There is an app of that name.")
    case .hostTaken: (.conflict, "A host belongs to another app.")
    case .issuerExists: (.conflict, "The app has an issuer of that name.")
    case .userExists: (.conflict, "Something of the user belongs to another.")
    case .identityTaken: (.conflict, "The identity belongs to another user.")
    case .identityExists: (.conflict, "The user has an identity of that kind already.")
    case .lastIdentity: (.conflict, "There would be no way left to log in.")
    case .apiKeyLimit: (.conflict, "The user has as many API keys as it may.")
    case .deviceFull: (.conflict, "The device knows as many users as it may.")
    case .notLoggedIn: (.conflict, "The user is not logged in on the device.")
    case .emailTaken: (.conflict, "Another user has confirmed this email address.")
    case .propertyMoved: (.conflict, "The property has another version.")
    case .propertyLimit: (.conflict, "A user has no more properties than that.")
    case .patchTestFailed: (.conflict, "A test of the patch did not hold.")
    case .indexExists: (.conflict, "The app has an index on that path.")
    case .indexLimit: (.conflict, "The app has as many indexes as it may.")
    case .versionMoved: (.preconditionFailed, "The stored version is another.")
    case .bodyTooLarge: (.contentTooLarge, "The body is too large.")
    case .documentTooLarge: (.contentTooLarge, "The document would grow over its limit.")
    case .uriTooLong: (.uriTooLong, "The request target is too long.")
    case .pictureType: (.unsupportedMediaType, "The file is not a picture of an accepted kind.")
    case .mediaType: (.unsupportedMediaType, "The body has a media type the route does not read.")
    case .filterInvalid: (.unprocessable, "The filter is not one that this API reads.")
    case .pictureTruncated: (.unprocessable, "The file ends before its picture does.")
    case .pictureDamaged: (.unprocessable, "The file breaks the rules of its format.")
    case .picturePixels: (.unprocessable, "The picture has too many pixels.")
    case .pictureCost: (.unprocessable, "The picture takes too much to decode.")
    case .invalid: (.unprocessable, "The input breaks a rule.")
    case .schemaMismatch:
      (.unprocessable, "The document would not fit the schema that the app has for it.")
    case .patchNotApplicable: (.unprocessable, "The patch does not fit the document.")
    case .notIndexed: (.unprocessable, "The filter has no term on an indexed path.")
    case .updateRefused: (.unprocessable, "The update cannot be carried out.")
    case .tooManyAttempts: (.tooManyRequests, "It was tried too often.")
    case .tooManyRequests: (.tooManyRequests, "Too many requests come from you or your network.")
    case .headerTooLarge: (.headerTooLarge, "The header fields are too large.")
    case .internalError: (.internalError, "Something went wrong in the server.")
    case .overloaded: (.unavailable, "More is asked than can be done soon.")
    case .mailNotConfigured: (.unavailable, "This deployment does not send mail.")
    case .issuerUnavailable: (.unavailable, "The keys of the issuer cannot be fetched.")
    case .searchTooSlow: (.unavailable, "The search took too long.")
    case .databaseUnavailable: (.unavailable, "The database cannot be reached.")
    case .serverUnavailable: (.unavailable, "No worker can be reached.")
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
