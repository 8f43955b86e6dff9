package import Runtime
package import HTTP

extension ErrorType {
  /// The status of the response.
  package var status: Status {
    switch self {
    case .methodNotAllowed: .methodNotAllowed
    case .uriTooLong: .uriTooLong
    case .headerTooLarge: .headerTooLarge
    default: kind.status
    }
  }
}

extension ErrorKind {
  fileprivate var status: Status {
    switch self {
    case .malformed: .badRequest
    case .invalid: .unprocessable
    case .unauthenticated: .unauthorized
    case .forbidden: .forbidden
    case .notFound: .notFound
    case .conflict: .conflict
    case .precondition: .preconditionFailed
    case .tooLarge: .contentTooLarge
    case .unsupportedMedia: .unsupportedMediaType
    case .tooMany: .tooManyRequests
    case .unavailable: .unavailable
    case .internal: .internalError
    }
  }
}

extension Failure {
  /// Whether the server has decided against the request.
  ///
  /// False if it could not decide, as in an outage or under load: the same request may succeed later.
  package var isDecision: Bool { type.status.code < 500 && retryAfter == nil }
}
