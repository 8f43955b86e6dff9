internal import JSON

/// The elements of an array: a list, or JSON that is decoded lazily, element by element.
///
/// An unchanged array remains the received text. So a large document takes little more memory than
/// its bytes.
package struct BSONArray: Sendable {
  private enum Storage: Sendable {
    case list([BSON])
    case json(JSONArray)
  }

  private var storage: Storage

  init(_ elements: [BSON]) { storage = .list(elements) }

  init(_ elements: JSONArray) { storage = .json(elements) }

  /// Returns the elements as a list that can be changed in place.
  consuming func list() -> [BSON] {
    switch storage {
    case .list(let elements): elements
    case .json(let elements): elements.map { BSON(part: $0) }
    }
  }

  /// Returns an element, and charges the budget for decoding it.
  func element(_ index: Int, _ budget: inout Budget) throws(OperatorError) -> BSON {
    switch storage {
    case .list(let elements): return elements[index]
    case .json(let elements): return try BSON(elements.part(index), &budget)
    }
  }

  /// The JSON as received.
  ///
  /// Nil if the array was created or changed here.
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
