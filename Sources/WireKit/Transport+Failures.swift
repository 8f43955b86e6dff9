package import HTTP
package import JSON
package import Runtime

/// The types of error that the service and the web server report before a handler runs.
extension Failure {
  package static let requestMalformed = Failure("request_malformed", .malformed)
    .titled("The request is malformed.")
    .remedied("Check the bytes that your HTTP client sends. The web server could not parse them.")
  package static let pathMalformed = Failure("path_malformed", .malformed)
    .titled("The path is not percent-encoded UTF-8.")
    .remedied("Encode the segments of the path as UTF-8, then percent-encode them.")
  package static let bodyTruncated = Failure("body_truncated", .malformed)
    .titled("The body is shorter than its stated length.")
    .remedied("Send as many bytes as Content-Length announces. A proxy may have cut off the body.")
  package static let patchMalformed = Failure("patch_malformed", .malformed)
    .titled("The body is not a JSON Patch.")
    .remedied("Send an array of operations (RFC 6902). The member errors has the invalid one.")
  package static let conditionMalformed = Failure("condition_malformed", .malformed)
    .titled("If-Match or If-None-Match is malformed.")
    .remedied("Send the ETag of the last response with its quotes, or *.")
  package static let idempotencyKeyMalformed = Failure("idempotency_key_malformed", .malformed)
    .titled("The Idempotency-Key is malformed.")
    .remedied("Send 1 to 255 printable characters without spaces, such as a UUID.")
  package static let idempotencyKeyUnsupported = Failure(
    "idempotency_key_unsupported", .malformed
  )
  .titled("This route does not accept an Idempotency-Key.")
  .remedied("Omit it. Responses with tokens are never stored, nor are those of public routes.")
  package static let internalOnly = Failure("internal_only", .forbidden)
    .titled("Only the server itself and its internal networks may use this route.")
    .remedied(
      "Send the request from the machine that runs the server, or from a network that the "
        + "setting internal_networks lists."
    )
  package static let routeNotFound = Failure("route_not_found", .notFound)
    .titled("No route has this path.")
    .remedied("Compare the method and the path with GET /reference. No path ends with a slash.")
  package static let methodNotAllowed = Failure("method_not_allowed", .malformed)
    .titled("This path does not support this method.")
    .remedied("Use one of the methods in the Allow header field.")
  package static let idempotencyKeyInUse = Failure("idempotency_key_in_use", .conflict)
    .titled("The first request with this Idempotency-Key is still in progress.")
    .remedied("Wait a moment, then repeat the request. The response is that of the first request.")
  package static let idempotencyResponseLost = Failure("idempotency_response_lost", .conflict)
    .titled("The response to the first request with this Idempotency-Key is lost.")
    .remedied(
      "Read the data to learn whether that request had an effect. If not, repeat it with a new key."
    )
  package static let uriTooLong = Failure("uri_too_long", .tooLarge)
    .titled("The path and query are too long.")
    .remedied("Shorten the query, for example with fewer terms in the filter.")
  package static let mediaType = Failure("media_type", .unsupportedMedia)
    .titled("The Content-Type is missing, or this route does not accept it.")
    .remedied("Send a Content-Type that the route accepts.")
  package static let idempotencyKeyReused = Failure("idempotency_key_reused", .invalid)
    .titled("The Idempotency-Key was already used for another request.")
    .remedied("Use a new key for each request. Repeat a key only with the same bytes.")
  package static let headerTooLarge = Failure("header_too_large", .tooLarge)
    .titled("The header fields are too large.")
    .remedied("Send fewer or shorter header fields. Cookies of other pages count too.")
  package static let serverUnavailable = Failure("server_unavailable", .unavailable)
    .titled("The server is unavailable.")
    .remedied(retryRemedy)

  /// A malformed form, or a form with a duplicate name.
  package static let formMalformed = Failure.requestMalformed
  /// A precondition that fails because the resource has no versions.
  static let unversioned = Failure.preconditionFailed(
    "This resource has no ETag, so If-Match and If-None-Match cannot be satisfied."
  )

  static func mediaType(accepted types: [MediaType]) -> Failure {
    let names = types.map(\.rawValue).joined(separator: ", ")
    let isText = types.contains { $0.rawValue.hasSuffix("json") }
    return .mediaType("The route reads \(names)\(isText ? ", in UTF-8" : "").")
  }

  /// Maps the error of a body that is not valid JSON.
  convenience init(_ error: JSONError) {
    self.init(
      error.reason.type, faults: [FieldError(error)],
      members: [("offset", .number(JSONNumber(error.offset)))]
    )
  }
}

extension JSONError.Reason {
  /// The type of error of a body that is not valid JSON.
  package var type: ErrorType {
    let title =
      switch self {
      case .empty: "The body is empty."
      case .syntax: "The body is not JSON."
      case .trailing: "The body continues after its JSON value."
      case .utf8: "The body is not UTF-8."
      case .surrogate: "A string in the body contains a lone surrogate."
      case .nul: "A string in the body contains the character U+0000."
      case .duplicateKey: "An object in the body has the same key twice."
      case .depth: "The body is nested too deeply."
      case .number: "A number is too long or too large."
      }
    let remedy =
      switch self {
      case .empty: "Send a JSON body. An empty object is {}."
      case .depth: "Nest objects and arrays at most 64 levels deep."
      case .number: "Send numbers that fit a double, or send them as strings."
      case .syntax, .trailing, .utf8, .surrogate, .nul, .duplicateKey:
        "Send one JSON value (RFC 8259) in UTF-8, such as JSON.stringify makes. The member offset "
          + "is the position of the invalid byte."
      }
    return Failure(rawValue, .malformed).titled(title).remedied(remedy).type
  }
}

extension Failure {
  /// Creates the error for a malformed multipart body.
  convenience init(_ error: MultipartError) {
    let detail =
      switch error {
      case .noBoundary: "The body does not begin with the boundary that Content-Type names."
      case .unfinished: "The body ends before its last boundary, with two hyphens after it."
      case .malformedHeader: "The header of a part is malformed. Each line must end with CRLF."
      case .nameless: "A part has no name. Its Content-Disposition must be form-data with a name."
      case .nameTwice: "Two parts have the same name."
      case .tooManyParts(let limit): "The body has more than \(limit) parts."
      case .partTooLong(let limit): "A part has more than \(limit) bytes."
      }
    if case .partTooLong(let limit) = error {
      self.init(.bodyTooLarge(limit: limit, detail))
    } else {
      self.init(.requestMalformed(detail))
    }
  }
}

extension ErrorType {
  /// The status of the response.
  package var status: Status {
    switch self {
    case Failure.methodNotAllowed.type: .methodNotAllowed
    case Failure.uriTooLong.type: .uriTooLong
    case Failure.headerTooLarge.type: .headerTooLarge
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
    case .gone: .gone
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
