/// The elements of an array: a list, or a reference into a parsed text.
package struct JSONArray: Sendable {
  private enum Storage: Sendable {
    case list([JSON])
    case text(JSONText, JSONNode)
  }

  private let storage: Storage

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
}

extension JSONArray: RandomAccessCollection {
  package var startIndex: Int { 0 }

  package var endIndex: Int {
    switch storage {
    case .list(let elements): elements.count
    case .text(_, let node): node.count
    }
  }

  package subscript(_ index: Int) -> JSON {
    switch storage {
    case .list(let elements): return elements[index]
    case .text(let text, let node):
      precondition(index >= 0 && index < node.count)
      return text.value(text.nodes[node.start + index])
    }
  }
}

extension JSONArray: Equatable {
  package static func == (first: JSONArray, second: JSONArray) -> Bool {
    first.count == second.count && first.elementsEqual(second)
  }
}

extension JSONArray: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: JSON...) { self.init(elements) }
}
