import Dossier
import EventLoop
import HTTP
import JSON
import WireKit

extension ServiceError {
  /// Creates the error of a rejected call.
  @EventLoop init(_ refusal: Refusal, of call: Call) {
    switch refusal {
    case .noSuchPath, .badPath: self.init(.notFound, "there is nothing at this path", .notFound)
    case .method(let allowed):
      self = ServiceError(.methodNotAllowed, "this path has other methods", .method)
        .with(.allow, (allowed + [.options]).map(\.rawValue).joined(separator: ", "))
    case .mediaType: self.init(.unsupportedMediaType, "the body must be JSON", .badRequest)
    case .bodyTooLong(let limit):
      self.init(.contentTooLarge, "the body may have \(limit) bytes", .badRequest)
    case .bodyTruncated: self = .badRequest("the body is shorter than stated")
    case .json(let error): self = Self.unreadable(error.detail, call)
    case .repeated(.underWay): self.init(.conflict, "the same request is under way", .conflict)
    case .patch, .form, .multipart, .condition, .conditionUnmet, .repeated:
      self = .badRequest("the request cannot be read")
    case .internalOnly: self.init(.forbidden, Self.operatorsPath, .forbidden)
    case .failure(let failure): self.init(failure, of: call)
    }
  }

  private static let operatorsPath = "this path is for programs on the server itself"

  @EventLoop private static func unreadable(_ detail: String, _ call: Call) -> ServiceError {
    call.request.path.hasSuffix(FunctionRoutes.path) ? invalidCall(detail) : badRequest(detail)
  }

  /// Creates the error that the web server returns by itself.
  init(_ refusal: WebServerRefusal) {
    switch refusal {
    case .requestMalformed: self = .badRequest("the request is malformed")
    case .internalOnly: self.init(.forbidden, Self.operatorsPath, .forbidden)
    case .notFound: self.init(.notFound, "there is nothing at this path", .notFound)
    case .methodNotAllowed: self.init(.methodNotAllowed, "this path has other methods", .method)
    case .bodyTooLarge:
      self.init(.contentTooLarge, "the body is too large", .badRequest)
    case .uriTooLong: self.init(.uriTooLong, "the path is too long", .badRequest)
    case .tooManyRequests: self.init(.tooManyRequests, "too many requests", .tooMany)
    case .headerTooLarge:
      self.init(.headerTooLarge, "the header fields are too large", .badRequest)
    case .serverUnavailable: self.init(.unavailable, "no worker can be reached", .unavailable)
    }
  }

  @EventLoop private init(_ failure: Failure, of call: Call) {
    switch failure {
    case .unauthenticated(let fault): self = Self.unauthenticated(fault, call)
    case .unknownApp: self = Self.unknownApp(call)
    case .invalidRefreshToken: self = .noRefreshToken
    case .wrongCredentials: self = .invalidPassword
    case .emailUnverified: self = .unconfirmed
    case .signUpClosed: self = .signUpClosed
    case .additionalFactorRequired: self = .secondFactorRequired
    case .invalidExternalToken: self = .authError
    case .reauthenticationRequired: self.init(.forbidden, "log in again first", .auth)
    case .forbidden, .unknownClient, .originForbidden, .switchingForbidden:
      self.init(.forbidden, "not allowed", .auth)
    case .loginMethodDisabled(let way):
      self = .noProvider(call.captures["provider"] ?? Provider(way).rawValue)
    case .invalid(let faults): self = .badRequest(faults.first?.detail ?? "the input breaks a rule")
    case .notFound: self.init(.notFound, "not found", .notFound)
    case .emailTaken: self.init(.conflict, "name already in use", .accountNameInUse)
    case .identityTaken: self = .refusedLink(.conflict, "the identity belongs to another user")
    case .identityExists:
      self = .refusedLink(.badRequest, "the user has an identity of this provider already")
    case .emailRestorePending(let end):
      self = .refusedLink(
        .conflict,
        "the user's former address can be restored by mail until \(end.text)"
      )
    case .lastIdentity:
      self.init(.forbidden, "there would be no way left to log in", .invalidParameter)
    case .tooManyAPIKeys(let limit):
      self.init(.badRequest, "a user may have \(limit) API keys", .invalidParameter)
    case .invalidMailToken:
      self.init(.badRequest, "userpass token is expired or invalid", .userpassToken)
    case .mailNotConfigured: self.init(.unavailable, "this deployment sends no mail", .unavailable)
    case .preconditionFailed, .versionConflict:
      self.init(.conflict, "another call has changed it meanwhile", .conflict)
    case .schemaMismatch(let faults):
      let reason = faults.first.map { ": \($0.place) \($0.detail)" } ?? ""
      self.init(.badRequest, "schema validation failed\(reason)", .schema)
    case .documentTooLarge(let limit):
      self = .database("the document would have more than \(limit) bytes")
    case .update(let error, _): self.init(error)
    case .tooManyAttempts(let time), .tooManyAtOnce(let time):
      self = Self.busy(.tooManyRequests, .tooMany, time)
    case .overloaded(let time, _), .unavailable(let time, _):
      self = Self.busy(.unavailable, .unavailable, time, failure.explanation)
    case .issuerUnavailable(_, _, let time): self = Self.busy(.unavailable, .unavailable, time)
    case .deviceFull(let limit):
      self.init(.conflict, "the device knows \(limit) users already", .invalidParameter)
    // Only operators and other wires receive these errors.
    case .appExists, .hostTaken, .issuerExists, .userExists, .deviceUnknown, .notLoggedIn,
      .tooManyProperties, .patchTestFailed, .patchNotApplicable, .picture, .invalidFilter,
      .notIndexed, .searchTooSlow, .indexExists, .tooManyIndexes, .noEmail, .invalidCode,
      .signInToVerify, .factorsOff, .tooManyFactors, .unforeseen:
      self.init(.internalError, "internal server error", .internalError)
    }
  }

  private static func busy(
    _ status: Status,
    _ code: ServiceErrorCode,
    _ time: Duration,
    _ explanation: String? = nil
  ) -> ServiceError {
    ServiceError(status, explanation ?? "try again in a moment", code)
      .with(.retryAfter, String(time.wholeSeconds))
  }

  /// Returns the only 401 that is not for a login.
  ///
  /// A valid token at another app's path is not answered 401. A new token would not help, and
  /// realm-web would request one forever.
  @EventLoop private static func unauthenticated(_ fault: TokenFault, _ call: Call) -> ServiceError
  {
    let token = try? call.request.bearerToken
    if case .missing = fault {
      return ServiceError(.unauthorized, "must authenticate first", .missingAuth)
    }
    guard let token else { return emptyBearer(call) }
    if let claimed = AccessTokens.app(of: token), let app = call.app, claimed != app.id {
      return ServiceError(.forbidden, "the token is of another app", .otherApp)
    }
    guard case .bearer = call.route?.access else { return .invalidSession }
    switch fault {
    case .sessionEnded, .expired: return .noRefreshToken
    case .malformed where AccessTokens.claimedType(of: token) == "access":
      return ServiceError(
        .unauthorized,
        "invalid refresh token: incorrect token type",
        .invalidSession
      )
    default: return ServiceError(.unauthorized, "signature is invalid", .invalidSession)
    }
  }

  @EventLoop private static func emptyBearer(_ call: Call) -> ServiceError {
    guard case .bearer = call.route?.access else { return .invalidSession }
    return ServiceError(
      .unauthorized,
      "expected Authorization header with JWT (Bearer schema)",
      .missingAuth
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
