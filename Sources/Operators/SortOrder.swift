package import JSON

/// An order of documents, or of the elements of an array, by fields.
///
/// - Source: MongoDB manual, "sort()" and "$push".
package struct SortOrder: Sendable {
  struct Key: Sendable {
    let path: [FieldName]
    let isAscending: Bool
  }

  let keys: [Key]

  /// The maximum number of fields in a sort, as in MongoDB.
  private static let limit = 32

  /// Reads an order from Extended JSON: an object of paths, each with 1 or -1.
  ///
  /// Throws `.badValue` or `.failedToParse` if the JSON is anything else.
  package init(_ json: JSON) throws(OperatorError) {
    try self.init(try BSONDocument(json), pointer: "")
  }

  /// Reads an order.
  ///
  /// Errors use `pointer` as its location.
  init(_ document: BSONDocument, pointer: String) throws(OperatorError) {
    guard document.count <= Self.limit else {
      throw OperatorError(
        .badValue, "A sort may have at most \(Self.limit) fields.", pointer: pointer
      )
    }
    var keys: [Key] = []
    for field in document {
      let name = field.name.text
      let path = try FieldName.parts(of: name, pointer: pointer, ifEmpty: .badValue)
      guard !path.contains(where: \.isDollarPrefixed) else {
        throw OperatorError(
          .badValue,
          "The path \(name) of a sort must not contain a part that begins with a dollar.",
          pointer: pointer
        )
      }
      keys.append(Key(path: path, isAscending: try Self.isAscending(field.value, pointer)))
    }
    self.keys = keys
  }

  /// Returns whether a direction is 1.
  ///
  /// Throws `.badValue` if it is neither 1 nor -1.
  static func isAscending(_ direction: BSON, _ pointer: String) throws(OperatorError) -> Bool {
    guard let direction = direction.integer, [1, -1].contains(direction) else {
      throw OperatorError(.badValue, "The direction of a sort must be 1 or -1.", pointer: pointer)
    }
    return direction == 1
  }
}
