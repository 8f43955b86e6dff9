/// Finds what a method and a path lead to.
///
/// A tree of path segments; a literal is preferred to a capture.
package struct Router<Value> {
  private var root = Node()

  private final class Node {
    var literals: [Substring: Node] = [:]
    var capture: (name: String, node: Node)?
    var values: [Method: Value] = [:]
  }

  package enum Match {
    case found(Value, [String: String])
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
  ///   - value: what is found.
  package mutating func add(_ method: Method, _ pattern: String, _ value: Value) {
    var node = root
    for segment in pattern.split(separator: "/") {
      if segment.hasPrefix("{"), segment.hasSuffix("}") {
        let name = String(segment.dropFirst().dropLast())
        let next = node.capture?.node ?? Node()
        precondition(node.capture.map { $0.name == name } ?? true, "two names in \(pattern)")
        node.capture = (name, next)
        node = next
      } else {
        let next = node.literals[segment] ?? Node()
        node.literals[segment] = next
        node = next
      }
    }
    precondition(
      node.values.updateValue(value, forKey: method) == nil,
      "\(method) \(pattern) twice"
    )
  }

  package func match(_ method: Method, _ path: Substring) -> Match {
    guard path.utf8.first == UInt8(ascii: "/") else { return .nowhere }
    var node = root
    var captures: [String: String] = [:]
    if path.utf8.count > 1 {
      let segments = path.utf8.dropFirst().split(
        separator: UInt8(ascii: "/"),
        omittingEmptySubsequences: false
      )
      for segment in segments.lazy.map(Substring.init) {
        if let next = node.literals[segment] {
          node = next
        } else if let (name, next) = node.capture {
          guard let value = PercentCoding.decode(segment) else { return .badPath }
          guard !value.isEmpty else { return .nowhere }
          captures[name] = value
          node = next
        } else {
          return .nowhere
        }
      }
    }
    guard !node.values.isEmpty else { return .nowhere }
    if let value = node.values[method] ?? (method == .head ? node.values[.get] : nil) {
      return .found(value, captures)
    }
    var methods = Array(node.values.keys)
    if node.values[.get] != nil { methods.append(.head) }
    return .otherMethods(methods.sorted { $0.rawValue < $1.rawValue })
  }
}
