import HTTP

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
