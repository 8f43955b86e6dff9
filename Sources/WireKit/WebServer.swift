import Accounts
package import HTTP
package import Localization
import Runtime

/// Configuration of nginx, generated from the declarations of the wires.
package enum WebServer {
  /// The header fields read from every request, in the order in which nginx sends them.
  private static let first: [FieldName] = [.requestID, .authorization]
  private static let others: [FieldName] = [
    .origin, .ifNoneMatch, .ifMatch, .idempotencyKey, .cookie, .acceptLanguage, .traceparent,
  ]

  /// Returns nginx's list of the parameters that it sends to a worker.
  package static func parameters(of wires: [any Wire]) -> String {
    var seen = Set(first + others)
    let own = wires.flatMap(\.fields).filter { seen.insert($0).inserted }
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
      \(lines(own))
      \(parameter(.clientOrigin, "$dossier_scheme://$http_host"));
      # Of browsers, and of whoever asks for a version.
      \(lines(others))
      fastcgi_param CONTENT_TYPE $content_type if_not_empty;
      # Also of a chunked body, which has been read to its end by then.
      fastcgi_param CONTENT_LENGTH $content_length if_not_empty;
      # Only whether a page is asked for.
      \(parameter(.accept, "$dossier_accept")) if_not_empty;
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
private struct WebServerError {
  let failure: Failure
  /// The statuses for which nginx shows this error, unless a more specific rule applies.
  let causes: [String]
  /// The fields that HTTP requires with this error in every wire.
  var fields: [(FieldName, String)] = []
  /// The path of the page in nginx's configuration.
  let path: String

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - failure: the declared failure.
  ///   - causes: nginx's statuses; by default, that of the type.
  ///   - limit: the body limit of the path, if the body exceeds it.
  init(_ failure: Failure, causes: [String]? = nil, limit: Int? = nil) {
    let type = failure.type
    let needsTime = type.kind == .tooMany || type.kind == .unavailable
    self.failure =
      limit.map(Failure.bodyTooLarge(above:)) ?? failure(retryAfter: needsTime ? .seconds(1) : nil)
    self.causes = causes ?? [String(type.status.code)]
    let isUsual = limit == nil || limit == WebServer.usualBodyLimit
    path = "/-/\(type.code)\(isUsual ? "" : "_\(limit ?? 0)")"
    if needsTime { fields = [(.retryAfter, "1")] }
    if failure.is(.methodNotAllowed) {
      fields = [(.allow, "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")]
    }
  }

  static func all(bodyLimits: [Int]) -> [WebServerError] {
    [
      // nginx uses 501 for an unknown Transfer-Encoding.
      WebServerError(.requestMalformed, causes: ["400", "501 =400"]),
      WebServerError(.internalOnly), WebServerError(.notFound),
      // nginx rejects TRACE with 405.
      WebServerError(.methodNotAllowed),
    ] + bodyLimits.map { WebServerError(.bodyTooLarge, limit: $0) } + [
      WebServerError(.uriTooLong), WebServerError(.tooManyRequests),
      // 494 is nginx's own number for long header fields.
      WebServerError(.headerTooLarge, causes: ["494 =431"]),
      // No worker was reachable, or a worker crashed during the request.
      WebServerError(.serverUnavailable, causes: []),
    ]
  }
}

/// A static response body in nginx's configuration.
package struct WebServerPage: Sendable {
  package let type: MediaType
  /// Returns the body with the texts of a language.
  private let text: @Sendable (Catalog) -> String

  /// The Content-Security-Policy; nil for that of data.
  let policy: String?

  package init(_ type: MediaType, _ body: String) {
    self.init(type, policy: nil) { _ in body }
  }

  /// - Parameters:
  ///   - type: the type of the body.
  ///   - policy: the Content-Security-Policy.
  ///   - text: returns the body with the texts of a language.
  package init(
    _ type: MediaType, policy: String?, _ text: @escaping @Sendable (Catalog) -> String
  ) {
    (self.type, self.policy, self.text) = (type, policy, text)
  }

  /// Returns the body, without apostrophes, dollar signs and backslashes, which nginx would interpret.
  func body(in catalog: Catalog) -> String {
    // In HTML, which alone has texts of people, an entity stands for an apostrophe.
    let body = policy == nil ? text(catalog) : text(catalog).replacing("'", with: "&#39;")
    precondition(!body.utf8.contains { "'$\\".utf8.contains($0) }, "nginx cannot say \(body)")
    return body
  }
}

extension WebServer {
  /// Returns nginx's configuration of its own errors, in the format of the wire that owns the path.
  ///
  /// It does not use named locations. nginx answers 500 if it must enter one before it has a path,
  /// as after an overlong request line. The requested path follows the name of the page. So the
  /// location with the longest prefix selects the wire.
  package static func errorPages(of wires: [any Wire], in catalog: Catalog) -> String {
    let limits = [usualBodyLimit] + largerBodies(of: wires).map(\.limit)
    let pages = WebServerError.all(bodyLimits: limits).flatMap { locations($0, of: wires, catalog) }
    return """
      # Made by `dossierd error-pages` from what the wires declare.
      #
      # What nginx refuses by itself is told in the words of the wire whose path was asked. Pages of any
      # origin may read it: it is the same for everybody.
      \(causes(bodyLimit: usualBodyLimit).joined(separator: "\n"))

      \(pages.joined(separator: "\n"))

      """
  }

  /// Returns the `error_page` directives for locations with this body limit.
  static func causes(bodyLimit: Int) -> [String] {
    WebServerError.all(bodyLimits: [bodyLimit]).flatMap { error in
      error.causes.map { "error_page \($0) \(error.path)$uri;" }
    }
  }

  private static func locations(
    _ error: WebServerError, of wires: [any Wire], _ catalog: Catalog
  ) -> [String] {
    wires.enumerated().flatMap { index, wire in
      (index == 0 ? [""] : wire.prefixes).map { location(error, wire, at: $0, catalog) }
    }
  }

  private static func location(
    _ error: WebServerError, _ wire: any Wire, at prefix: String, _ catalog: Catalog
  ) -> String {
    let page = wire.page(for: error.failure, at: prefix)
    let exposed = wire.crossOrigin.exposed.map(\.text).joined(separator: ", ")
    let isLimit = error.failure.type.kind == .tooMany
    let counters: [(FieldName, String)] =
      wire.requestLimit.map {
        [
          (.rateLimitQuota, "\"\($0.quota)\""),
          (.rateLimitRemaining, "\"\(isLimit ? 0 : $0.remaining)\""),
          // nginx cannot add; requests come back in each second.
          (.rateLimitReset, "$dossier_second"),
        ]
      } ?? []
    let fields =
      error.fields.map { ($0.0.text, "\"\($0.1)\"") } + counters.map { ($0.0.text, $0.1) } + [
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", page.policy.map { "\"\($0)\"" } ?? "$dossier_policy"),
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
      location ^~ \(error.path)\(prefix) {
        internal;
        types { }
        default_type \(page.type.rawValue);
      \(lines)
        return \(error.failure.type.status.code) '\(page.body(in: catalog))';
      }
      """
  }
}

extension WebServer {
  /// The default body limit of nginx, in bytes.
  static let usualBodyLimit = 1_048_576

  /// Paths with the same body limit above the default.
  struct LargerBodies {
    let limit: Int
    /// The patterns of the paths, such as `/v1/users/{user}`.
    let patterns: [String]
  }

  /// Returns the limits above the default, in ascending order.
  static func largerBodies(of wires: [any Wire]) -> [LargerBodies] {
    var limits: [String: Int] = [:]
    for route in wires.flatMap(\.routes) where route.body.limit > usualBodyLimit {
      limits[route.pattern] = max(limits[route.pattern] ?? 0, route.body.limit)
    }
    return Dictionary(grouping: limits.keys) { limits[$0] ?? 0 }
      .map { LargerBodies(limit: $0.key, patterns: $0.value.sorted()) }
      .sorted { $0.limit < $1.limit }
  }

  /// Returns nginx's configuration of the body limit of each path.
  package static func bodyLimits(of wires: [any Wire]) -> String {
    let locations = largerBodies(of: wires).map(location)
    return """
      # Made by `dossierd body-limits` from what the routes declare; a test compares.
      #
      # How large a body may be; routes have limits of their own below it.
      client_max_body_size \(usualBodyLimit);

      \(locations.joined(separator: "\n"))

      """
  }

  private static func location(_ bodies: LargerBodies) -> String {
    let paths = bodies.patterns.map(expression).joined(separator: "|")
    let causes = causes(bodyLimit: bodies.limit).map { "  \($0)" }.joined(separator: "\n")
    return """
      location ~ "^(\(paths))$" {
        client_max_body_size \(bodies.limit);
        client_body_timeout 30s;
        # A picture: its turn may take 10 s to come, and decoding it 20.
        fastcgi_read_timeout 35s;
        # One here, and those outside count no more.
      \(causes)
        error_page 502 504 = @another;
        fastcgi_pass dossier_workers;
      }
      """
  }

  /// Returns the regular expression for a path pattern.
  private static func expression(of pattern: String) -> String {
    pattern.split(separator: "/", omittingEmptySubsequences: false).map { segment in
      segment.hasPrefix("{") ? "[^/]+" : segment.replacing(".", with: "\\.")
    }.joined(separator: "/")
  }
}
