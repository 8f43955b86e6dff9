/// Finds what a method and a path lead to: the number of a route.
///
/// A tree of path segments; a literal is preferred to a capture, where both lead to a route.
package struct Router {
  private let root = PathNode()

  package enum Match {
    case found(Int, Captures)
    /// The path leads somewhere, with these methods.
    case otherMethods([Method])
    case nowhere
    /// A segment that cannot be decoded.
    case badPath
  }

  package init() {}

  /// Adds a route.
  ///
  /// Two for one place are a mistake in the program and stop it.
  /// - Parameters:
  ///   - method: GET answers HEAD too.
  ///   - pattern: `/v1/users/{id}`; a capture is a whole segment.
  ///   - number: what is found.
  package func add(_ method: Method, _ pattern: String, _ number: Int) {
    root.add(method, pattern, number)
  }

  package func match(_ method: Method, _ path: Substring) -> Match {
    var path = path
    return path.withUTF8 { path in
      guard path.first == UInt8(ascii: "/") else { return .nowhere }
      // The path of the root has no segment.
      var values: [String] = []
      return root.find(method, path, from: path.count == 1 ? 2 : 1, &values)
    }
  }
}

/// What a pattern captured of a path, decoded, in the order of the pattern.
package struct Captures: Sendable {
  private let names: [String]
  package let values: [String]

  package init() { (names, values) = ([], []) }

  init(_ names: [String], _ values: [String]) { (self.names, self.values) = (names, values) }

  package subscript(_ name: String) -> String? { names.firstIndex(of: name).map { values[$0] } }
}

/// One place in the tree of a router.
///
/// Looked through in order: a place has a dozen children at most, told apart by their lengths.
private final class PathNode {
  private var literals: [(segment: [UInt8], node: PathNode)] = []
  private var capture: PathNode?
  /// Each with its names for what was captured: routes of two wires may have different ones.
  private var routes: [(method: Method, number: Int, names: [String])] = []

  init() {}

  func add(_ method: Method, _ pattern: String, _ number: Int) {
    var node = self
    var names: [String] = []
    for segment in pattern.split(separator: "/") {
      if segment.hasPrefix("{"), segment.hasSuffix("}") {
        names.append(String(segment.dropFirst().dropLast()))
        node = node.captured()
      } else {
        node = node.child(Array(segment.utf8))
      }
    }
    precondition(!node.routes.contains { $0.method == method }, "\(method) \(pattern) twice")
    node.routes.append((method, number, names))
  }

  private func child(_ segment: [UInt8]) -> PathNode {
    if let (_, node) = literals.first(where: { $0.segment == segment }) { return node }
    let node = PathNode()
    literals.append((segment, node))
    return node
  }

  private func captured() -> PathNode {
    let node = capture ?? PathNode()
    capture = node
    return node
  }

  /// - Parameters:
  ///   - method: of the request.
  ///   - path: all of it.
  ///   - start: of the segment that this place's children are told apart by; past the end of the
  ///     path and its slash when there is none.
  ///   - values: what was captured on the way here.
  /// - Returns: the best that the places below have.
  func find(
    _ method: Method,
    _ path: UnsafeBufferPointer<UInt8>,
    from start: Int,
    _ values: inout [String]
  ) -> Router.Match {
    guard start <= path.count else { return route(method, values) }
    var end = start
    while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
    let segment = UnsafeBufferPointer(rebasing: path[start..<end])
    guard let capture else {
      return literal(segment)?.find(method, path, from: end + 1, &values) ?? .nowhere
    }
    let match = literal(segment)?.find(method, path, from: end + 1, &values) ?? .nowhere
    if case .found = match { return match }
    guard let value = PercentCoding.decode(Substring(decoding: segment, as: UTF8.self)) else {
      return match.or(.badPath)
    }
    guard !value.isEmpty else { return match }
    values.append(value)
    let other = capture.find(method, path, from: end + 1, &values)
    if case .found = other { return other }
    values.removeLast()
    return match.or(other)
  }

  private func literal(_ segment: UnsafeBufferPointer<UInt8>) -> PathNode? {
    for (literal, node) in literals
    where literal.count == segment.count && Self.areSame(literal.span, segment.span) { return node }
    return nil
  }

  /// Whether two segments of one length are the same.
  private static func areSame(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
    for index in first.indices where first[index] != second[index] { return false }
    return true
  }

  private func route(_ method: Method, _ values: [String]) -> Router.Match {
    guard !routes.isEmpty else { return .nowhere }
    if let index = index(of: method) ?? (method == .head ? index(of: .get) : nil) {
      return .found(routes[index].number, Captures(routes[index].names, values))
    }
    var methods = routes.map(\.method)
    if methods.contains(.get) { methods.append(.head) }
    return .otherMethods(methods.sorted { $0.rawValue < $1.rawValue })
  }

  private func index(of method: Method) -> Int? {
    routes.firstIndex { $0.method == method }
  }
}

extension Router.Match {
  /// What a path leads to that fits a literal, with this outcome, and a capture, with the other.
  fileprivate func or(_ other: Router.Match) -> Router.Match {
    switch (self, other) {
    case (.found, _), (_, .nowhere): self
    case (.otherMethods(let some), .otherMethods(let others)):
      .otherMethods(Set(some + others).sorted { $0.rawValue < $1.rawValue })
    case (_, .found), (.nowhere, _), (.badPath, _): other
    case (.otherMethods, .badPath): self
    }
  }
}
