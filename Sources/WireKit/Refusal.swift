package import Dossier
package import EventLoop
package import HTTP
package import JSON

/// The reason why a request gets an error response instead of its handler's response.
package enum Refusal: Error {
  case noSuchPath
  case badPath
  case method(allowed: [Method])
  case mediaType(accepted: [MediaType])
  case bodyTooLong(limit: Int)
  /// The body is shorter than the length that the client or the web server stated.
  case bodyTruncated
  case json(JSONError)
  case patch(pointer: String, reason: String)
  /// A malformed form, or a form with a duplicate name.
  case form
  case multipart(MultipartError)
  /// A malformed precondition.
  case condition
  /// A precondition that fails because the resource has no versions.
  case conditionUnmet
  case internalOnly
  /// An invalid or unusable `Idempotency-Key`.
  case repeated(IdempotencyKeyError)
  case failure(Failure)
}

extension Refusal {
  /// The rule that the request broke, for the log; the response may have less detail.
  ///
  /// It contains no token, no claim and no other value that a client chose.
  var rule: String? {
    guard case .failure(let failure) = self else { return nil }
    return switch failure {
    case .invalidExternalToken(let rule): "the token of another issuer: \(rule)"
    case .unauthenticated(.missing): "no token"
    case .unauthenticated(.malformed): "a token that no key of this app signed for this server"
    case .unauthenticated(.expired): "a token that has expired"
    case .unauthenticated(.sessionEnded): "a token whose session has ended"
    case .unknownClient: "no key of a client of this app"
    case .forbidden(let scope): "the scope \(scope) is missing"
    case .loginMethodDisabled(let setting): "the setting \(setting) is false"
    case .originForbidden: "the origin is not in allowed_origins"
    case .switchingForbidden: "the setting switching is reauthenticate"
    case .reauthenticationRequired: "the login is older than reauthentication_minutes"
    case .emailUnverified: "the address is not verified"
    case .deviceUnknown: "no secret of a device of this app"
    default: nil
    }
  }

  /// The cause of the error, for the operator only.
  var reason: String? {
    switch self {
    case .failure(let failure) where failure.cause != nil:
      failure.cause.map { "database: \($0)" }
    case .failure(.unforeseen(let reason)): reason
    case .failure(.picture(.unforeseen(let reason))): reason
    case .failure(.picture(.hostile(let signal))): "a picture ended its decoder by signal \(signal)"
    case .failure(.issuerUnavailable(let issuer, let reason, _)): "issuer \(issuer): \(reason)"
    default: nil
    }
  }
}

/// The source of a request body, read on demand.
@EventLoop package protocol BodySource: AnyObject {
  /// Reads the whole body.
  ///
  /// - Throws: `.bodyTooLong`, `.bodyTruncated`, or `.failure(.overloaded)`.
  func body(limit: Int) async throws(Refusal) -> [UInt8]
  /// Whether the client no longer waits for the response.
  var isGone: Bool { get }
}
