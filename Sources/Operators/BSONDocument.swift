/// The order of fields that an update or a query finds in documents.
package enum FieldOrder: Sendable {
  /// As clients wrote them.
  case written
  /// As PostgreSQL's `jsonb` puts them: shorter names first, then by bytes. Values that are compared
  /// with a document or put into it are brought into this order too; otherwise an object would
  /// not be equal to itself once it was stored.
  case stored
}

/// The fields of a document, in order; no name occurs twice.
package struct BSONDocument: Sendable, Equatable {
  struct Field: Sendable, Equatable {
    let name: FieldName
    var value: BSON
  }

  private(set) var fields: [Field] = []
  private var index: [FieldName: Int] = [:]

  /// Up to here a look through all is faster than hashing.
  private static let linearLimit = 16

  package init() {}

  init(_ name: String, _ value: BSON) { append(FieldName(name), value) }

  package static func == (first: BSONDocument, second: BSONDocument) -> Bool {
    first.fields == second.fields
  }

  /// The field of that name, which is no path.
  package subscript(_ name: String) -> BSON? { self[FieldName(name)] }

  package var names: [String] { fields.map(\.name.text) }

  subscript(_ name: FieldName) -> BSON? { position(of: name).map { fields[$0].value } }

  var isEmpty: Bool { fields.isEmpty }

  func position(of name: FieldName) -> Int? {
    index.isEmpty ? fields.firstIndex { $0.name == name } : index[name]
  }

  /// Adds a field that is known to be new.
  mutating func append(_ name: FieldName, _ value: BSON) {
    fields.append(Field(name: name, value: value))
    if !index.isEmpty {
      index[name] = fields.count - 1
    } else if fields.count > Self.linearLimit {
      for (position, field) in fields.enumerated() { index[field.name] = position }
    }
  }

  mutating func prepend(_ name: FieldName, _ value: BSON) {
    let rest = fields
    self = BSONDocument()
    append(name, value)
    for field in rest { append(field.name, field.value) }
  }

  /// Takes a value out to be changed where it alone is held; `put` must follow.
  mutating func take(at position: Int) -> BSON {
    let value = fields[position].value
    fields[position].value = .null
    return value
  }

  mutating func put(_ value: BSON, at position: Int) { fields[position].value = value }

  /// - Complexity: O(*n*), however many are removed.
  mutating func remove(at positions: Set<Int>) {
    guard !positions.isEmpty else { return }
    let rest = fields.enumerated().filter { !positions.contains($0.offset) }
    self = BSONDocument()
    for (_, field) in rest { append(field.name, field.value) }
  }
}

extension BSON {
  private var mayHaveFields: Bool {
    switch self {
    case .document, .array, .javascript: true
    default: false
    }
  }

  /// The value with the fields of all its objects in an order.
  func ordered(_ order: FieldOrder) -> BSON {
    switch (order, self) {
    case (.stored, .document(let document)): .document(document.ordered(order))
    // Most arrays have no fields to order, and need no copy.
    case (.stored, .array(let elements)) where elements.contains(where: \.mayHaveFields):
      .array(elements.map { $0.ordered(order) })
    case (.stored, .javascript(let code, let scope?)):
      .javascript(code, scope: scope.ordered(order))
    default: self
    }
  }
}

extension BSONDocument {
  func ordered(_ order: FieldOrder) -> BSONDocument {
    guard order == .stored else { return self }
    var document = BSONDocument()
    let sorted = fields.sorted { first, second in
      let (first, second) = (first.name.text.utf8, second.name.text.utf8)
      return first.count == second.count
        ? first.lexicographicallyPrecedes(second) : first.count < second.count
    }
    for field in sorted { document.append(field.name, field.value.ordered(order)) }
    return document
  }
}
