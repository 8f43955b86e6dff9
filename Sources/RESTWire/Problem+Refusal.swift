import Dossier
import HTTP
import JSON
import Wiring

extension Problem {
  /// The native wire's words for every refusal.
  init(_ refusal: Refusal) {
    switch refusal {
    case .noSuchPath:
      self.init(.notFound, "route_not_found", "There is no such route.")
    case .badPath:
      self.init(.badRequest, "path_malformed", "The path is not percent-encoded UTF-8.")
    case .method(let allowed):
      self.init(.methodNotAllowed, "method_not_allowed", "The route has other methods.")
      fields = [(.allow, allowed.map(\.rawValue).joined(separator: ", "))]
    case .mediaType(let accepted):
      let names = accepted.map(\.rawValue).joined(separator: ", ")
      self.init(
        .unsupportedMediaType,
        "media_type",
        "The body has a media type the route does not read.",
        detail: "The route reads \(names), in UTF-8."
      )
      if accepted.contains(.mergePatch) { fields = [(.acceptPatch, names)] }
    case .bodyTooLong(let limit):
      self.init(
        .contentTooLarge,
        "body_too_large",
        "The body is too large.",
        detail: "The route reads at most \(limit) bytes."
      )
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .bodyTruncated:
      self.init(.badRequest, "body_truncated", "The body is shorter than stated.")
    case .json(let error):
      self.init(.badRequest, error.reason.rawValue, "The body is not JSON as this API reads it.")
      errors = [(error.pointer, error.reason.rawValue, error.detail)]
      extensions = [("offset", .number(JSONNumber(error.offset)))]
    case .patch(let pointer, let reason):
      self.init(.badRequest, "patch_malformed", "The body is not a JSON Patch.")
      errors = [(pointer, "patch_malformed", reason)]
    case .condition(let reason):
      self.init(.badRequest, "condition_malformed", "A precondition is malformed.", detail: reason)
    case .notLoopback:
      self.init(.forbidden, "not_loopback", "This route is for programs on the server itself.")
    case .failure(let failure): self.init(failure)
    }
  }

  private init(_ failure: Failure) {
    switch failure {
    case .unauthenticated(let fault): self.init(fault)
    case .forbidden(let scope):
      self.init(
        .forbidden,
        "insufficient_scope",
        "The token or the client does not allow this.",
        detail: "The route asks for the scope \(scope)."
      )
      fields = [(.authenticate, "Bearer error=\"insufficient_scope\", scope=\"\(scope)\"")]
    case .unknownClient:
      self.init(
        .unauthorized,
        "client_unknown",
        "The route asks for the key of a client.",
        detail: "Keys are dck_…; of clients of this app, or of the operator, that are not disabled."
      )
      fields = [(.authenticate, "Bearer")]
    case .appExists:
      self.init(.conflict, "app_exists", "There is an app of that name.")
    case .hostTaken:
      self.init(.conflict, "host_taken", "A host belongs to another app.")
    case .issuerExists:
      self.init(.conflict, "issuer_exists", "The app has an issuer of that name.")
    case .invalid(let faults):
      self.init(.unprocessable, "invalid", "The input breaks a rule.")
      errors = faults.map { ($0.pointer, $0.code, $0.detail) }
    case .notFound:
      self.init(.notFound, "not_found", "There is no such thing.")
    case .unknownApp: self.init(.notFound, "app_not_found", "There is no such app.")
    case .identityTaken:
      self.init(.conflict, "identity_taken", "The identity belongs to another user.")
    case .identityExists:
      self.init(.conflict, "identity_exists", "The user has an identity of that kind already.")
    case .lastIdentity:
      self.init(.conflict, "last_identity", "There would be no way left to log in.")
    case .tooManyAPIKeys(let limit):
      self.init(.conflict, "api_key_limit", "The user has as many API keys as it may.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .wayInClosed(let name):
      self.init(
        .forbidden,
        "way_in_closed",
        "The app does not let users come this way.",
        detail: "Its setting \(name) is false."
      )
    case .emailUnconfirmed:
      self.init(.forbidden, "email_unconfirmed", "The email address must be confirmed first.")
    case .invalidMailToken:
      self.init(.badRequest, "mail_token_invalid", "The token of the mail is of no more use.")
    case .mailNotConfigured:
      self.init(.unavailable, "mail_not_configured", "This deployment does not send mail.")
      fields = [(.retryAfter, "3600")]
    case .invalidExternalToken(let reason):
      self.init(
        .unauthorized,
        "external_token_invalid",
        "The token is not one this app takes.",
        detail: "The token is refused because \(reason)."
      )
      fields = [(.authenticate, "Bearer")]
    case .issuerUnavailable:
      self.init(.unavailable, "issuer_unavailable", "The keys of the issuer cannot be fetched.")
      fields = [(.retryAfter, "10")]
    case .deviceUnknown:
      self.init(
        .unauthorized,
        "device_unknown",
        "The route asks for the proof of a device.",
        detail: "It is the device_secret of the first login, in the field Dossier-Device."
      )
      fields = [(.authenticate, "Bearer")]
    case .deviceFull(let limit):
      self.init(.conflict, "device_full", "The device knows as many users as it may.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .notLoggedIn:
      self.init(.conflict, "not_logged_in", "The user is not logged in on the device.")
    case .switchingForbidden:
      self.init(.forbidden, "switching_forbidden", "Users of this app log in to change places.")
    case .originForbidden:
      self.init(.forbidden, "origin_forbidden", "Pages of this origin may not use the cookie.")
    case .tooManyAttempts(let seconds):
      self.init(.tooManyRequests, "too_many_attempts", "It was tried too often.")
      fields = [(.retryAfter, String(seconds))]
    case .emailTaken:
      self.init(.conflict, "email_taken", "Another user has this email address.")
      errors = [("/email", "email_taken", "Another user has this email address.")]
    case .wrongCredentials:
      self.init(.unauthorized, "wrong_credentials", "The email address or the password is wrong.")
      fields = [(.authenticate, "Bearer")]
    case .invalidRefreshToken:
      self.init(.unauthorized, "refresh_token_invalid", "The refresh token is of no more use.")
      fields = [(.authenticate, "Bearer")]
    case .versionMoved(let current):
      self.init(
        .preconditionFailed,
        "version_moved",
        "The stored version is another.",
        detail: "The current version is \(current)."
      )
      extensions = [("current_version", .number(JSONNumber(current)))]
      fields = [(.entityTag, EntityTag(current).description)]
    case .propertyMoved(let stored, let expected):
      self.init(.conflict, "property_moved", "The property has another version.")
      extensions = [
        ("key", stored.map { .string($0.key) } ?? .null), ("value", stored?.value ?? .null),
        ("current_version", .number(JSONNumber(stored?.version ?? 0))),
        ("expected_versions", .array(expected.map { .number(JSONNumber($0)) })),
      ]
      if let stored { fields = [(.entityTag, EntityTag(stored.version).description)] }
    case .tooManyProperties(let limit):
      self.init(.conflict, "property_limit", "A user has no more properties than that.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .patchTestFailed(let pointer):
      self.init(.conflict, "patch_test_failed", "A test of the patch did not hold.")
      errors = [(pointer, "patch_test_failed", "The stored value is another.")]
    case .patchNotApplicable(let pointer, let reason):
      self.init(.unprocessable, "patch_not_applicable", "The patch does not fit the document.")
      errors = [(pointer, "patch_not_applicable", reason)]
    case .update(let error, let member): self.init(error, in: member)
    case .picture(let failure): self.init(failure)
    case .invalidFilter(let error): self.init(error)
    case .notIndexed(let paths):
      self.init(
        .unprocessable,
        "not_indexed",
        "The filter has no term on an indexed path.",
        detail: "One of all that are put together by and must be, in each branch of an or; "
          + "not counts for nothing, nor does !=."
      )
      extensions = [("indexed", .array(paths.map(JSON.string)))]
    case .searchTooSlow:
      self.init(
        .unavailable,
        "search_too_slow",
        "The search took too long.",
        detail: "Add a term on an indexed path that few users fit."
      )
      fields = [(.retryAfter, "10")]
    case .indexExists:
      self.init(.conflict, "index_exists", "The app has an index on that path.")
    case .tooManyIndexes(let limit):
      self.init(.conflict, "index_limit", "The app has as many indexes as it may.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .schemaMismatch(let faults):
      self.init(
        .unprocessable,
        "schema_mismatch",
        "The document would not fit the schema that the app has for it."
      )
      errors = faults.map { ($0.pointer, $0.code, $0.detail) }
    case .documentTooLarge(let limit):
      self.init(
        .contentTooLarge,
        "document_too_large",
        "The document would grow over its limit.",
        detail: "The document may have at most \(limit) bytes."
      )
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .overloaded(let seconds):
      self.init(.unavailable, "overloaded", "More is asked than can be done soon.")
      fields = [(.retryAfter, String(seconds))]
    case .unavailable(let seconds):
      self.init(.unavailable, "database_unavailable", "The database cannot be reached.")
      fields = [(.retryAfter, String(seconds))]
    case .unforeseen:
      self.init(
        .internalError,
        "internal",
        "Something went wrong in the server.",
        detail: "The operator finds it in the log by the id of this request."
      )
    }
  }

  private init(_ fault: TokenFault) {
    switch fault {
    case .missing:
      self.init(.unauthorized, "token_missing", "The route asks for an access token.")
      fields = [(.authenticate, "Bearer")]
    case .malformed:
      self.init(.unauthorized, "token_invalid", "The access token is not one of ours.")
      fields = [(.authenticate, "Bearer error=\"invalid_token\"")]
    case .expired:
      self.init(.unauthorized, "token_expired", "The access token has expired.")
      fields = [(.authenticate, "Bearer error=\"invalid_token\"")]
    case .sessionEnded:
      self.init(.unauthorized, "session_ended", "The session has ended.")
      fields = [(.authenticate, "Bearer error=\"invalid_token\"")]
    }
  }
}
