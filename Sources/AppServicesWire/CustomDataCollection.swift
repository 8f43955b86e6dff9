import Dossier
import EventLoop
import JSON
import Operators

/// The collection of custom data as a user sees it: it holds the user's own document, or none.
///
/// The document has an `_id` and, in a field that the operator names, the user's id. What was written
/// by other doors of the service may lack both: it is shown with the user's id in them.
@EventLoop struct CustomDataCollection {
  let rules: CollectionRules
  private let user: UserID
  private let context: RequestContext

  init(of user: UserID, _ context: RequestContext) {
    self.user = user
    self.context = context
    rules = CollectionRules(user: user, userField: context.app.settings.appServicesUserField)
  }

  /// The document in the canonical form, when that has no more bytes than `limit`; nil when there is
  /// none, or it has what only looks like Extended JSON, which other doors store.
  ///
  /// It is seldom shorter than what is stored, and then by spaces or digits: what is stored in many
  /// times as many bytes is not looked at.
  func read(upTo limit: Int) async throws(Failure) -> JSON? {
    guard let stored = try await stored(), stored.body.count <= 4 * limit else { return nil }
    // Written out, it has several times the bytes.
    return try await context.calculate(on: 4 * stored.body.count) {
      [rules] () throws(Failure) in
      let document = try rules.shown(stored)
      guard document.malformedWrapper == nil else { return nil }
      let text = document.serialized(.canonical)
      return text.count <= limit ? try Documents.parsed(text) : nil
    }
  }

  /// The text of what `body` makes of the document, in a place where it holds up nobody.
  func look(
    _ body: @escaping @Sendable (BSONDocument?) throws(CallFault) -> JSON
  ) async throws(CallFault) -> [UInt8] {
    try await answer { () async throws(Failure) in
      try await outcome(of: try await stored()) { (document) throws(CallFault) in
        try body(document).serialized()
      }
    }
  }

  /// Changes the document by what `body` says, again when another was faster; what it says besides
  /// is answered, as text.
  func change(
    _ body: @escaping @Sendable (BSONDocument?) throws(CallFault) -> (CollectionChange, JSON)
  ) async throws(CallFault) -> [UInt8] {
    try await answer { () async throws(Failure) in
      try await Documents.repeating(.customData, of: user, context) {
        () async throws(Failure) in
        let stored = try await stored()
        let outcome = try await outcome(of: stored) { (document) throws(CallFault) in
          let (change, answer) = try body(document)
          return (change.forStorage, answer.serialized())
        }
        guard case .success(let (change, answer)) = outcome else {
          return .done(outcome.map(\.1))
        }
        do throws(Failure) {
          try await write(change, over: stored)
          return .done(.success(answer))
        } catch .versionMoved {
          return .overtaken
        }
      }
    }
  }

  /// What comes of a call, whose own faults are apart from those of the service.
  private func answer<Value>(
    _ body: @EventLoop () async throws(Failure) -> Result<Value, CallFault>
  ) async throws(CallFault) -> Value {
    let result: Result<Value, CallFault>
    do throws(Failure) { result = try await body() } catch { throw .domain(error) }
    return try result.get()
  }

  private func write(
    _ change: CollectionChange.Stored,
    over stored: StoredDocument?
  ) async throws(Failure) {
    let condition = VersionCondition(oneOf: [stored?.version ?? 0])
    switch change {
    case .none: return
    case .put(let json):
      _ = try await Documents.write(
        .customData,
        .replace(json, size: .max),
        if: condition,
        of: user,
        context
      )
    case .remove:
      try await Documents.delete(.customData, if: condition, of: user, context)
    }
  }

  private func stored() async throws(Failure) -> StoredDocument? {
    try await Documents.stored(.customData, of: user, context)
  }

  private func outcome<Value: Sendable>(
    of stored: StoredDocument?,
    _ body: @escaping @Sendable (BSONDocument?) throws(CallFault) -> Value
  ) async throws(Failure) -> Result<Value, CallFault> {
    // A query's cost is not told by the length of anything.
    try await context.calculate(on: .max) { [rules] () throws(Failure) in
      let document = try stored.map { (stored) throws(Failure) in try rules.shown(stored) }
      return Result { () throws(CallFault) in try body(document) }
    }
  }
}

/// What becomes of the document.
enum CollectionChange: Sendable {
  case none
  case put(BSONDocument)
  case remove

  /// As it is written.
  enum Stored: Sendable {
    case none
    case put(JSON)
    case remove
  }

  var forStorage: Stored {
    switch self {
    case .none: .none
    case .put(let document): .put(document.json(.stored))
    case .remove: .remove
    }
  }
}

/// Who may have which document, as the service's rules said it.
struct CollectionRules: Sendable {
  let user: UserID
  let userField: String

  /// A stored document with what it may lack.
  func shown(_ stored: StoredDocument) throws(Failure) -> BSONDocument {
    var members = try Documents.parsed(stored.body).object ?? JSONObject()
    if members["_id"] == nil { members["_id"] = ["$oid": .string(user.text)] }
    members[userField] = .string(user.text)
    do throws(OperatorError) {
      return try BSONDocument(JSON.object(members))
    } catch {
      // Other doors store what only looks like Extended JSON.
      throw .update(error, in: .document)
    }
  }

  /// - Throws: when the document is not, or would not be, the user's own.
  func requireOwn(_ document: BSONDocument, _ what: String) throws(CallFault) {
    guard document[userField] == .string(user.text) else { throw .service(.notPermitted(what)) }
  }

  /// The document with an `_id`, and that one: a new one where it has none.
  func identified(_ document: BSONDocument) throws(OperatorError) -> (BSONDocument, BSON) {
    if let id = document["_id"] { return (document, id) }
    guard var members = document.json(.stored).object else { return (document, .null) }
    let id = ID<Never>().text
    members["_id"] = ["$oid": .string(id)]
    return (try BSONDocument(JSON.object(members)), .objectID(id))
  }
}
