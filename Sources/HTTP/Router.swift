import Encoding

/// Finds the number of the route for a method and a path.
///
/// It is a tree of path segments. A path that a literal names belongs to the literal alone, as in
/// OpenAPI: a capture beside it adds no methods.
package struct Router {
  private let root = PathNode()

  package enum Match {
    case found(Int, Captures)
    /// The path exists only with these methods.
    case otherMethods([Method])
    case nowhere
    /// A segment cannot be decoded.
    case badPath
  }

  package init() {}

  /// Adds a route.
  ///
  /// A duplicate route is a programming error and stops the process.
  /// - Parameters:
  ///   - method: the method; GET also answers HEAD.
  ///   - pattern: the pattern, such as `/v1/users/{id}`; a capture is a whole segment. A last
  ///     capture `{key*}` is the rest of the path, with its slashes.
  ///   - number: the number of the route.
  package func add(_ method: Method, _ pattern: String, _ number: Int) {
    root.add(method, pattern, number)
  }

  package func match(_ method: Method, _ path: Substring) -> Match {
    var path = path
    return path.withUTF8 { path in
      guard path.first == UInt8(ascii: "/") else { return .nowhere }
      // The root path has no segment.
      var values: [String] = []
      return root.find(method, path, from: path.count == 1 ? 2 : 1, &values)
    }
  }
}

/// The decoded captures of a path, in the order of the pattern.
package struct Captures: Sendable {
  private let names: [String]
  package let values: [String]

  package init() { (names, values) = ([], []) }

  init(_ names: [String], _ values: [String]) { (self.names, self.values) = (names, values) }

  package subscript(_ name: String) -> String? { names.firstIndex(of: name).map { values[$0] } }
}

/// A node in the tree of a router.
///
/// Children are searched in order. A number made from each segment rejects almost all others at once.
/// A node has a few dozen at most.
private final class PathNode {
  private var keys: [UInt64] = []
  private var literals: [(segment: [UInt8], node: PathNode)] = []
  private var capture: PathNode?
  private var rest: PathNode?
  /// The routes, each with its own capture names, which may differ between wires.
  private var routes: [(method: Method, number: Int, names: [String])] = []

  init() {}

  func add(_ method: Method, _ pattern: String, _ number: Int) {
    var node = self
    var names: [String] = []
    for segment in pattern.split(separator: "/") {
      if segment.hasPrefix("{"), segment.hasSuffix("*}") {
        names.append(String(segment.dropFirst().dropLast(2)))
        node = node.remaining()
      } else if segment.hasPrefix("{"), segment.hasSuffix("}") {
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
    keys.append(segment.withUnsafeBufferPointer(Self.key))
    literals.append((segment, node))
    return node
  }

  private func captured() -> PathNode {
    let node = capture ?? PathNode()
    capture = node
    return node
  }

  private func remaining() -> PathNode {
    precondition(literals.isEmpty && capture == nil, "segments beside the rest of a path")
    let node = rest ?? PathNode()
    rest = node
    return node
  }

  /// Finds the best match below this node.
  ///
  /// - Parameters:
  ///   - method: the method of the request.
  ///   - path: the whole path.
  ///   - start: the offset of the next segment; past the end of the path and its slash without
  ///     one.
  ///   - values: the captures so far.
  /// - Returns: the best match.
  func find(
    _ method: Method, _ path: UnsafeBufferPointer<UInt8>, from start: Int, _ values: inout [String]
  ) -> Router.Match {
    guard start <= path.count else { return route(method, values) }
    if let rest {
      guard start < path.count else { return .nowhere }
      let text = Substring(decoding: UnsafeBufferPointer(rebasing: path[start...]), as: UTF8.self)
      guard let value = PercentCoding.decode(text) else { return .badPath }
      values.append(value)
      return rest.route(method, values)
    }
    var end = start
    while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
    let segment = UnsafeBufferPointer(rebasing: path[start..<end])
    guard let capture else {
      return literal(segment)?.find(method, path, from: end + 1, &values) ?? .nowhere
    }
    let match = literal(segment)?.find(method, path, from: end + 1, &values) ?? .nowhere
    guard case .nowhere = match else { return match }
    guard let value = PercentCoding.decode(Substring(decoding: segment, as: UTF8.self)) else {
      return .badPath
    }
    guard !value.isEmpty else { return .nowhere }
    values.append(value)
    let other = capture.find(method, path, from: end + 1, &values)
    if case .found = other { return other }
    values.removeLast()
    return other
  }

  private func literal(_ segment: UnsafeBufferPointer<UInt8>) -> PathNode? {
    let key = Self.key(segment)
    // The number of a short segment has all of its bytes.
    let isShort = segment.count <= Self.bytesOfKey
    for index in keys.indices
    where keys[index] == key && (isShort || literals[index].segment.elementsEqual(segment)) {
      return literals[index].node
    }
    return nil
  }

  /// Returns a number that differs for most segments: the length and the last seven bytes.
  private static func key(_ segment: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var key = UInt64(truncatingIfNeeded: segment.count)
    for byte in segment.suffix(bytesOfKey) { key = key << 8 | UInt64(byte) }
    return key
  }

  private static let bytesOfKey = 7

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
