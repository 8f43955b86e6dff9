/// Finds what a method and a path lead to: the number of a route.
///
/// A tree of path segments; a literal is preferred to a capture.
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
    return path.withUTF8 { root.find(method, $0) }
  }
}

/// What a pattern captured of a path, decoded, in the order of the pattern.
package struct Captures: Sendable {
  private var members: [(name: String, value: String)] = []

  package init() {}

  package subscript(_ name: String) -> String? { members.first { $0.name == name }?.value }

  package var values: [String] { members.map(\.value) }

  mutating func append(_ name: String, _ value: String) { members.append((name, value)) }
}

/// One place in the tree of a router.
///
/// Looked through in order: a place has a dozen children at most, told apart by their lengths.
private final class PathNode {
  private var literals: [(segment: [UInt8], node: PathNode)] = []
  private var capture: (name: String, node: PathNode)?
  private var routes: [(method: Method, index: Int)] = []

  init() {}

  func add(_ method: Method, _ pattern: String, _ index: Int) {
    var node = self
    for segment in pattern.split(separator: "/") { node = node.child(segment, of: pattern) }
    precondition(!node.routes.contains { $0.method == method }, "\(method) \(pattern) twice")
    node.routes.append((method, index))
  }

  private func child(_ segment: Substring, of pattern: String) -> PathNode {
    guard segment.hasPrefix("{"), segment.hasSuffix("}") else {
      let bytes = Array(segment.utf8)
      if let (_, node) = literals.first(where: { $0.segment == bytes }) { return node }
      let node = PathNode()
      literals.append((bytes, node))
      return node
    }
    let name = String(segment.dropFirst().dropLast())
    precondition(capture.map { $0.name == name } ?? true, "two names in \(pattern)")
    let node = capture?.node ?? PathNode()
    capture = (name, node)
    return node
  }

  func find(_ method: Method, _ path: UnsafeBufferPointer<UInt8>) -> Router.Match {
    let slash = UInt8(ascii: "/")
    guard path.first == slash else { return .nowhere }
    var node = self
    var captures = Captures()
    var start = 1
    // The path of the root has no segment.
    while path.count > 1, start <= path.count {
      var end = start
      while end < path.count, path[end] != slash { end += 1 }
      let segment = UnsafeBufferPointer(rebasing: path[start..<end])
      if let next = node.literal(segment) {
        node = next
      } else if let (name, next) = node.capture {
        guard let value = PercentCoding.decode(Substring(decoding: segment, as: UTF8.self)) else {
          return .badPath
        }
        guard !value.isEmpty else { return .nowhere }
        captures.append(name, value)
        node = next
      } else {
        return .nowhere
      }
      start = end + 1
    }
    return node.route(method, captures)
  }

  private func literal(_ segment: UnsafeBufferPointer<UInt8>) -> PathNode? {
    for (literal, node) in literals
    where literal.count == segment.count && literal.elementsEqual(segment) { return node }
    return nil
  }

  private func route(_ method: Method, _ captures: Captures) -> Router.Match {
    guard !routes.isEmpty else { return .nowhere }
    if let index = index(of: method) ?? (method == .head ? index(of: .get) : nil) {
      return .found(index, captures)
    }
    var methods = routes.map(\.method)
    if methods.contains(.get) { methods.append(.head) }
    return .otherMethods(methods.sorted { $0.rawValue < $1.rawValue })
  }

  private func index(of method: Method) -> Int? {
    routes.first { $0.method == method }?.index
  }
}
