package import Runtime
package import EventLoop
package import JSON
package import Postgres

/// The JSON documents of a user.
///
/// Every user has each of them from the start. Before the first write, and after a deletion, a
/// document is `{}` in version 0.
package enum DocumentKind: String, CaseIterable, Sendable, Bindable {
  case metadata
  case appMetadata = "app_metadata"
  case customData = "custom_data"

  /// The size limit in bytes of PostgreSQL's text; the constraint `documents_size` enforces it.
  package var limit: Int { self == .customData ? 1_048_576 : 65_536 }

  /// The name in paths and in messages.
  package var pathName: String {
    switch self {
    case .metadata: "metadata"
    case .appMetadata: "app-metadata"
    case .customData: "custom-data"
    }
  }

  package init?(pathName: String) {
    guard let document = Self.allCases.first(where: { $0.pathName == pathName }) else { return nil }
    self = document
  }

  package func appendText(to bytes: inout [UInt8]) -> Bool { rawValue.appendText(to: &bytes) }
}

extension Row {
  /// Reads a column with the kind of a document.
  package func documentKind(_ column: Int) throws(DatabaseError) -> DocumentKind {
    guard let kind = DocumentKind(rawValue: try text(column)) else {
      throw DatabaseError(.unexpectedColumn, "column \(column) is no kind of document")
    }
    return kind
  }
}

/// A stored document.
package struct StoredDocument: Sendable {
  /// JSON text, as PostgreSQL wrote it.
  package let body: [UInt8]
  package let version: Int

  /// A document that is not stored.
  package static let empty = StoredDocument(body: Array("{}".utf8), version: 0)

  package init(body: [UInt8], version: Int) {
    self.body = body
    self.version = version
  }
}

/// A change of a document; sizes are approximate lengths of the text.
package enum DocumentChange: Sendable {
  case replace(JSON, size: Int)
  /// A merge patch of RFC 7396, applied by the database.
  case merge(JSON, size: Int)
  /// A patch of RFC 6902, applied here to the version read, and repeated after a concurrent write.
  case patch(JSONPatch)
}

@EventLoop package enum Documents {
  /// Reads a document; returns `{}` in version 0 if it is not stored.
  ///
  /// - Throws: `.insufficientScope`, `.notFound` if the user does not exist, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  package static func read(
    _ document: DocumentKind, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    try await stored(document, of: user, context) ?? .empty
  }

  /// Reads a stored document; returns nil if it is not stored.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - own: members that the protocol adds, which every user may read.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the members that the principal may read.
  /// - Throws: as `read`.
  package static func stored(
    _ document: DocumentKind, adding own: [String] = [], of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    try document.requireReadable(context)
    guard let stored = try await load(document, of: user, context) else { return nil }
    return try await MemberAccess(to: document, adding: own, context).visible(in: stored, context)
  }

  /// Loads a whole document without checking permissions; returns nil if it does not exist.
  ///
  /// A large document is read on the lane for large results, where each user has a share.
  package static func load(
    _ document: DocumentKind, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    let row = try await context.first(DocumentsQueries.read, user, context.principal, document)
    return try await whole(row, document, of: user, context)
  }

  /// Adds a read of a document to a batch.
  ///
  /// A large document takes another round trip.
  /// - Returns: a function that returns what `read` does, and throws as that.
  /// - Throws: `.insufficientScope`.
  package static func addRead(
    _ document: DocumentKind, of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) throws(Failure) -> @EventLoop (BatchResults) async throws(Failure) -> StoredDocument {
    try document.requireReadable(context)
    let place = batch.add(DocumentsQueries.read, user, context.principal, document)
    return { (results) async throws(Failure) in
      let row: ReadDocumentRow? = try results.first(place)
      guard let stored = try await whole(row, document, of: user, context) else { return .empty }
      return try await MemberAccess(to: document, context).visible(in: stored, context)
    }
  }

  /// Returns the document of a row of `DocumentsQueries.read`.
  private static func whole(
    _ row: ReadDocumentRow?, _ document: DocumentKind, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    switch try row.orGone(context) {
    case .absent: return nil
    case .here(let stored): return stored
    case .large: break
    }
    let principal = context.principal
    let rows = try await context.fetch(DocumentsQueries.fetch, user, principal, document)
    return try rows.first.orGone(context).item
  }

  /// Writes a document atomically, also under concurrent writes.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - change: the change.
  ///   - condition: the condition on the stored version.
  ///   - user: the user.
  ///   - context: the context of the request; the new document must satisfy its app's schema, if
  ///     any.
  /// - Returns: the new document.
  /// - Throws: `.insufficientScope`, `.preconditionFailed`, `.invalid` for keys, `.schemaMismatch`,
  ///   `.memberNotWritable`, `.documentTooLarge`, `.patchTestFailed`, `.patchNotApplicable`, `.sessionEnded`.
  package static func write(
    _ document: DocumentKind, _ change: DocumentChange, if condition: VersionCondition,
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    let rule = try DocumentRule(of: document, in: context.app)
    switch change {
    case .replace(let body, let size):
      guard MemberAccess(to: document, context) == nil else {
        return try await rewrite(document, if: condition, of: user, context) { _ in body }
      }
      let cost = rule.schema == nil ? size : .max
      let text = try await context.calculate(on: cost) { () throws(Failure) in
        try rule.text(of: body)
      }
      return try await DocumentWrite(of: document, text, if: condition).run(of: user, context)
    case .merge(let patch, let size):
      let (text, objects) = try await context.calculate(on: size) { () throws(Failure) in
        (try rule.text(ofPatch: patch), patch.extent.objects)
      }
      // With a schema, merge here: the database would validate too late.
      if rule.schema == nil, objects <= mergedObjects, MemberAccess(to: document, context) == nil {
        return try await DocumentWrite(of: document, text, isMerge: true, if: condition)
          .run(of: user, context)
      }
      return try await rewrite(document, if: condition, of: user, context) {
        (before) throws(Failure) in before.merging(patch)
      }
    case .patch(let patch):
      return try await rewrite(document, if: condition, of: user, context) {
        (before) throws(Failure) in
        try patched(before, by: patch, limit: document.limit)
      }
    }
  }

  /// The most objects in a patch that the database merges, at some microseconds each.
  ///
  /// Larger patches are merged here.
  private static let mergedObjects = 1_000

  /// Returns the current version after a conflict.
  ///
  /// It reads again, because the failed write may have seen an older version.
  /// - Throws: `.notFound` if the user does not exist, `.sessionEnded`, `.databaseUnavailable`.
  package static func version(
    of document: DocumentKind, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Int {
    try await context.first(DocumentsQueries.version, user, context.principal, document)
      .orGone(context)
  }

  /// Deletes a document.
  ///
  /// Reads then return `{}` in version 0; the stored version continues.
  ///
  /// Members that the user may not read stay.
  ///
  /// - Throws: `.insufficientScope`, `.memberNotWritable`, `.preconditionFailed`, `.notFound` if the
  ///   user does not exist, `.sessionEnded`, `.databaseUnavailable`.
  package static func delete(
    _ document: DocumentKind, if condition: VersionCondition, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    guard MemberAccess(to: document, context) == nil else {
      _ = try await revise(document, if: condition, of: user, context) { stored in
        (stored == nil ? .keep : .remove, outcome: ())
      }
      return
    }
    try await remove(document, if: condition, of: user, context)
  }

  /// Deletes a document, whose members the user may write.
  ///
  /// - Throws: as `delete`.
  static func remove(
    _ document: DocumentKind, if condition: VersionCondition, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    let removal = DocumentWrite(of: document, nil, if: condition, isChecked: true)
    guard try await removal.attempt(of: user, context) == nil else { return }
    let current = try await version(of: document, of: user, context)
    // Without a condition, deleting an absent document succeeds.
    guard condition.allowed != nil else { return }
    guard current == 0, condition.allowsFirst else { throw .preconditionFailed(current: current) }
  }
}
