/// The operations at the end of a path.
extension Updater {
  mutating func perform(_ leaf: UpdateLeaf, on slot: inout BSON?) throws(OperatorError) -> Bool {
    switch leaf.operation {
    case .set(let value): return try set(value, &slot)
    case .setOnInsert(let value): return isInsertion ? try set(value, &slot) : false
    case .rename:
      guard let value = moved(to: leaf) else { return false }
      slot = value
      return true
    case .unset:
      defer { slot = nil }
      return slot != nil
    case .currentDate:
      slot = .date(now)
      return true
    case .currentTimestamp:
      slot = .timestamp(seconds: UInt32(clamping: now / 1000), increment: 1)
      return true
    case .minimum(let value):
      try spend(value.weight)
      guard slot.map({ BSON.compare(value, $0) == .ascending }) ?? true else { return false }
      return try set(value, &slot)
    case .maximum(let value):
      try spend(value.weight)
      guard slot.map({ BSON.compare(value, $0) == .descending }) ?? true else { return false }
      return try set(value, &slot)
    case .increment(let number):
      return try calculate(leaf, &slot, number, isMissing: number, BSON.sum)
    case .multiply(let number):
      return try calculate(leaf, &slot, number, isMissing: number.zero, BSON.product)
    case .bits(let steps): return try combine(leaf, &slot, steps)
    case .push(let push): return try pushElements(leaf, &slot, push)
    case .addToSet(let elements): return try addToSet(leaf, &slot, elements)
    case .popFirst, .popLast: return try pop(leaf, &slot)
    case .pull(let condition): return try pull(leaf, &slot, condition)
    }
  }

  private mutating func set(_ value: BSON, _ slot: inout BSON?) throws(OperatorError) -> Bool {
    guard slot != value else { return false }
    try grow(by: value)
    slot = value
    return true
  }

  // MARK: Numbers

  private mutating func calculate(
    _ leaf: UpdateLeaf, _ slot: inout BSON?, _ number: BSON, isMissing initial: BSON,
    _ operation: (BSON, BSON) -> BSON?
  ) throws(OperatorError) -> Bool {
    guard let old = slot else { return try set(initial, &slot) }
    guard old.kind.isNumber else {
      throw error(
        .typeMismatch,
        "The operator needs a number, and the stored value has type \(old.kind.alias).", leaf
      )
    }
    guard let new = operation(old, number) else {
      throw error(.badValue, "The result does not fit an integer of 64 bits.", leaf)
    }
    return try set(new, &slot)
  }

  private mutating func combine(
    _ leaf: UpdateLeaf, _ slot: inout BSON?, _ steps: [UpdateOperation.BitStep]
  ) throws(OperatorError) -> Bool {
    let old = slot ?? .int32(0)
    guard old.int64 != nil else {
      throw error(.badValue, "$bit changes integers of 32 or 64 bits.", leaf)
    }
    let new = steps.reduce(old) { value, step in
      switch step {
      case .and(let operand): BSON.bits(value, operand, &)
      case .or(let operand): BSON.bits(value, operand, |)
      case .xor(let operand): BSON.bits(value, operand, ^)
      }
    }
    return try set(new, &slot)
  }

  // MARK: Arrays

  private mutating func pushElements(
    _ leaf: UpdateLeaf, _ slot: inout BSON?, _ push: Push
  ) throws(OperatorError) -> Bool {
    let old = try array(leaf, slot)
    for element in push.elements { try grow(by: element) }
    var new = Self.list(old, more: push.elements.count)
    // A sort visits each element about log2(count) times.
    if push.sort != nil {
      let count = new.count + push.elements.count
      let weight = BSON.array(new).weight + BSON.array(push.elements).weight + count * push.sortKeys
      try spend(weight * (Int.bitWidth - count.leadingZeroBitCount) / 4)
    }
    push.apply(to: &new)
    if let old, old.elementsEqual(new) { return false }
    slot = .array(new)
    return true
  }

  private mutating func addToSet(
    _ leaf: UpdateLeaf, _ slot: inout BSON?, _ elements: BSONArray
  ) throws(OperatorError) -> Bool {
    let old = try array(leaf, slot)
    try spend(BSON.array(elements).weight + (old.map { BSON.array($0).weight } ?? 0))
    var missing = Set(values: elements)
    for element in old ?? [] { missing.remove(EqualityKey(element)) }
    guard !missing.isEmpty || old == nil else { return false }
    var new = Self.list(old, more: missing.count)
    for element in elements where missing.remove(EqualityKey(element)) != nil {
      try grow(by: element)
      new.append(element)
    }
    slot = .array(new)
    return true
  }

  /// Returns a list with capacity for more elements, so that it is allocated once.
  private static func list(_ elements: BSONArray?, more count: Int) -> [BSON] {
    var list: [BSON] = []
    list.reserveCapacity((elements?.count ?? 0) + count)
    list.append(contentsOf: elements ?? [])
    return list
  }

  private mutating func pop(_ leaf: UpdateLeaf, _ slot: inout BSON?) throws(OperatorError) -> Bool {
    guard slot != nil else { return false }
    guard var array = slot?.array?.list() else {
      throw error(.typeMismatch, "The target of $pop must be an array.", leaf)
    }
    guard !array.isEmpty else { return false }
    if case .popFirst = leaf.operation { array.removeFirst() } else { array.removeLast() }
    slot = .array(array)
    return true
  }

  private mutating func pull(
    _ leaf: UpdateLeaf, _ slot: inout BSON?, _ condition: UpdateOperation.Pull
  ) throws(OperatorError) -> Bool {
    guard let old = try array(leaf, slot) else { return false }
    var new: [BSON] = []
    for element in old {
      try spend(element.weight)
      let isPulled =
        switch condition {
        case .anyOf(let values): values.contains(EqualityKey(element))
        case .elements(let query):
          try holds(query, of: .document(BSONDocument("", element)))
        case .documents(let query):
          element.document == nil ? false : try holds(query, of: element)
        }
      if !isPulled { new.append(element) }
    }
    guard new.count != old.count else { return false }
    slot = .array(new)
    return true
  }

  /// Returns the array in the slot, or nil if the slot is empty.
  private func array(_ leaf: UpdateLeaf, _ slot: BSON?) throws(OperatorError) -> BSONArray? {
    guard let slot else { return nil }
    guard let array = slot.array else {
      throw error(.badValue, "The target must be an array; its type is \(slot.kind.alias).", leaf)
    }
    return array
  }
}
