internal import JSON

/// The elements of an array: a list, or JSON that is read element by element when it is looked at.
///
/// What nobody changes stays the text that came in, so that a large document costs little more
/// memory than its bytes.
package struct BSONArray: Sendable {
  private enum Storage: Sendable {
    case list([BSON])
    case json(JSONArray)
  }

  private var storage: Storage

  init(_ elements: [BSON]) { storage = .list(elements) }

  init(_ elements: JSONArray) { storage = .json(elements) }

  /// The elements as a list, in which they can be changed where they are.
  consuming func list() -> [BSON] {
    switch storage {
    case .list(let elements): elements
    case .json(let elements): elements.map { BSON(part: $0) }
    }
  }

  /// The element, whose reading is paid for.
  func element(_ index: Int, _ budget: inout Budget) throws(OperatorError) -> BSON {
    switch storage {
    case .list(let elements): return elements[index]
    case .json(let elements): return try BSON(elements.part(index), &budget)
    }
  }

  /// As it came in; nil when it was made or changed.
  var source: JSON? {
    if case .json(let elements) = storage { return .array(elements) }
    return nil
  }
}

extension BSONArray: RandomAccessCollection, ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: BSON...) { self.init(elements) }

  package var startIndex: Int { 0 }

  package var endIndex: Int {
    switch storage {
    case .list(let elements): elements.count
    case .json(let elements): elements.count
    }
  }

  package subscript(_ index: Int) -> BSON {
    switch storage {
    case .list(let elements): elements[index]
    case .json(let elements): BSON(part: elements[index])
    }
  }
}

extension BSONArray: Equatable {
  package static func == (first: BSONArray, second: BSONArray) -> Bool {
    first.count == second.count && first.elementsEqual(second)
  }
}
