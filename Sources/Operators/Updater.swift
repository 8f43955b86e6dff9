internal import JSON

/// One application of an update to one document.
struct Updater {
  let now: Int64
  let isInsertion: Bool
  private(set) var budget: Budget
  /// The values that renames move, by the target's path as the client wrote it.
  private var moved: [ByteString: BSON] = [:]
  /// The current place in the document.
  private var place: [String] = []

  /// MongoDB's limit on the nulls that pad an array before a new index.
  private static let paddingLimit = 1_500_000

  init(now: Int64, isInsertion: Bool, budget: Budget) {
    self.now = now
    self.isInsertion = isInsertion
    self.budget = budget
  }

  mutating func update(
    _ document: BSONDocument, by root: UpdateStep, _ renames: [Update.Rename]
  ) throws(OperatorError) -> (BSONDocument, isModified: Bool) {
    for rename in renames {
      if let value = try value(to: rename, in: document) {
        moved[ByteString(rename.leaf.path)] = value
      }
    }
    var slot: BSON? = .document(document)
    let isModified = try apply(root, to: &slot)
    return (slot?.document ?? BSONDocument(), isModified)
  }

  // MARK: Traversal

  /// Applies a step to a value or to a missing value.
  ///
  /// Returns whether anything changed.
  private mutating func apply(
    _ step: UpdateStep, to slot: inout BSON?
  ) throws(OperatorError) -> Bool {
    try budget.spend(1)
    switch (step, slot) {
    case (.leaf(let leaf), _): return try perform(leaf, on: &slot)
    case (.fields(let fields), nil):
      var document = BSONDocument()
      let isModified = try change(&document, by: fields)
      if isModified { slot = .document(document) }
      return isModified
    case (.fields(let fields), .document):
      var document = Self.takeDocument(from: &slot)
      let isModified = try change(&document, by: fields)
      slot = .document(document)
      return isModified
    case (.fields(let fields), .array):
      var array = Self.takeList(from: &slot)
      let isModified = try change(&array, by: fields)
      slot = .array(array)
      return isModified
    case (.fields(let fields), let value?):
      for field in fields { try deadEnd(field, in: value) }
      return false
    case (.elements(let elements), .array):
      var array = Self.takeList(from: &slot)
      let isModified = try change(&array, by: elements)
      slot = .array(array)
      return isModified
    case (.elements, let value):
      throw error(
        .badValue,
        value == nil
          ? "There must be an array for its elements to be changed."
          : "Only an array has elements to change.",
        step.firstLeaf
      )
    }
  }

  /// Takes the document out of the slot.
  ///
  /// The caller is then its only owner and changes it without a copy.
  private static func takeDocument(from slot: inout BSON?) -> BSONDocument {
    defer { slot = nil }
    return slot?.document ?? BSONDocument()
  }

  private static func takeList(from slot: inout BSON?) -> [BSON] {
    defer { slot = nil }
    return slot?.array?.list() ?? []
  }

  private mutating func change(
    _ document: inout BSONDocument, by fields: [UpdateStep.Field]
  ) throws(OperatorError) -> Bool {
    var isModified = false
    var removed: Set<Int> = []
    for field in fields {
      let name = field.name
      try budget.spend(name.weight)
      place.append(name.text)
      let position = document.position(of: name)
      var slot = position.map { document.take(at: $0) }
      if try apply(field.step, to: &slot) { isModified = true }
      switch (position, slot) {
      case (let position?, let value?): document.put(value, at: position)
      case (let position?, nil): removed.insert(position)
      case (nil, let value?): document.append(name, value)
      case (nil, nil): break
      }
      place.removeLast()
    }
    document.remove(at: removed)
    return isModified
  }

  private mutating func change(
    _ array: inout [BSON], by fields: [UpdateStep.Field]
  ) throws(OperatorError) -> Bool {
    var isModified = false
    for field in fields {
      guard let index = field.index else {
        try deadEnd(field, in: .array([BSON]()))
        continue
      }
      place.append(field.name.text)
      if index < array.count {
        if try applyToElement(index, of: &array, field.step) { isModified = true }
      } else {
        var slot: BSON?
        if try apply(field.step, to: &slot), let value = slot {
          let padding = index - array.count
          guard padding <= Self.paddingLimit else {
            throw error(
              .cannotBackfillArray,
              "At most \(Self.paddingLimit) nulls are put before a new element.",
              field.step.firstLeaf
            )
          }
          try budget.grow(by: 5 * padding)
          array.append(contentsOf: repeatElement(.null, count: padding))
          array.append(value)
          isModified = true
        }
      }
      place.removeLast()
    }
    return isModified
  }

  /// Applies `$[]` and `$[identifier]`.
  private mutating func change(
    _ array: inout [BSON], by elements: ElementSteps
  ) throws(OperatorError) -> Bool {
    var isModified = false
    for index in array.indices {
      place.append(String(index))
      var passed: UInt64 = 0
      for (bit, filter) in elements.filters.enumerated() {
        let element = BSON.document(BSONDocument(elements.identifiers[bit], array[index]))
        if try filter.holds(of: element, &budget) { passed |= 1 << bit }
      }
      try budget.spend(1)
      let step = try elements.step(passed, at: place, &budget)
      if let step, try applyToElement(index, of: &array, step) { isModified = true }
      place.removeLast()
    }
    return isModified
  }

  /// Applies a step to one element.
  ///
  /// A removed element becomes null.
  private mutating func applyToElement(
    _ index: Int, of array: inout [BSON], _ step: UpdateStep
  ) throws(OperatorError) -> Bool {
    let wasNull = array[index] == .null
    var slot: BSON? = array[index]
    array[index] = .null
    let isModified = try apply(step, to: &slot)
    guard let slot else { return isModified && !wasNull }
    array[index] = slot
    return isModified
  }

  // MARK: Ends of paths

  /// Handles a path through a value that cannot have the field.
  ///
  /// Throws `.pathNotViable`, unless the operation ignores the path.
  private mutating func deadEnd(_ field: UpdateStep.Field, in value: BSON) throws(OperatorError) {
    let name = field.name
    if field.step.changesElements {
      throw error(
        .badValue, "There must be an array for its elements to be changed.", field.step.firstLeaf,
        name.text
      )
    }
    var visited = 0
    let leaf = field.step.firstLeaf { leaf in
      visited += 1
      return switch leaf.operation {
      case .unset: false
      case .setOnInsert: isInsertion
      case .rename: moved[ByteString(leaf.path)] != nil
      default: true
      }
    }
    // The traversal visited each of these nodes.
    try spend(8 * visited)
    guard let leaf else { return }
    throw error(
      .pathNotViable,
      "There cannot be a field \(name.text) in a value of type \(value.kind.alias).", leaf,
      name.text
    )
  }

  func error(
    _ code: OperatorError.Code, _ detail: String, _ leaf: UpdateLeaf?, _ name: String? = nil
  ) -> OperatorError {
    let path = (place + (name.map { [$0] } ?? [])).joined(separator: ".")
    return OperatorError(code, detail, pointer: leaf?.pointer ?? "", path: path)
  }

  func moved(to leaf: UpdateLeaf) -> BSON? { moved[ByteString(leaf.path)] }

  mutating func spend(_ steps: Int) throws(OperatorError) { try budget.spend(steps) }

  mutating func grow(by value: BSON) throws(OperatorError) { try budget.grow(by: value.size) }

  mutating func holds(_ query: Query, of value: BSON) throws(OperatorError) -> Bool {
    try query.holds(of: value, &budget)
  }

  /// Returns the value at the source of a rename, or nil if it is missing.
  private mutating func value(
    to rename: Update.Rename, in document: BSONDocument
  ) throws(OperatorError) -> BSON? {
    func error(_ code: OperatorError.Code, _ detail: String, _ path: [FieldName]) -> OperatorError {
      let path = path.map(\.text).joined(separator: ".")
      return OperatorError(code, detail, pointer: rename.leaf.pointer, path: path)
    }
    func value(at path: [FieldName], isSource: Bool) throws(OperatorError) -> BSON? {
      var value = BSON.document(document)
      for name in path {
        switch value {
        case .document(let document):
          guard let next = try document.field(name, &budget) else { return nil }
          value = next
        case .array: throw error(.badValue, "$rename does not reach into arrays.", path)
        default:
          guard isSource else { return nil }
          throw error(.pathNotViable, "There cannot be a field \(name.text) here.", path)
        }
      }
      return value
    }
    guard let source = try value(at: rename.source, isSource: true) else { return nil }
    _ = try value(at: rename.target, isSource: false)
    return source
  }
}

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
