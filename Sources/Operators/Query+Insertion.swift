extension Query {
  /// Returns the initial document of an upsert: the fields that the query compares for equality.
  ///
  /// Also reads equalities within `$and`, and within an `$or` or `$in` of one element.
  ///
  /// - Parameters:
  ///   - isReplaced: whether a replacement follows. It takes only the `_id` from the query.
  ///   - budget: the budget of the call.
  /// - Returns: the document, possibly without an `_id`.
  /// - Throws: `.notSingleValueField` if the query gives a field two values, `.emptyFieldName` if
  ///   a path cannot be created, `.notExactValueField` if a replacement follows and the query
  ///   compares a part of the `_id`.
  /// - Source: MongoDB manual, "db.collection.updateOne", "Upsert with dotted _id query"; the cases
  ///   of `upsert_fields.js` in MongoDB's tests.
  package func insertion(
    isReplaced: Bool = false, _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    var tree = UpdateNode.fields([:])
    for (path, value) in root.equalities {
      if isReplaced {
        guard path.first == FieldName("_id") else { continue }
        guard path.count == 1 else {
          throw OperatorError(
            .notExactValueField,
            "A replacement needs the whole _id, and the query compares a part of it.",
            path: path.map(\.text).joined(separator: ".")
          )
        }
      }
      let text = path.map(\.text).joined(separator: ".")
      let parts = try UpdatePath(text, pointer: "").parts
      let leaf = UpdateLeaf(operation: .set(value), path: text, pointer: "")
      do throws(OperatorError) {
        try tree.merge(UpdateNode(leaf, at: parts[...]), at: [])
      } catch {
        throw OperatorError(
          .notSingleValueField, "The query gives a field of the new document two values.",
          path: text
        )
      }
    }
    let update = Update(.operators(tree, renames: [], filters: [:]))
    return try update.apply(to: BSONDocument(), now: 0, &budget).document
  }
}

extension Predicate {
  fileprivate var equalities: [([FieldName], BSON)] {
    switch self {
    case .all(let parts): parts.flatMap(\.equalities)
    case .any(let parts): parts.count == 1 ? parts[0].equalities : []
    case .none: []
    case .field(let path, .equal(let operand)): [(path, operand.value)]
    case .field(let path, .oneOf(let list)): list.onlyValue.map { [(path, $0)] } ?? []
    case .field: []
    }
  }
}
