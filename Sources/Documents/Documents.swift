package import EventLoop
package import JSON
package import Operators
package import Postgres
package import Runtime

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
    let rows = try await context.read(DocumentsQueries.fetch, user, principal, document, on: .large)
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
      return try await DocumentWrite(of: document, text, if: condition, isChecked: true)
        .run(of: user, context)
    case .merge(let patch, let size):
      let (text, objects) = try await context.calculate(on: size) { () throws(Failure) in
        (try rule.text(ofPatch: patch), patch.extent.objects)
      }
      // With a schema, merge here: the database would validate too late.
      if rule.schema == nil, objects <= mergedObjects, MemberAccess(to: document, context) == nil {
        return try await DocumentWrite(
          of: document, text, isMerge: true, if: condition, isChecked: true
        ).run(of: user, context)
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

  /// Returns the error that names each document with another version than the expected one.
  ///
  /// - Returns: the error; nil if all have theirs now.
  /// - Throws: as `version`.
  package static func stale(
    _ expected: [(kind: DocumentKind, version: Int)], of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Failure? {
    var faults: [FieldError] = []
    for (kind, version) in expected {
      let current = try await self.version(of: kind, of: user, context)
      if current != version { faults.append(staleFault(kind, current)) }
    }
    return faults.isEmpty ? nil : .preconditionFailed(faults)
  }

  nonisolated static func staleFault(_ kind: DocumentKind, _ current: Int) -> FieldError {
    FieldError("/\(kind.rawValue)/version", "version", "The stored version is \(current).")
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

extension StoredDocument: RowDecodable {
  package init(from row: Row) throws(DatabaseError) {
    self.init(body: try row.bytes(0), version: try row.int(1))
  }
}

/// The result of a pipelined read: absent, the document, or large, which needs another read.
enum ReadDocumentRow: RowDecodable {
  case absent
  case here(StoredDocument)
  case large

  init(from row: Row) throws(DatabaseError) {
    if row.isNull(1) {
      self = .absent
    } else if row.isNull(0) {
      self = .large
    } else {
      self = .here(try StoredDocument(from: row))
    }
  }
}

extension SQL {
  /// The change of a document, for `DocumentsQueries.update`.
  fileprivate static let update: SQL = """
    update documents d
    set body = case when $5::boolean then merge_patch(d.body, $4::jsonb) else $4::jsonb end,
      version = d.version + 1, updated_at = now()
    where d.user_id = $1 and d.kind = $3 and d.deleted_at is null
      and ($6::bigint[] is null or d.version = any ($6::bigint[]))
      and exists (
        select 1 from users c
        where \(.isAuthorized) and ($7::boolean or not exists (
          select 1 from search_indexes i where i.app_id = c.app_id and i.document_kind = $3)))
    returning d.body::text, d.version
    """
}

package enum DocumentsQueries {
  /// Returns one row if the session is live, without the body of a large document.
  ///
  /// A large body would delay the reads behind it on the same connection.
  ///
  /// Served by the primary keys of three tables.
  static let read = Statement<ReadDocumentRow, UserID, Principal, DocumentKind>(
    "documents.read",
    """
    select case when d.size <= 32768 then d.body::text end, d.version
    from users c
    left join documents d on d.user_id = $1 and d.kind = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """)

  /// Returns the same row, with the body of a document of any size.
  static let fetch = Statement<Found<StoredDocument>, UserID, Principal, DocumentKind>(
    "documents.fetch",
    """
    select d.body::text, d.version
    from users c
    left join documents d on d.user_id = $1 and d.kind = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """)

  /// Returns one row if the session is live: the version, or 0 if there is no document.
  static let version = Statement<Int, UserID, Principal, DocumentKind>(
    "documents.version",
    """
    select coalesce(d.version, 0)
    from users c
    left join documents d on d.user_id = $1 and d.kind = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """)

  /// Replaces a document, or merges into it.
  ///
  /// Returns no row if there is no document, its version is not allowed, or the session has ended.
  /// The row lock serializes writers, and the condition is tested on the result of the previous
  /// writer.
  /// - Parameters:
  ///   - 1: the user.
  ///   - 2: the principal.
  ///   - 3: the document.
  ///   - 4: the body.
  ///   - 5: whether to merge the body.
  ///   - 6: the versions that may be stored; null for any.
  ///   - 7: whether search values follow in the transaction. If not, it returns no row for an app
  ///     with an index, which another process may have just declared.
  static let update = Statement<
    StoredDocument, UserID, Principal, DocumentKind, TextBytes, Bool, NumberArray?, Bool
  >(
    "documents.update",
    "\(.update)")

  /// Does as `update`, and queues the event that is only published.
  ///
  /// Not for a distributed database, where the row would pass through the coordinator.
  /// - Parameters:
  ///   - 8: the id of the event.
  ///   - 9: the app.
  ///   - 10: the part of the data that the event names.
  static let updateAndQueue = Statement<
    StoredDocument, UserID, Principal, DocumentKind, TextBytes, Bool, NumberArray?, Bool, EventID,
    AppID, String
  >(
    "documents.update_and_queue",
    """
    with changed as (\(.update)), queued as (
      insert into unpublished_changes (user_id, event_id, app_id, ordinal, session_id, what, version)
      select $1, $8, $9, \(.ordinal), $2::text, $10, c.version from changed c)
    select c.body, c.version from changed c
    """)

  /// Creates a document, also in place of a deleted one.
  ///
  /// Returns no row if there is a document, which is locked then, or if the session has ended.
  static let create = Statement<StoredDocument, UserID, Principal, DocumentKind, TextBytes, Bool>(
    "documents.create",
    """
    insert into documents as d (user_id, kind, body, version)
    select c.user_id, $3,
      case when $5::boolean then merge_patch('{}', $4::jsonb) else $4::jsonb end, 1
    from users c where \(.isAuthorized)
    on conflict (user_id, kind) do update
    set body = excluded.body, version = d.version + 1, updated_at = excluded.updated_at,
      deleted_at = null
    where d.deleted_at is not null
    returning d.body::text, d.version
    """)

  /// Marks a document as deleted, and returns `{}` and its increased version.
  ///
  /// Returns no row under the same conditions as `update`.
  /// - Parameter 5: whether search values follow in the transaction, as parameter 7 of `update`.
  static let delete = Statement<
    StoredDocument, UserID, Principal, DocumentKind, NumberArray?, Bool
  >(
    "documents.delete",
    """
    update documents d
    set body = '{}', version = d.version + 1, updated_at = now(), deleted_at = now()
    where d.user_id = $1 and d.kind = $3 and d.deleted_at is null
      and ($4::bigint[] is null or d.version = any ($4::bigint[]))
      and exists (
        select 1 from users c
        where \(.isAuthorized) and ($5::boolean or not exists (
          select 1 from search_indexes i where i.app_id = c.app_id and i.document_kind = $3)))
    returning d.body::text, d.version
    """)
}

extension Failure {
  package static let patchTestFailed = Failure("patch_test_failed", .conflict)
    .titled("A test operation of the patch failed.")
    .remedied("Read the document again, and make a new patch.")
  package static let documentTooLarge = Failure("document_too_large", .tooLarge)
    .titled("The document would become too large.")
    .remedied("Send at most as many bytes as limit allows.")
  package static let schemaMismatch = Failure("schema_mismatch", .invalid)
    .titled("The document would not match the app's schema.")
    .remedied("Correct the places that errors lists. dossier schema show prints the app's schema.")
  package static let memberNotWritable = Failure("member_not_writable", .forbidden)
    .titled("The app does not let users write a member of the document.")
    .remedied(
      "Leave the member at the pointer as it is. The app's settings metadata_writable and "
        + "custom_data_writable name the members that users may write."
    )
  package static let patchNotApplicable = Failure("patch_not_applicable", .invalid)
    .titled("The patch cannot be applied to the document.")
    .remedied("The member errors names the failed operation. Read the document again.")
  package static let updateRefused = Failure("update_refused", .invalid)
    .titled("The update cannot be applied to the document.")
    .remedied("Correct the operator that the pointer names. The code is MongoDB's.")

  package static func memberNotWritable(_ place: JSONPointer) -> Failure {
    .memberNotWritable(at: place.description, "Users may not write this member.")
  }

  package static func patchTestFailed(pointer: String) -> Failure {
    .patchTestFailed(at: pointer, "The stored value is different.")
  }

  /// Returns the error for a stored document of more than `limit` bytes.
  package static func documentTooLarge(above limit: Int) -> Failure {
    .documentTooLarge(
      limit: limit,
      "The document may have at most \(limit) bytes of UTF-8, with a space after each comma and "
        + "colon."
    )
  }

  /// Returns the error for an update by operators that is malformed or cannot be applied.
  ///
  /// It has MongoDB's code. `place` is the place of the part of the update in the input, and empty
  /// for the stored document.
  package static func updateRefused(_ error: OperatorError, in place: String) -> Failure {
    let filters = "/arrayFilters"
    let pointer =
      error.pointer.hasPrefix(filters)
      ? "/array_filters" + error.pointer.dropFirst(filters.count) : place + error.pointer
    return .updateRefused(
      faults: [FieldError(pointer, error.code.name, error.detail)],
      members: [
        ("operator_code", .number(JSONNumber(error.code.rawValue))),
        ("operator_code_name", .string(error.code.name)), ("path", .string(error.path)),
      ]
    )
  }
}
