package import JSON

/// A change of one document, in MongoDB's update language.
///
/// `UpdateOperator` lists the operators. Paths consist of names, indexes, `$`, `$[]` and
/// `$[identifier]`. Pipelines are rejected.
///
/// An update is atomic: if it throws an error, nothing changes. New fields are added in the order
/// of their names, numbers first, not in the order of the request.
/// - Source: MongoDB manual 7.0, "Update operators".
package struct Update: Sendable {
  enum Content: Sendable {
    case operators(UpdateNode, renames: [Rename], filters: [String: Query])
    case replacement(BSONDocument)
  }

  struct Rename: Sendable {
    let source: [FieldName]
    let target: [FieldName]
    let leaf: UpdateLeaf
  }

  /// The document after an update.
  package struct UpdatedDocument: Sendable {
    package let document: BSONDocument
    /// Whether the stored document would change.
    ///
    /// `modifiedCount` counts these.
    package let isModified: Bool
  }

  let content: Content

  /// Reads an update from Extended JSON.
  ///
  /// - Parameters:
  ///   - json: an object. Either all names begin with a dollar, or none does.
  ///   - arrayFilters: at most 64; each must be used.
  ///   - isReplacement: whether it must replace the document. If not, the first name decides.
  ///   - patterns: the allowance shared by all parsers of one request.
  /// - Throws: an error with a pointer if the update is invalid or has more than 1,000 paths.
  package init(
    _ json: JSON, arrayFilters: JSONArray = [], isReplacement: Bool = false,
    _ patterns: PatternAllowance = PatternAllowance()
  ) throws(OperatorError) {
    guard json.array == nil else {
      throw OperatorError(.failedToParse, "An update that is a pipeline is not offered.")
    }
    let document = try BSONDocument(json)
    if document.first?.name.isDollarPrefixed != true {
      content = .replacement(try UpdateParser.replacement(document, arrayFilters))
    } else if isReplacement {
      throw OperatorError(.failedToParse, "A replacement must not hold operators.")
    } else {
      content = try UpdateParser.operators(document, arrayFilters, patterns)
    }
  }

  init(_ content: Content) { self.content = content }

  /// Whether the update replaces the document.
  package var isReplacement: Bool {
    if case .replacement = content { return true }
    return false
  }

  /// Applies the update to a document.
  ///
  /// - Parameters:
  ///   - document: the original; it is not changed.
  ///   - now: milliseconds since 1970, for `$currentDate`.
  ///   - position: the index that `$` in a path stands for; see `Query.Match`.
  ///   - isInsertion: whether this is an upsert. The document is then `Query.insertion()`.
  ///   - budget: also limits the bytes of JSON that the update may add, approximately. One update
  ///     can write a value to every element of an array.
  /// - Returns: the updated document. The caller must limit its size.
  /// - Throws: an error with the path if the document cannot be changed.
  package func apply(
    to document: BSONDocument, now: Int64, position: Int? = nil, isInsertion: Bool = false,
    _ budget: inout Budget
  ) throws(OperatorError) -> UpdatedDocument {
    let result: BSONDocument
    let isModified: Bool
    switch content {
    case .replacement(let replacement):
      result = replacement.keepingID(of: document).inStoredOrder
      isModified = result != document
    case .operators(let root, let renames, let filters):
      var updater = Updater(now: now, isInsertion: isInsertion, budget: budget)
      defer { budget = updater.budget }
      if !isInsertion { try root.checkNames() }
      let root = root.usesFound ? try root.resolved(position) : root
      let step = UpdateStep(root, filters)
      (result, isModified) = try updater.update(document, by: step, renames)
    }
    if isModified { try check(result, from: document) }
    return UpdatedDocument(document: result, isModified: isModified)
  }

  private func check(_ result: BSONDocument, from document: BSONDocument) throws(OperatorError) {
    func error(_ code: OperatorError.Code, _ detail: String) -> OperatorError {
      var pointer = "/_id"
      if case .operators(.fields(let children), _, _) = content {
        pointer = children[FieldName("_id")]?.firstLeaf?.pointer ?? ""
      }
      return OperatorError(code, detail, pointer: pointer, path: "_id")
    }
    if let id = document["_id"] {
      guard let new = result["_id"], BSON.compare(id, new) == .same else {
        throw error(.immutableField, "The _id of a document cannot be changed.")
      }
    } else {
      // An unchanged `_id` of any type stays: another API of the service may have stored it.
      switch result["_id"] {
      case .array, .regularExpression, .undefined:
        throw error(
          .invalidIDField, "An _id must not be an array, a regular expression or undefined."
        )
      default: break
      }
    }
    guard BSON.document(result).depth <= JSONLimits.standard.depth else {
      let depth = JSONLimits.standard.depth
      throw OperatorError(
        .overflow, "Arrays and objects may be nested at most \(depth) levels deep."
      )
    }
  }
}

extension BSONDocument {
  /// Returns the replacement with the old `_id` in front, unless it names another one.
  fileprivate func keepingID(of document: BSONDocument) -> BSONDocument {
    guard let id = document["_id"], self["_id"] == nil else { return self }
    var result = self
    result.prepend(FieldName("_id"), id)
    return result
  }
}

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
