package import HTTP

/// Configuration of nginx, generated from the declarations of the wires.
package enum WebServer {
  /// The header fields read from every request, in the order in which nginx sends them.
  private static let first: [FieldName] = [.requestID, .authorization]
  private static let others: [FieldName] = [
    .origin, .ifNoneMatch, .ifMatch, .idempotencyKey, .cookie,
  ]

  /// Returns nginx's list of the parameters that it sends to a worker.
  package static func parameters(of wires: [any Wire]) -> String {
    var seen = Set(first + others)
    let own = wires.flatMap(\.fields).filter { seen.insert($0).inserted }
    let written = wires.flatMap(\.writtenFields).map { parameter($0.name, $0.expression) }
    return """
      # Made by `dossierd fastcgi-params` from what the wires declare; a test compares.
      #
      # What a worker is told of a request: this list and nothing else. No header arrives that is not
      # named here, so none that pretends to be a proxy (X-Forwarded-For, Forwarded), none that becomes
      # a setting of a program (Proxy, which is HTTP_PROXY), and no name that is ours between nginx and
      # the workers. Empty ones are not sent.
      fastcgi_pass_request_headers off;

      # Workers look parameters up one by one from the first: those of every request lead.
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param REMOTE_ADDR $remote_addr;
      \(lines(first))
      # Of several apps, the one that is asked. In lower case and without a port.
      fastcgi_param HTTP_HOST $host;
      # Of one wire or another.
      \(([lines(own)] + written.map { "\($0);" }).joined(separator: "\n"))
      # Of browsers, and of whoever asks for a version.
      \(lines(others))
      fastcgi_param CONTENT_TYPE $content_type if_not_empty;
      # Also of a chunked body, which has been read to its end by then.
      fastcgi_param CONTENT_LENGTH $content_length if_not_empty;
      # For the log, when all else is done.
      \(lines([.userAgent]))

      """
  }

  private static func lines(_ fields: [FieldName]) -> String {
    fields.map { field in
      let name = field.text.replacing("-", with: "_").lowercased()
      return "\(parameter(field, "$http_\(name)")) if_not_empty;"
    }.joined(separator: "\n")
  }

  private static func parameter(_ field: FieldName, _ expression: String) -> String {
    "fastcgi_param HTTP_\(field.text.replacing("-", with: "_").uppercased()) \(expression)"
  }
}

/// An error that nginx returns without a worker's response.
package enum WebServerRefusal: Sendable, Equatable {
  case requestMalformed
  case internalOnly
  case notFound
  case methodNotAllowed
  /// The body exceeds the limit of the path.
  case bodyTooLarge(limit: Int)
  case uriTooLong
  case tooManyRequests
  case headerTooLarge
  /// No worker was reachable, or a worker crashed during the request.
  case serverUnavailable

  /// The error code.
  package var rawValue: String {
    switch self {
    case .requestMalformed: "request_malformed"
    case .internalOnly: "internal_only"
    case .notFound: "not_found"
    case .methodNotAllowed: "method_not_allowed"
    case .bodyTooLarge: "body_too_large"
    case .uriTooLong: "uri_too_long"
    case .tooManyRequests: "too_many_requests"
    case .headerTooLarge: "header_too_large"
    case .serverUnavailable: "server_unavailable"
    }
  }

  package var status: Status {
    switch self {
    case .requestMalformed: .badRequest
    case .internalOnly: .forbidden
    case .notFound: .notFound
    case .methodNotAllowed: .methodNotAllowed
    case .bodyTooLarge: .contentTooLarge
    case .uriTooLong: .uriTooLong
    case .tooManyRequests: .tooManyRequests
    case .headerTooLarge: .headerTooLarge
    case .serverUnavailable: .unavailable
    }
  }

  /// The statuses for which nginx shows this error, unless a more specific rule applies.
  fileprivate var causes: [String] {
    switch self {
    // nginx uses 501 for an unknown Transfer-Encoding.
    case .requestMalformed: ["400", "501 =400"]
    // nginx rejects TRACE with 405. 494 is nginx's own number for long header fields.
    case .headerTooLarge: ["494 =431"]
    case .serverUnavailable: []
    default: [String(status.code)]
    }
  }

  /// The fields that HTTP requires with this error in every wire.
  fileprivate var fields: [(FieldName, String)] {
    switch self {
    case .methodNotAllowed: [(.allow, "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")]
    case .tooManyRequests, .serverUnavailable: [(.retryAfter, "1")]
    default: []
    }
  }
}

/// A static response body in nginx's configuration.
package struct WebServerPage: Sendable {
  package let type: MediaType
  /// The body, without apostrophes, dollar signs and backslashes, which nginx would interpret.
  package let body: String

  package init(_ type: MediaType, _ body: String) {
    precondition(!body.utf8.contains { "'$\\".utf8.contains($0) }, "nginx cannot say \(body)")
    self.type = type
    self.body = body
  }
}

extension WebServer {
  /// Returns nginx's configuration of its own errors, in the format of the wire that owns the path.
  ///
  /// It does not use named locations. nginx answers 500 if it must enter one before it has a path,
  /// as after an overlong request line. The requested path follows the name of the page. So the
  /// location with the longest prefix selects the wire.
  package static func errorPages(of wires: [any Wire]) -> String {
    let limits = [usualBodyLimit] + largerBodies(of: wires).map(\.limit)
    let pages = refusals(bodyLimits: limits).flatMap { locations($0, of: wires) }
    return """
      # Made by `dossierd error-pages` from what the wires declare; a test compares.
      #
      # What nginx refuses by itself is told in the words of the wire whose path was asked. Pages of any
      # origin may read it: it is the same for everybody.
      \(causes(bodyLimit: usualBodyLimit).joined(separator: "\n"))

      \(pages.joined(separator: "\n"))

      """
  }

  private static func refusals(bodyLimits: [Int]) -> [WebServerRefusal] {
    [.requestMalformed, .internalOnly, .notFound, .methodNotAllowed]
      + bodyLimits.map(WebServerRefusal.bodyTooLarge)
      + [.uriTooLong, .tooManyRequests, .headerTooLarge, .serverUnavailable]
  }

  /// Returns the `error_page` directives for locations with this body limit.
  static func causes(bodyLimit: Int) -> [String] {
    refusals(bodyLimits: [bodyLimit]).flatMap { refusal in
      refusal.causes.map { "error_page \($0) \(path(of: refusal))$uri;" }
    }
  }

  private static func path(of refusal: WebServerRefusal) -> String {
    if case .bodyTooLarge(let limit) = refusal, limit != usualBodyLimit {
      return "/-/\(refusal.rawValue)_\(limit)"
    }
    return "/-/\(refusal.rawValue)"
  }

  private static func locations(_ refusal: WebServerRefusal, of wires: [any Wire]) -> [String] {
    wires.enumerated().flatMap { index, wire in
      (index == 0 ? [""] : wire.prefixes).map { prefix in
        location("\(path(of: refusal))\(prefix)", refusal, wire)
      }
    }
  }

  private static func location(
    _ path: String,
    _ refusal: WebServerRefusal,
    _ wire: any Wire
  ) -> String {
    let page = wire.page(for: refusal)
    let exposed = wire.crossOrigin.exposed.map(\.text).joined(separator: ", ")
    let fields =
      refusal.fields.map { ($0.0.text, "\"\($0.1)\"") } + [
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "$dossier_policy"),
        ("Strict-Transport-Security", "$dossier_transport"),
        // nginx omits this field if the request has no origin.
        ("Access-Control-Allow-Origin", "$http_origin"),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Expose-Headers", "\"\(exposed)\""),
        ("Vary", "Origin"),
      ]
    // An empty `types` block, so that nginx does not derive the type from the requested path.
    let lines = fields.map { "  add_header \($0.0) \($0.1) always;" }.joined(separator: "\n")
    return """
      location ^~ \(path) {
        internal;
        types { }
        default_type \(page.type.rawValue);
      \(lines)
        return \(refusal.status.code) '\(page.body)';
      }
      """
  }
}
