import EventLoop
import Glibc
import JSON
import Operators

/// The operations of the MongoDB service, on a collection that holds one document at most.
enum CollectionOperation: String, Sendable {
  case find, findOne, findOneAndUpdate, findOneAndReplace, findOneAndDelete
  case aggregate
  case countAll = "count"
  case insertOne, insertMany
  case updateOne, updateMany, replaceOne
  case deleteOne, deleteMany

  @EventLoop func perform(
    _ arguments: Arguments,
    on collection: CustomDataCollection
  ) async throws(CallFault) -> JSON {
    let rules = collection.rules
    switch self {
    case .find, .findOne:
      return try await collection.look { (document) throws(CallFault) in
        let search = try Search(arguments, query: "query", projection: "project")
        let found = try search.result(document)
        return self == .findOne ? found ?? .null : .array(found.map { [$0] } ?? [])
      }
    case .countAll:
      return try await collection.look { (document) throws(CallFault) in
        let search = try Search(arguments, query: "query", projection: "project")
        return ["$numberLong": .string(try search.finds(document) ? "1" : "0")]
      }
    case .aggregate:
      return try await collection.look { (document) throws(CallFault) in
        let pipeline = try Pipeline(try arguments.array("pipeline"))
        return .array(try pipeline.run(on: document).map { [$0.json(.canonical)] } ?? [])
      }
    case .insertOne:
      let id = try await collection.change { (document) throws(CallFault) in
        try insert([try arguments.required("document")], beside: document, rules)
      }
      return ["insertedId": id[0]]
    case .insertMany:
      let ids = try await collection.change { (document) throws(CallFault) in
        let documents = try arguments.array("documents")
        guard !documents.isEmpty else {
          throw .service(.database("must provide at least one element in input slice"))
        }
        return try insert(documents, beside: document, rules)
      }
      return ["insertedIds": .array(ids)]
    case .updateOne, .updateMany, .replaceOne:
      let change = self == .replaceOne ? DocumentRevision.Kind.replacement : .either
      return try await collection.change { (document) throws(CallFault) in
        let revision = try DocumentRevision(arguments, query: "query", change)
        return try revision.applied(to: document, rules).counted
      }
    case .deleteOne, .deleteMany:
      return try await collection.change { (document) throws(CallFault) in
        let search = try Search(arguments, query: "query", projection: "project")
        let isFound = try search.finds(document)
        return (isFound ? .remove : .none, ["deletedCount": count(isFound)])
      }
    // realm-web says so for findOneAndDelete: nothing to put in its place.
    case .findOneAndReplace where arguments.lacks("update"): fallthrough
    case .findOneAndDelete:
      return try await collection.change { (document) throws(CallFault) in
        let search = try Search(arguments, query: "filter", projection: "projection")
        let result = try search.result(document)
        return (result == nil ? .none : .remove, result ?? .null)
      }
    case .findOneAndUpdate, .findOneAndReplace:
      let kind =
        self == .findOneAndReplace ? DocumentRevision.Kind.replacement : .either
      return try await collection.change { (document) throws(CallFault) in
        let revision = try DocumentRevision(arguments, query: "filter", kind)
        let search = try Search(arguments, query: "filter", projection: "projection")
        let outcome = try revision.applied(to: document, rules)
        let shown = try arguments.flag("returnNewDocument") ? outcome.after : outcome.before
        return (outcome.change, shown.map(search.shown) ?? .null)
      }
    }
  }
}

/// A number of documents; realm-core reads an Int32 and nothing else.
func count(_ isOne: Bool) -> JSON { ["$numberInt": isOne ? "1" : "0"] }

/// Puts in a new document, unless there is one: a user has one, so that a second is a duplicate.
///
/// Where several are to come, none is put in.
private func insert(
  _ documents: [JSON],
  beside present: BSONDocument?,
  _ rules: CollectionRules
) throws(CallFault) -> (CollectionChange, [JSON]) {
  var made: [(document: BSONDocument, id: BSON)] = []
  for json in documents.prefix(2) {
    let new = try mongo { () throws(OperatorError) in
      let update = try Update(json, shape: .replacement, order: .stored)
      return try rules.identified(try update.apply(to: BSONDocument(), now: now()).document)
    }
    try rules.requireOwn(new.0, "insert")
    made.append(new)
  }
  guard present == nil, made.count == 1 else { throw .service(.duplicate) }
  return (.put(made[0].document), [made[0].id.json(.canonical)])
}

extension ServiceError {
  static let duplicate = ServiceError.database(
    "(DuplicateKey) Duplicate key error: the user has a document in this collection"
  )
}

/// Milliseconds since 1970.
func now() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec / 1_000_000)
}
