package import JSON

/// A change of one document, in MongoDB's update language.
///
/// `UpdateOperator` has its operators; paths have names, indexes, `$`, `$[]` and `$[identifier]`.
/// Pipelines are refused.
///
/// All of it happens or, when something is thrown, nothing. New fields come in the order of their
/// names, numbers first, whatever the order of the request.
/// - Source: MongoDB manual 7.0, "Update operators".
package struct Update: Sendable {
  /// Whether the update replaces the document or changes fields of it.
  package enum Shape: Sendable {
    case operators, replacement
  }

  enum Content: Sendable {
    case operators(UpdateNode, renames: [Rename], filters: [String: Query])
    case replacement(BSONDocument, FieldOrder)
  }

  struct Rename: Sendable {
    let source: [FieldName]
    let target: [FieldName]
    let leaf: UpdateLeaf
  }

  /// A document with the update applied.
  package struct UpdatedDocument: Sendable {
    package let document: BSONDocument
    /// Whether anything would be stored differently; `modifiedCount` counts these.
    package let isModified: Bool
  }

  let content: Content

  package var shape: Shape {
    if case .replacement = content { return .replacement }
    return .operators
  }

  /// Reads an update from Extended JSON.
  ///
  /// - Parameters:
  ///   - json: an object whose names all begin with a dollar, or whose names all do not.
  ///   - arrayFilters: at most 64; each must be used.
  ///   - shape: the one that is wanted; nil takes either, as its first name tells.
  ///   - order: that of the documents which it will change.
  ///   - patterns: shared by all that is read of one request.
  /// - Throws: a fault of the update's form, with its pointer. At most 1,000 paths.
  package init(
    _ json: JSON,
    arrayFilters: JSONArray = [],
    shape: Shape? = nil,
    order: FieldOrder = .written,
    _ patterns: PatternAllowance = PatternAllowance()
  ) throws(OperatorError) {
    guard json.array == nil else {
      throw OperatorError(.failedToParse, "An update that is a pipeline is not offered.")
    }
    let document = try BSONDocument(json)
    let found: Shape =
      document.first?.name.isDollarPrefixed == true ? .operators : .replacement
    // Operators without any are no replacement by nothing.
    let isEmpty = document.isEmpty && shape == .operators
    guard shape == nil || shape == found || isEmpty else {
      throw OperatorError(
        .failedToParse,
        found == .operators
          ? "A replacement must not hold operators." : "An update must hold operators."
      )
    }
    if found == .operators || isEmpty {
      content = try UpdateParser.operators(document, arrayFilters, order, patterns)
    } else {
      content = .replacement(try UpdateParser.replacement(document, arrayFilters), order)
    }
  }

  init(_ content: Content) { self.content = content }

  /// Changes a document.
  ///
  /// - Parameters:
  ///   - document: stays as it is.
  ///   - now: milliseconds from 1970, for `$currentDate`.
  ///   - position: what `$` in a path stands for; see `Query.Match`.
  ///   - isInsertion: of an upsert; the document is then `Query.insertion()`.
  ///   - budget: also says about how many bytes of JSON may be written into it; one value can be
  ///     written to every element of an array.
  /// - Returns: the document that results; how large it may be is for the caller to say.
  /// - Throws: why it cannot be changed, with the path.
  package func apply(
    to document: BSONDocument,
    now: Int64,
    position: Int? = nil,
    isInsertion: Bool = false,
    _ budget: inout Budget
  ) throws(OperatorError) -> UpdatedDocument {
    let result: BSONDocument
    let isModified: Bool
    switch content {
    case .replacement(let replacement, let order):
      result = replacement.keepingID(of: document).ordered(order)
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
      // One that other doors of the service have stored stays, whatever it is.
      switch result["_id"] {
      case .array, .regularExpression, .undefined:
        throw error(.invalidIDField, "An _id is no array, regular expression or undefined.")
      default: break
      }
    }
    guard BSON.document(result).depth <= JSONLimits.standard.depth else {
      throw OperatorError(.overflow, "Arrays and objects may be \(JSONLimits.standard.depth) deep.")
    }
  }
}

extension BSONDocument {
  /// A replacement that does not name another `_id` keeps the old one, in front.
  fileprivate func keepingID(of document: BSONDocument) -> BSONDocument {
    guard let id = document["_id"], self["_id"] == nil else { return self }
    var result = self
    result.prepend(FieldName("_id"), id)
    return result
  }
}
