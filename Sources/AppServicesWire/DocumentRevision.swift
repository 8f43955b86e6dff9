import Documents
import HTTP
import JSON
import Operators
import Runtime

/// An update of the `updateOne` and `findOneAndUpdate` families, read from the arguments of a call.
struct DocumentRevision: Sendable {
  /// The forms that `update` may have.
  enum Kind: Sendable {
    /// Operators or a replacement.
    case either
    case replacement
  }

  /// The effect of the update on the document, which may not exist yet.
  struct Effect: Sendable {
    var change = DocumentEdit.keep
    var before: BSONDocument?
    var after: BSONDocument?
    fileprivate var isModified = false
    fileprivate var insertedID: JSON?

    /// The change, and its counts.
    ///
    /// `upsertedId` is present only after an insertion.
    var counted: (DocumentEdit, JSON) {
      var counts = JSONObject()
      counts["matchedCount"] = count(before != nil)
      counts["modifiedCount"] = count(isModified)
      if let insertedID { counts["upsertedId"] = insertedID }
      return (change, .object(counts))
    }
  }

  private let query: Query
  private let update: Update
  private let isUpsert: Bool

  init(_ arguments: Arguments, query name: String, _ kind: Kind) throws(ServiceError) {
    let json = try arguments.required("update")
    if kind == .replacement, let first = json.object?.keys.first, first.hasPrefix("$") {
      let rule = "the replace operation document must not contain atomic operators"
      throw ServiceError(.badRequest, rule, .database)
    }
    let filters = try arguments.array("arrayFilters")
    isUpsert = try arguments.flag("upsert")
    let document = try arguments.document(name)
    let patterns = PatternAllowance()
    query = try mongo { () throws(OperatorError) in
      try Query(document, patterns)
    }
    update = try mongo { () throws(OperatorError) in
      try Update(
        json, arrayFilters: JSONArray(filters), isReplacement: kind == .replacement, patterns
      )
    }
  }

  func applied(
    to document: BSONDocument?, _ rules: CollectionRules, _ budget: inout Budget
  ) throws(ServiceError) -> Effect {
    let result: Update.UpdatedDocument? = try mongo { () throws(OperatorError) in
      guard let document else { return nil }
      let now = Timestamp.now.wholeMilliseconds
      return try update.apply(to: document, matching: query, now: now, &budget)
    }
    if let result, let document {
      let after = update.isReplacement ? rules.completed(result.document) : result.document
      let isModified = result.isModified && after != document
      try rules.requireOwn(after, "update")
      // A malformed wrapper that another API stored may stay, and may be removed.
      if document.malformedWrapper == nil { _ = try Self.wellFormed(after) }
      return Effect(
        change: isModified ? .put(after.json(.stored)) : .keep, before: document, after: after,
        isModified: isModified
      )
    }
    guard isUpsert else { return Effect() }
    let made = try mongo { () throws(OperatorError) in
      let now = Timestamp.now.wholeMilliseconds
      return rules.completed(try update.insertion(for: query, now: now, &budget))
    }
    try rules.requireOwn(Self.wellFormed(made), "insert")
    guard document == nil else { throw .duplicate }
    return Effect(change: .put(made.json(.stored)), after: made, insertedID: made.canonicalID)
  }

  /// Returns the document if it has no malformed wrapper.
  ///
  /// An update can also create one: `{"$set": {"a.$oid": "x"}}`.
  private static func wellFormed(_ document: BSONDocument) throws(ServiceError) -> BSONDocument {
    guard let place = document.malformedWrapper else { return document }
    throw .lookalike("update would leave", at: place)
  }
}
