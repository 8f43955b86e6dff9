import Documents
import EventLoop
import JSON
import Operators
import Runtime

/// The operations of the MongoDB service, on a collection with at most one document.
enum CollectionOperation: String, Sendable {
  case find, findOne, findOneAndUpdate, findOneAndReplace, findOneAndDelete
  case aggregate
  case countAll = "count"
  case insertOne, insertMany
  case updateOne, updateMany, replaceOne
  case deleteOne, deleteMany

  /// Returns the text of the result, or the error of the service.
  ///
  /// The work runs off the event loop.
  @EventLoop func perform(
    _ arguments: Arguments, on collection: CustomDataCollection
  ) async throws(Failure) -> Result<[UInt8], ServiceError> {
    let rules = collection.rules
    switch self {
    case .find, .findOne, .countAll, .aggregate:
      return try await collection.look { (document) throws(ServiceError) in
        try looked(for: arguments, document)
      }
    default:
      do throws(Failure) {
        return try await collection.change { (document) throws(ServiceError) in
          try changed(by: arguments, document, rules)
        }
      } catch {
        guard error.is(.memberNotWritable) else { throw error }
        return .failure(.notPermitted(right(for: arguments)))
      }
    }
  }

  /// Returns the right that App Services names if a rule forbids the write.
  private func right(for arguments: Arguments) -> String {
    switch self {
    case .insertOne, .insertMany: "insert"
    case .deleteOne, .deleteMany, .findOneAndDelete: "delete"
    case .findOneAndReplace where arguments.lacks("update"): "delete"
    default: "update"
    }
  }

  private func looked(
    for arguments: Arguments, _ document: BSONDocument?
  ) throws(ServiceError) -> JSON {
    var budget = Budget()
    guard self != .aggregate else {
      let pipeline = try Pipeline(try arguments.array("pipeline"))
      guard let shown = try pipeline.run(on: document, &budget) else { return [] }
      return [try shown.canonical]
    }
    let search = try Search(arguments, query: "query", projection: "project")
    if self == .countAll {
      return ["$numberLong": .string(try search.finds(document, &budget) ? "1" : "0")]
    }
    let found = try search.result(document, &budget)
    return self == .findOne ? found ?? .null : .array(found.map { [$0] } ?? [])
  }

  private func changed(
    by arguments: Arguments, _ document: BSONDocument?, _ rules: CollectionRules
  ) throws(ServiceError) -> (DocumentEdit, JSON) {
    var budget = Budget()
    switch self {
    case .find, .findOne, .countAll, .aggregate:
      return (.keep, try looked(for: arguments, document))
    case .insertOne:
      let new = [try arguments.required("document")]
      let (change, ids) = try insert(new, beside: document, rules)
      return (change, ["insertedId": ids[0]])
    case .insertMany:
      let documents = try arguments.array("documents")
      guard !documents.isEmpty else {
        throw .database("must provide at least one element in input slice")
      }
      let (change, ids) = try insert(documents, beside: document, rules)
      return (change, ["insertedIds": .array(ids)])
    case .updateOne, .updateMany, .replaceOne:
      let kind = self == .replaceOne ? DocumentRevision.Kind.replacement : .either
      let revision = try DocumentRevision(arguments, query: "query", kind)
      return try revision.applied(to: document, rules, &budget).counted
    case .deleteOne, .deleteMany:
      let search = try Search(arguments, query: "query", projection: "project")
      let isFound = try search.finds(document, &budget)
      return (isFound ? .remove : .keep, ["deletedCount": count(isFound)])
    // realm-web sends findOneAndDelete as findOneAndReplace without `update`.
    case .findOneAndReplace where arguments.lacks("update"): fallthrough
    case .findOneAndDelete:
      let search = try Search(arguments, query: "filter", projection: "projection")
      let result = try search.result(document, &budget)
      return (result == nil ? .keep : .remove, result ?? .null)
    case .findOneAndUpdate, .findOneAndReplace:
      let kind =
        self == .findOneAndReplace ? DocumentRevision.Kind.replacement : .either
      let revision = try DocumentRevision(arguments, query: "filter", kind)
      let search = try Search(arguments, query: "filter", projection: "projection")
      let outcome = try revision.applied(to: document, rules, &budget)
      let shown =
        try arguments.flag("returnNewDocument")
        ? outcome.after.map { (new) throws(ServiceError) in try search.changed(new, &budget) }
        : search.result(outcome.before, &budget)
      return (outcome.change, shown ?? .null)
    }
  }
}

/// Returns a number of documents.
///
/// realm-core reads only an Int32.
func count(_ isOne: Bool) -> JSON { ["$numberInt": isOne ? "1" : "0"] }

/// Inserts a document, unless the collection has one.
///
/// Each user has one document, so a second is a duplicate.
///
/// If the call has several documents, none is inserted.
private func insert(
  _ documents: [JSON], beside present: BSONDocument?, _ rules: CollectionRules
) throws(ServiceError) -> (DocumentEdit, [JSON]) {
  var made: [BSONDocument] = []
  for json in documents.prefix(2) {
    let new = try mongo { () throws(OperatorError) in
      let update = try Update(json, isReplacement: true)
      var budget = Budget()
      let now = Timestamp.now.wholeMilliseconds
      return rules.completed(try update.apply(to: BSONDocument(), now: now, &budget).document)
    }
    try rules.requireOwn(new, "insert")
    made.append(new)
  }
  guard present == nil, made.count == 1 else { throw .duplicate }
  return (.put(made[0].json(.stored)), [made[0].canonicalID])
}

extension BSONDocument {
  /// The `_id` as an operation returns it.
  var canonicalID: JSON { self["_id"]?.json(.canonical) ?? .null }
}

extension ServiceError {
  static let duplicate = ServiceError.database(
    "(DuplicateKey) Duplicate key error: the user has a document in this collection"
  )
}
