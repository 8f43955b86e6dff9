/// The operand of `$push`.
struct Push: Sendable {
  let elements: BSONArray
  /// Counted from the end when negative.
  var position: Int?
  var sort: Sort?
  /// How many of the first, or of the last when negative.
  var slice: Int?

  init(elements: BSONArray) { self.elements = elements }

  /// Names that are looked up in each element, before it is sorted.
  var sortKeys: Int {
    guard case .fields(let order) = sort else { return 0 }
    return order.keys.reduce(0) { $0 + $1.path.count }
  }

  enum Sort: Sendable {
    case values(isAscending: Bool)
    case fields(SortOrder)
  }

  /// Inserts, then sorts the whole, then cuts.
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

  /// What has no such field counts as null.
  private static func sort(_ array: inout [BSON], by keys: [SortOrder.Key]) {
    // Side by side, those of one element after those of another.
    let values = array.flatMap { element in keys.lazy.map { element.keyValue(at: $0.path) } }
    let places = array.indices.sorted { first, second in
      for (position, key) in keys.enumerated() {
        let order = BSON.compare(
          values[first * keys.count + position],
          values[second * keys.count + position]
        )
        if order != .same { return order == (key.isAscending ? .ascending : .descending) }
      }
      return false
    }
    array = places.map { array[$0] }
  }
}

extension BSON {
  /// What objects within each other lead to; arrays end the way.
  fileprivate func keyValue(at path: [FieldName]) -> BSON {
    var value: BSON? = self
    for name in path { value = value?.document?[name] }
    return value ?? .null
  }
}
