package import Dossier
package import EventLoop
package import HTTP
package import JSON

/// Why a request gets no answer of its handler.
package enum Refusal: Error {
  case noSuchPath
  case badPath
  case method(allowed: [Method])
  case mediaType(accepted: [MediaType])
  case bodyTooLong(limit: Int)
  /// The client, or the web server, sent less than it stated.
  case bodyTruncated
  case json(JSONError)
  case patch(pointer: String, reason: String)
  /// A form that cannot be read, or a name in it that occurs twice.
  case form
  case multipart(MultipartError)
  /// A precondition that cannot be read.
  case condition
  /// A precondition that does not hold of what has no versions.
  case conditionUnmet
  case notLoopback
  /// An `Idempotency-Key` that is of no use.
  case repeated(RepeatFault)
  case failure(Failure)
}

extension Refusal {
  /// The rule that the request broke, for the log, where the response may say less.
  ///
  /// It holds no token, no claim and nothing else that a client chose.
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
    case .wayInClosed(let setting): "the setting \(setting) is false"
    case .originForbidden: "the origin is not in allowed_origins"
    case .switchingForbidden: "the setting switching is reauthenticate"
    case .reauthenticationRequired: "the login is older than reauthentication_minutes"
    case .emailUnverified: "the address is not verified"
    case .deviceUnknown: "no secret of a device of this app"
    default: nil
    }
  }

  /// What only the operator is told.
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

/// Where the body of a request comes from, when it is asked for.
@EventLoop package protocol BodySource: AnyObject {
  /// - Throws: `.bodyTooLong`, `.bodyTruncated`, or `.failure(.overloaded)`.
  func body(limit: Int) async throws(Refusal) -> [UInt8]
  /// Whether nobody waits for the answer any more.
  var isGone: Bool { get }
}
