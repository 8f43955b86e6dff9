import Delivery
import Documents
import Accounts
import Runtime
import Sessions
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

extension ServiceError {
  /// Creates the error of a rejected call.
  @EventLoop init(_ failure: Failure, of call: Call) {
    switch failure.type {
    case .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded:
      self = Self.unauthenticated(failure, call)
    case .unknownApp, .wireDisabled: self = Self.unknownApp(call)
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
    switch failure.type {
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
    case .notFound: ServiceError(.notFound, "not found", .notFound)
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
    if failure.type == .tokenMissing {
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
