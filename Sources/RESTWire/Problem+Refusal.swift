import Dossier
import HTTP
import JSON
import Wiring

extension Problem {
  /// The native wire's words for every refusal.
  init(_ refusal: Refusal) {
    switch refusal {
    case .noSuchPath: self.init(type: .routeNotFound)
    case .badPath: self.init(type: .pathMalformed)
    case .method(let allowed):
      self.init(type: .methodNotAllowed)
      fields = [(.allow, allowed.map(\.rawValue).joined(separator: ", "))]
    case .mediaType(let accepted):
      let names = accepted.map(\.rawValue).joined(separator: ", ")
      self.init(type: .mediaType, detail: "The route reads \(names), in UTF-8.")
      if accepted.contains(.mergePatch) { fields = [(.acceptPatch, names)] }
    case .bodyTooLong(let limit):
      self.init(type: .bodyTooLarge, detail: "The route reads at most \(limit) bytes.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .bodyTruncated: self.init(type: .bodyTruncated)
    case .json(let error):
      self.init(type: ProblemType(error.reason))
      errors = [Fault(error.pointer, error.reason.rawValue, error.detail)]
      extensions = [("offset", .number(JSONNumber(error.offset)))]
    case .patch(let pointer, let reason):
      self.init(type: .patchMalformed)
      errors = [Fault(pointer, "patch_malformed", reason)]
    case .condition(let reason):
      self.init(type: .conditionMalformed, detail: reason)
    case .notLoopback: self.init(type: .notLoopback)
    case .failure(let failure): self.init(failure)
    }
  }

  private init(_ failure: Failure) {
    switch failure {
    case .unauthenticated(let fault): self.init(fault)
    case .forbidden(let scope):
      self.init(type: .insufficientScope, detail: "The route asks for the scope \(scope).")
      fields = [(.authenticate, "Bearer error=\"insufficient_scope\", scope=\"\(scope)\"")]
    case .reauthenticationRequired(let seconds):
      self.init(
        type: .reauthenticationRequired,
        detail:
          "Log in again, or show who you are by POST \(LoginResource.reauthentication), and repeat "
          + "the call within \(seconds / 60) minutes."
      )
      extensions = [("max_age", .number(JSONNumber(seconds)))]
      // RFC 9470 section 3.
      let error = "insufficient_user_authentication"
      fields = [(.authenticate, "Bearer error=\"\(error)\", max_age=\"\(seconds)\"")]
    case .unknownClient:
      self.init(
        type: .clientUnknown,
        detail: "Keys are dck_…; of clients of this app, or of the operator, that are not disabled."
      )
      fields = [(.authenticate, "Bearer")]
    case .appExists: self.init(type: .appExists)
    case .hostTaken: self.init(type: .hostTaken)
    case .issuerExists: self.init(type: .issuerExists)
    case .invalid(let faults):
      self.init(type: .invalid)
      errors = faults
    case .notFound: self.init(type: .notFound)
    case .unknownApp: self.init(type: .appNotFound)
    case .userExists(let faults):
      self.init(type: .userExists)
      errors = faults
    case .identityTaken: self.init(type: .identityTaken)
    case .identityExists: self.init(type: .identityExists)
    case .lastIdentity: self.init(type: .lastIdentity)
    case .tooManyAPIKeys(let limit):
      self.init(type: .apiKeyLimit)
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .wayInClosed(let name):
      self.init(type: .wayInClosed, detail: "Its setting \(name) is false.")
    case .emailUnconfirmed: self.init(type: .emailUnconfirmed)
    case .claimantUnproved:
      self.init(
        type: .claimantUnproved,
        detail: "Send the access token of the user, or its password as the member password, beside "
          + "the token of the mail; or choose a new password with that token at "
          + "POST /v1/password/reset. The token can still be used."
      )
      fields = [(.authenticate, "Bearer")]
    case .invalidMailToken: self.init(type: .mailTokenInvalid)
    case .mailNotConfigured:
      self.init(type: .mailNotConfigured)
      fields = [(.retryAfter, "3600")]
    case .invalidExternalToken(let reason):
      self.init(type: .externalTokenInvalid, detail: "The token is refused because \(reason).")
      fields = [(.authenticate, "Bearer")]
    case .issuerUnavailable(_, _, let seconds):
      self.init(type: .issuerUnavailable)
      fields = [(.retryAfter, String(seconds))]
    case .deviceUnknown:
      self.init(
        type: .deviceUnknown,
        detail:
          "It is the device_secret of the last login on the device, in the field Dossier-Device."
      )
      fields = [(.authenticate, "Bearer")]
    case .deviceFull(let limit):
      self.init(type: .deviceFull)
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .notLoggedIn: self.init(type: .notLoggedIn)
    case .switchingForbidden: self.init(type: .switchingForbidden)
    case .originForbidden: self.init(type: .originForbidden)
    case .tooManyAttempts(let seconds):
      self.init(type: .tooManyAttempts)
      fields = [(.retryAfter, String(seconds))]
    case .tooManyAtOnce(let seconds):
      self.init(type: .tooManyRequests)
      fields = [(.retryAfter, String(seconds))]
    case .emailTaken:
      self.init(type: .emailTaken)
      errors = [Fault("/email", "email_taken", "Another user has confirmed this email address.")]
    case .wrongCredentials:
      self.init(type: .wrongCredentials)
      fields = [(.authenticate, "Bearer")]
    case .invalidRefreshToken:
      self.init(type: .refreshTokenInvalid)
      fields = [(.authenticate, "Bearer")]
    case .versionMoved(let current):
      self.init(type: .versionMoved, detail: "The current version is \(current).")
      extensions = [("current_version", .number(JSONNumber(current)))]
      fields = [(.entityTag, EntityTag(current).description)]
    case .propertyMoved(let stored, let expected):
      self.init(type: .propertyMoved)
      extensions = [
        ("key", stored.map { .string($0.key) } ?? .null), ("value", stored?.value ?? .null),
        ("current_version", .number(JSONNumber(stored?.version ?? 0))),
        ("expected_versions", .array(expected.map { .number(JSONNumber($0)) })),
      ]
      if let stored { fields = [(.entityTag, EntityTag(stored.version).description)] }
    case .tooManyProperties(let limit):
      self.init(type: .propertyLimit)
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .patchTestFailed(let pointer):
      self.init(type: .patchTestFailed)
      errors = [Fault(pointer, "patch_test_failed", "The stored value is another.")]
    case .patchNotApplicable(let pointer, let reason):
      self.init(type: .patchNotApplicable)
      errors = [Fault(pointer, "patch_not_applicable", reason)]
    case .update(let error, let member): self.init(error, in: member)
    case .picture(let failure): self.init(failure)
    case .invalidFilter(let error): self.init(error)
    case .notIndexed(let paths):
      self.init(
        type: .notIndexed,
        detail: "One of all that are put together by and must be, in each branch of an or; "
          + "not counts for nothing, nor does !=."
      )
      extensions = [("indexed", .array(paths.map(JSON.string)))]
    case .searchTooSlow:
      self.init(type: .searchTooSlow, detail: "Add a term on an indexed path that few users fit.")
      fields = [(.retryAfter, "10")]
    case .indexExists: self.init(type: .indexExists)
    case .tooManyIndexes(let limit):
      self.init(type: .indexLimit)
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .schemaMismatch(let faults):
      self.init(type: .schemaMismatch)
      errors = faults
    case .documentTooLarge(let limit):
      self.init(type: .documentTooLarge, detail: "The document may have at most \(limit) bytes.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .overloaded(let seconds, _):
      self.init(type: .overloaded)
      fields = [(.retryAfter, String(seconds))]
    case .unavailable(let seconds, _):
      self.init(type: .databaseUnavailable)
      fields = [(.retryAfter, String(seconds))]
    case .unforeseen:
      self.init(
        type: .internalError,
        detail: "The operator finds it in the log by the id of this request."
      )
    }
  }

  private init(_ fault: TokenFault) {
    switch fault {
    case .missing:
      self.init(type: .tokenMissing)
      fields = [(.authenticate, "Bearer")]
    case .malformed:
      self.init(type: .tokenInvalid)
      fields = [(.authenticate, "Bearer error=\"invalid_token\"")]
    case .expired:
      self.init(type: .tokenExpired)
      fields = [(.authenticate, "Bearer error=\"invalid_token\"")]
    case .sessionEnded:
      self.init(type: .sessionEnded)
      fields = [(.authenticate, "Bearer error=\"invalid_token\"")]
    }
  }
}
