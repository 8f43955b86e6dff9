/// The operand of `$push`.
struct Push: Sendable {
  let elements: BSONArray
  /// The index at which to insert.
  ///
  /// A negative one counts from the end.
  var position: Int?
  var sort: Sort?
  /// The number of first elements to keep, or of last elements if negative.
  var slice: Int?

  init(elements: BSONArray) { self.elements = elements }

  /// The number of names looked up in each element for the sort.
  var sortKeys: Int {
    guard case .fields(let order) = sort else { return 0 }
    return order.keys.reduce(0) { $0 + $1.path.count }
  }

  enum Sort: Sendable {
    case values(isAscending: Bool)
    case fields(SortOrder)
  }

  /// Inserts the elements, sorts the whole array, then cuts it.
  func apply(to array: inout [BSON]) {
    let position = position ?? array.count
    let index = position < 0 ? max(array.count + position, 0) : position
    array.insert(contentsOf: elements, at: min(index, array.count))
    switch sort {
    case .values(let isAscending):
      array.sort { BSON.compare($0, $1) == (isAscending ? .ascending : .descending) }
    case .fields(let order): Self.sort(&array, by: order.keys)
    case nil: break
    }
    guard let slice, slice.magnitude < UInt(array.count) else { return }
    array = slice < 0 ? Array(array.suffix(-slice)) : Array(array.prefix(slice))
  }

  /// Sorts the array.
  ///
  /// A missing field counts as null.
  private static func sort(_ array: inout [BSON], by keys: [SortOrder.Key]) {
    // The key values of all elements in one flat array.
    let values = array.flatMap { element in keys.lazy.map { element.keyValue(at: $0.path) } }
    let places = array.indices.sorted { first, second in
      for (position, key) in keys.enumerated() {
        let order = BSON.compare(
          values[first * keys.count + position], values[second * keys.count + position]
        )
        if order != .same { return order == (key.isAscending ? .ascending : .descending) }
      }
      return false
    }
    array = places.map { array[$0] }
  }
}

extension BSON {
  /// Returns the value that nested objects lead to.
  ///
  /// Arrays are not entered.
  fileprivate func keyValue(at path: [FieldName]) -> BSON {
    var value: BSON? = self
    for name in path { value = value?.document?[name] }
    return value ?? .null
  }
}
