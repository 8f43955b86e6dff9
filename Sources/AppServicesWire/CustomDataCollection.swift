import Documents
import Runtime
import EventLoop
import JSON
import Operators

/// The collection of custom data as a user sees it: the user's own document, or none.
///
/// The document has an `_id`, and the user's id in a field that the operator names. Other APIs of
/// the service may store a document without them. Both are added when it is read.
@EventLoop struct CustomDataCollection {
  let rules: CollectionRules
  private let user: UserID
  private let context: RequestContext

  init(of user: UserID, _ context: RequestContext) {
    self.user = user
    self.context = context
    rules = CollectionRules(user: user, userField: context.app.appServicesSettings.userField)
  }

  /// Returns the document in the canonical form for a token.
  ///
  /// Returns nil in three cases, and notes the last two in the log:
  /// - There is no document.
  /// - The canonical form is longer than `limit` bytes.
  /// - The document has a malformed wrapper, which other APIs store.
  ///
  /// The canonical form is seldom shorter than the stored one, and then only by spaces or digits.
  /// So a stored document that is many times longer than the limit is not decoded.
  func read(upTo limit: Int) async throws(Failure) -> JSON? {
    guard let stored = try await stored() else { return nil }
    guard stored.body.count <= 4 * limit else { return leftOut(stored.body.count, limit) }
    // The canonical form has several times the bytes.
    let text = try await context.calculate(on: 4 * stored.body.count) {
      [rules] () throws(Failure) -> [UInt8]? in
      let document = try rules.shown(stored)
      return document.malformedWrapper == nil ? document.serialized(.canonical) : nil
    }
    guard let text else {
      context.remark = "custom data is not in the token: a value only looks like Extended JSON"
      return nil
    }
    return text.count <= limit ? try Documents.parsed(text) : leftOut(text.count, limit)
  }

  private func leftOut(_ bytes: Int, _ limit: Int) -> JSON? {
    context.remark = "custom data is not in the token: it has \(bytes) bytes, and \(limit) fit"
    return nil
  }

  /// Reads the document and returns the result of `body` as text.
  ///
  /// `body` runs off the event loop.
  func look(
    _ body: @escaping @Sendable (BSONDocument?) throws(ServiceError) -> JSON
  ) async throws(Failure) -> Result<[UInt8], ServiceError> {
    let stored = try await stored()
    // The size of the document does not predict the cost of a query.
    return try await context.calculate(on: .max) { [rules] () throws(Failure) in
      let document = try stored.map { (stored) throws(Failure) in try rules.shown(stored) }
      return Result { () throws(ServiceError) in try body(document).serialized() }
    }
  }

  /// Changes the document, and returns the result of `body` as text.
  ///
  /// Repeats `body` if a concurrent request changed the document first.
  func change(
    _ body: @escaping @Sendable (BSONDocument?) throws(ServiceError) -> (DocumentEdit, JSON)
  ) async throws(Failure) -> Result<[UInt8], ServiceError> {
    try await Documents.revise(.customData, adding: rules.added, of: user, context) {
      [rules] (stored) throws(Failure) in
      let document = try stored.map { (stored) throws(Failure) in try rules.shown(stored) }
      do throws(ServiceError) {
        let (edit, answer) = try body(document)
        return (edit, .success(answer.serialized()))
      } catch {
        return (.keep, .failure(error))
      }
    }.outcome
  }

  private func stored() async throws(Failure) -> StoredDocument? {
    try await Documents.stored(.customData, adding: rules.added, of: user, context)
  }
}

/// The rules of the service: the user's id must be in the user field of the document.
///
/// It is added to documents without the field. At App Services, a rule that named the owner by
/// another field, or no rule, let clients write such documents.
struct CollectionRules: Sendable {
  let user: UserID
  let userField: String

  /// The members that this API adds to each document.
  var added: [String] { ["_id", userField] }

  /// Returns a stored document with its `_id` and user field added.
  func shown(_ stored: StoredDocument) throws(Failure) -> BSONDocument {
    var members = try Documents.parsed(stored.body).object ?? JSONObject()
    if members["_id"] == nil { members["_id"] = ["$oid": .string(user.text)] }
    members[userField] = .string(user.text)
    do throws(OperatorError) {
      return try BSONDocument(JSON.object(members))
    } catch {
      // Other APIs store malformed wrappers.
      throw .updateRefused(error, in: "")
    }
  }

  /// Checks that the document belongs to the user.
  ///
  /// - Throws: `.notPermitted` if it does not.
  func requireOwn(_ document: BSONDocument, _ what: String) throws(ServiceError) {
    guard document[userField] == .string(user.text) else { throw .notPermitted(what) }
  }

  /// Returns a new document or a replacement with the user field and an `_id`, each added if it is
  /// missing.
  func completed(_ document: BSONDocument) -> BSONDocument {
    document.adding(userField, .string(user.text)).adding("_id", .objectID(ID<Never>().text))
  }
}
