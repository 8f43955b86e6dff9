/// The elements of an array: a list, or a reference into a parsed text.
///
/// The first change converts a reference to a list, whose elements remain references.
package struct JSONArray: Sendable {
  private enum Storage: Sendable {
    case list([JSON])
    case text(JSONText, JSONNode)
  }

  private var storage: Storage

  package init(_ elements: [JSON]) { storage = .list(elements) }

  init(_ text: JSONText, _ node: JSONNode) { storage = .text(text, node) }

  /// Returns the elements as a list, which can be changed in place.
  package consuming func list() -> [JSON] {
    switch storage {
    case .list(let elements): elements
    case .text: self.map(\.self)
    }
  }

  /// The position in the text; nil for an array that was created or changed.
  var place: (text: JSONText, node: JSONNode)? {
    if case .text(let text, let node) = storage { return (text, node) }
    return nil
  }

  private mutating func change<Value>(_ body: (inout [JSON]) -> Value) -> Value {
    var elements = list()
    storage = .list([])
    defer { storage = .list(elements) }
    return body(&elements)
  }
}

extension JSONArray: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
  package init() { storage = .list([]) }

  package var startIndex: Int { 0 }

  package var endIndex: Int {
    switch storage {
    case .list(let elements): elements.count
    case .text(_, let node): node.count
    }
  }

  package subscript(_ index: Int) -> JSON {
    get {
      switch storage {
      case .list(let elements): return elements[index]
      case .text(let text, let node):
        precondition(index >= 0 && index < node.count)
        return text.value(text.nodes[node.start + index])
      }
    }
    set { change { $0[index] = newValue } }
  }

  package mutating func replaceSubrange(
    _ range: Range<Int>,
    with elements: some Collection<JSON>
  ) { change { $0.replaceSubrange(range, with: elements) } }
}

extension JSONArray: Equatable {
  package static func == (first: JSONArray, second: JSONArray) -> Bool {
    first.count == second.count && first.elementsEqual(second)
  }
}

extension JSONArray: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: JSON...) { self.init(elements) }
}
