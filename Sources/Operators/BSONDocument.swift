internal import JSON

/// The fields of a document, in order.
///
/// No name occurs twice.
///
/// The fields are a list, or JSON that is decoded lazily, field by field; see `BSONArray`.
package struct BSONDocument: Sendable {
  package struct Field: Sendable, Equatable {
    let name: FieldName
    var value: BSON
  }

  fileprivate enum Storage: Sendable {
    /// One list.
    ///
    /// The array is empty for a document without fields.
    case list([FieldList])
    case json(JSONObject)
    /// An array as queries see it: a document whose names are the indexes.
    case elements(BSONArray)
  }

  private var storage: Storage

  package init() { storage = .list([]) }

  init(_ name: String, _ value: BSON) {
    self.init()
    append(FieldName(name), value)
  }

  init(_ object: JSONObject) { storage = .json(object) }

  init(indexesOf elements: BSONArray) { storage = .elements(elements) }

  /// The field with this name, which is not a path.
  package subscript(_ name: String) -> BSON? {
    switch storage {
    case .list(let list): list.first?.value(of: FieldName(name))
    case .json(let object): object[name].map { BSON(part: $0) }
    case .elements(let elements):
      FieldName(name).index.flatMap { elements.indices.contains($0) ? elements[$0] : nil }
    }
  }

  subscript(_ name: FieldName) -> BSON? { self[name.text] }

  /// Returns the field with this name, and charges the budget for finding and decoding it.
  func field(_ name: FieldName, _ budget: inout Budget) throws(OperatorError) -> BSON? {
    try budget.spend(name.weight)
    switch storage {
    case .list(let list): return list.first?.value(of: name)
    case .json(let object):
      guard let part = object.part(name.text) else { return nil }
      return try BSON(part, &budget)
    case .elements(let elements):
      guard let index = name.index, elements.indices.contains(index) else { return nil }
      return try elements.element(index, &budget)
    }
  }

  /// Charges the budget for decoding the field at a position and its name.
  func payForField(_ position: Int, _ budget: inout Budget) throws(OperatorError) {
    switch storage {
    case .list: break
    case .json(let object):
      guard let (part, keyLength) = object.part(at: position) else { return }
      try budget.spend((part.length + keyLength) / Budget.bytesPerStep)
    case .elements(let elements): _ = try elements.element(position, &budget)
    }
  }

  package var names: [String] {
    if case .json(let object) = storage { return object.keys }
    return map(\.name.text)
  }

  package var count: Int {
    switch storage {
    case .list(let list): list.first?.fields.count ?? 0
    case .json(let object): object.count
    case .elements(let elements): elements.count
    }
  }

  var isEmpty: Bool { count == 0 }

  var first: Field? {
    var fields = makeIterator()
    return fields.next()
  }

  /// The JSON as received.
  ///
  /// Nil if the document was created or changed here.
  var source: JSON? {
    if case .json(let object) = storage { return .object(object) }
    return nil
  }

  // MARK: Changes

  /// Adds a field whose name is not in the document.
  mutating func append(_ name: FieldName, _ value: BSON) {
    change { $0.append(Field(name: name, value: value)) }
  }

  mutating func prepend(_ name: FieldName, _ value: BSON) {
    change { $0 = FieldList([Field(name: name, value: value)] + $0.fields) }
  }

  /// Returns the position of a field, after turning the fields into a list.
  mutating func position(of name: FieldName) -> Int? { change { $0.position(of: name) } }

  /// Removes a value so that the caller can change it in place.
  ///
  /// The caller must then call `put`.
  mutating func take(at position: Int) -> BSON { change { $0.exchange(.null, at: position) } }

  mutating func put(_ value: BSON, at position: Int) {
    change { _ = $0.exchange(value, at: position) }
  }

  /// Removes fields.
  ///
  /// - Complexity: O(*n*), for any number of removed fields.
  mutating func remove(at positions: Set<Int>) {
    guard !positions.isEmpty else { return }
    change { list in
      list = FieldList(
        list.fields.enumerated().filter { !positions.contains($0.offset) }.map(\.element)
      )
    }
  }

  private mutating func change<Value>(_ body: (inout FieldList) -> Value) -> Value {
    var list: [FieldList]
    switch storage {
    case .list(let fields): list = fields.isEmpty ? [FieldList([])] : fields
    case .json, .elements: list = [FieldList(Array(self))]
    }
    // The list has no other owner here, so it is changed in place.
    storage = .list([])
    defer { storage = .list(list) }
    return body(&list[0])
  }
}

extension BSONDocument: Sequence {
  package func makeIterator() -> Iterator { Iterator(storage) }

  package struct Iterator: IteratorProtocol {
    private var members: JSONObject.Iterator
    private let storage: Storage
    private var position = 0

    fileprivate init(_ storage: Storage) {
      self.storage = storage
      if case .json(let object) = storage {
        members = object.makeIterator()
      } else {
        members = JSONObject().makeIterator()
      }
    }

    package mutating func next() -> Field? {
      defer { position += 1 }
      switch storage {
      case .list(let list):
        guard let fields = list.first?.fields, position < fields.count else { return nil }
        return fields[position]
      case .json:
        return members.next().map { Field(name: FieldName($0.key), value: BSON(part: $0.value)) }
      case .elements(let elements):
        guard position < elements.count else { return nil }
        return Field(name: FieldName(String(position)), value: elements[position])
      }
    }
  }
}

extension BSONDocument: Equatable {
  package static func == (first: BSONDocument, second: BSONDocument) -> Bool {
    first.count == second.count && first.elementsEqual(second)
  }
}

/// The fields of a document that was created or changed here.
private struct FieldList: Sendable {
  private(set) var fields: [BSONDocument.Field] = []
  private var index: [FieldName: Int] = [:]

  /// Up to this size a linear search is faster than hashing.
  private static let linearLimit = 16

  init(_ fields: [BSONDocument.Field]) {
    self.fields = fields
    fillIndex()
  }

  func value(of name: FieldName) -> BSON? { position(of: name).map { fields[$0].value } }

  func position(of name: FieldName) -> Int? {
    index.isEmpty ? fields.firstIndex { $0.name == name } : index[name]
  }

  mutating func append(_ field: BSONDocument.Field) {
    fields.append(field)
    if index.isEmpty { fillIndex() } else { index[field.name] = fields.count - 1 }
  }

  mutating func exchange(_ value: BSON, at position: Int) -> BSON {
    let old = fields[position].value
    fields[position].value = value
    return old
  }

  private mutating func fillIndex() {
    guard fields.count > Self.linearLimit else { return }
    for (position, field) in fields.enumerated() { index[field.name] = position }
  }
}

extension BSON {
  /// The value with the fields of all its objects in the order of PostgreSQL's `jsonb`: shorter names
  /// first, then by bytes.
  ///
  /// Operands and new values are put into this order. Otherwise a stored object would not equal the
  /// object that was written.
  var inStoredOrder: BSON {
    switch self {
    case .document, .array, .javascript(_, .some): return BSON(part: json(.stored).inStoredOrder())
    default: return self
    }
  }
}

extension BSONDocument {
  /// Returns the document with a field added, unless it has a field of this name.
  package func adding(_ name: String, _ value: BSON) -> BSONDocument {
    guard self[name] == nil else { return self }
    var result = self
    result.append(FieldName(name), value)
    return result.inStoredOrder
  }

  var inStoredOrder: BSONDocument { BSON.document(self).inStoredOrder.document ?? self }
}
