extension Update {
  /// Applies the update to a document that a query matches.
  ///
  /// - Parameters:
  ///   - document: the original; it is not changed.
  ///   - query: the query.
  ///   - now: milliseconds since 1970, for `$currentDate`.
  ///   - budget: as for `apply(to:now:position:isInsertion:_:)`.
  /// - Returns: the updated document; nil if the query does not match.
  /// - Throws: an error with the path if the document cannot be changed.
  package func apply(
    to document: BSONDocument, matching query: Query, now: Int64, _ budget: inout Budget
  ) throws(OperatorError) -> UpdatedDocument? {
    guard let match = try query.match(document, &budget) else { return nil }
    return try apply(to: document, now: now, position: match.position, &budget)
  }

  /// Returns the document that an upsert inserts if nothing matches a query.
  ///
  /// - Throws: an error with the path if the document cannot be created.
  package func insertion(
    for query: Query, now: Int64, _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    let beginning = try query.insertion(isReplaced: isReplacement, &budget)
    return try apply(to: beginning, now: now, isInsertion: true, &budget).document
  }
}
