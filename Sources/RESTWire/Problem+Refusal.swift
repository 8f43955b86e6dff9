import Dossier
import EventLoop
import HTTP
import JSON
import WireKit

/// The problem of this API for each refusal. The texts that a kind shares are in `ProblemType`.
extension Problem {
  init(of refusal: Refusal) {
    self =
      switch refusal {
      case .noSuchPath: Problem(.routeNotFound)
      case .badPath: Problem(.pathMalformed)
      case .method(let allowed): Problem(.methodNotAllowed).with(.allow, Self.list(allowed))
      case .mediaType(let accepted): Problem(accepted: accepted)
      case .bodyTooLong(let limit):
        Problem(.bodyTooLarge, "The route reads at most \(limit) bytes.").with("limit", limit)
      case .bodyTruncated: Problem(.bodyTruncated)
      case .json(let error):
        Problem(ProblemType(error.reason))
          .at([Fault(error.pointer, error.reason.rawValue, error.detail)])
          .with("offset", error.offset)
      case .patch(let pointer, let reason): Problem(.patchMalformed).at(pointer, reason)
      // No route of this wire reads forms.
      case .form, .multipart: Problem(.requestMalformed)
      case .condition: Problem(.conditionMalformed)
      case .conditionUnmet:
        Problem(
          .preconditionFailed,
          "This resource has no ETag, so If-Match and If-None-Match cannot be satisfied."
        )
      case .internalOnly: Problem(.internalOnly)
      case .repeated(let fault): Problem(ProblemType(fault))
      case .failure(let failure): Problem(of: failure)
      }
  }

  private static func list(_ methods: [Method]) -> String {
    methods.map(\.rawValue).joined(separator: ", ")
  }

  private init(accepted types: [MediaType]) {
    let names = types.map(\.rawValue).joined(separator: ", ")
    let isText = types.contains { $0.rawValue.hasSuffix("json") }
    self.init(.mediaType, "The route reads \(names)\(isText ? ", in UTF-8" : "").")
    if types.contains(.mergePatch) { self = with(.acceptPatch, names) }
  }

  private init(of failure: Failure) {
    self =
      switch failure {
      case .unauthenticated(let fault): Problem(ProblemType(fault))
      case .forbidden(let scope):
        Problem(.insufficientScope, "The route requires the scope \(scope).")
          .with(.authenticate, "Bearer error=\"insufficient_scope\", scope=\"\(scope)\"")
      case .reauthenticationRequired(let age): Problem(maxAge: age)
      case .unknownClient: Problem(.clientUnknown)
      case .appExists: Problem(.appExists)
      case .hostTaken: Problem(.hostTaken)
      case .issuerExists: Problem(.issuerExists)
      case .invalid(let faults): Problem(.invalid).at(faults)
      case .notFound: Problem(.notFound)
      case .unknownApp: Problem(.appNotFound)
      case .userExists(let faults): Problem(.userExists).at(faults)
      case .identityTaken: Problem(.identityTaken)
      case .identityExists: Problem(.identityExists)
      case .emailRestorePending(let end):
        Problem(
          .emailRestorePending,
          "The token that was mailed to that address restores it until \(end.text)."
        )
        .with("until", .string(end.text))
      case .lastIdentity: Problem(.lastIdentity)
      case .tooManyAPIKeys(let limit): Problem(.apiKeyLimit).with("limit", limit)
      case .loginMethodDisabled(let name):
        Problem(.loginMethodDisabled, "The app's setting \(name) is false.")
      case .emailUnverified: Problem(.emailUnverified)
      case .signInToVerify: Problem(.signInToVerify)
      case .signUpClosed: Problem(.signUpClosed)
      case .factorsOff: Problem(.mfaDisabled)
      case .tooManyFactors(let limit): Problem(.secondFactorLimit).with("limit", limit)
      case .additionalFactorRequired(let flow, let methods):
        Problem(.additionalFactorRequired)
          .with("flow", .string(flow))
          .with("methods", .array(methods.map(JSON.string)))
          .with("expires_in", AuthenticationFlow.lifetime.wholeSeconds)
      case .noEmail: Problem(.noEmail)
      case .invalidCode: Problem(.codeInvalid)
      case .invalidMailToken: Problem(.mailTokenInvalid)
      case .mailNotConfigured: Problem(.mailNotConfigured).retry(after: .seconds(3_600))
      case .invalidExternalToken(let reason):
        Problem(.externalTokenInvalid, "The token is not valid because \(reason).")
      case .issuerUnavailable(_, _, let time): Problem(.issuerUnavailable).retry(after: time)
      case .deviceUnknown: Problem(.deviceUnknown)
      case .deviceFull(let limit): Problem(.deviceFull).with("limit", limit)
      case .notLoggedIn: Problem(.notLoggedIn)
      case .switchingForbidden: Problem(.switchingForbidden)
      case .originForbidden: Problem(.originForbidden)
      case .tooManyAttempts(let time): Problem(.tooManyAttempts).retry(after: time)
      case .tooManyAtOnce(let time): Problem(.tooManyRequests).retry(after: time)
      case .emailTaken: Problem(.emailTaken).at("/email", ProblemType.emailTaken.title)
      case .wrongCredentials: Problem(.wrongCredentials)
      case .invalidRefreshToken: Problem(.refreshTokenInvalid)
      case .preconditionFailed(let current):
        Problem(.preconditionFailed, "The current version is \(current).")
          .with("current_version", current)
          .with(.entityTag, EntityTag(current).description)
      case .versionConflict(let key, let stored, let expected):
        Problem(key, stored, expected: expected)
      case .tooManyProperties(let limit): Problem(.propertyLimit).with("limit", limit)
      case .patchTestFailed(let pointer):
        Problem(.patchTestFailed).at(pointer, "The stored value is different.")
      case .patchNotApplicable(let pointer, let reason):
        Problem(.patchNotApplicable).at(pointer, reason)
      case .update(let error, let part): Problem(of: error, in: part)
      case .picture(let failure): Problem(of: failure)
      case .invalidFilter(let error): Problem(of: error)
      case .notIndexed(let paths):
        Problem(.notIndexed).with("indexed", .array(paths.map(JSON.string)))
      case .searchTooSlow: Problem(.searchTooSlow).retry(after: .seconds(10))
      case .indexExists: Problem(.indexExists)
      case .tooManyIndexes(let limit): Problem(.indexLimit).with("limit", limit)
      case .schemaMismatch(let faults): Problem(.schemaMismatch).at(faults)
      case .documentTooLarge(let limit):
        Problem(
          .documentTooLarge,
          "The document may have at most \(limit) bytes of UTF-8, with a space after each comma and "
            + "colon."
        )
        .with("limit", limit)
      case .overloaded(let time, _): Problem(.overloaded).retry(after: time)
      case .unavailable(let time, _):
        Problem(.databaseUnavailable, failure.explanation).retry(after: time)
      case .unforeseen: Problem(.internalError)
      }
  }

  /// - Source: RFC 9470 section 3.
  private init(maxAge: Duration) {
    let seconds = maxAge.wholeSeconds
    let error = "insufficient_user_authentication"
    self =
      Problem(
        .reauthenticationRequired,
        "Sign in again, or call POST \(LoginResource.reauthentication). Then repeat the request "
          + "within \(seconds / 60) minutes."
      )
      .with("max_age", seconds)
      .with(.authenticate, "Bearer error=\"\(error)\", max_age=\"\(seconds)\"")
  }

  private init(_ key: String, _ stored: Property?, expected: [Int]) {
    let problem = Problem(.versionConflict)
      .with("key", .string(key))
      .with("value", stored?.value ?? .null)
      .with("current_version", stored?.version ?? 0)
      .with("expected_versions", .array(expected.map { .number(JSONNumber($0)) }))
    self =
      stored.map { problem.with(.entityTag, EntityTag($0.version).description) } ?? problem
  }
}

/// The problems for responses that nginx makes itself.
extension Problem {
  init(of refusal: WebServerRefusal) {
    self =
      switch refusal {
      case .requestMalformed: Problem(.requestMalformed)
      case .internalOnly: Problem(.internalOnly)
      case .notFound: Problem(.notFound)
      case .methodNotAllowed: Problem(.methodNotAllowed)
      case .bodyTooLarge(let limit): Problem(.bodyTooLarge).with("limit", limit)
      case .uriTooLong: Problem(.uriTooLong)
      case .tooManyRequests: Problem(.tooManyRequests)
      case .headerTooLarge: Problem(.headerTooLarge)
      case .serverUnavailable: Problem(.serverUnavailable)
      }
  }
}

extension ProblemType {
  fileprivate init(_ fault: IdempotencyKeyError) {
    self =
      switch fault {
      case .malformed: .idempotencyKeyMalformed
      case .unsupported: .idempotencyKeyUnsupported
      case .otherRequest: .idempotencyKeyReused
      case .underWay: .idempotencyKeyInUse
      }
  }

  fileprivate init(_ fault: TokenFault) {
    self =
      switch fault {
      case .missing: .tokenMissing
      case .malformed: .tokenInvalid
      case .expired: .tokenExpired
      case .sessionEnded: .sessionEnded
      }
  }
}
