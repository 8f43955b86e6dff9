package import EventLoop
package import JSON
package import JSONSchema
import Operators
package import Postgres
package import Runtime
import Tenancy

/// JSON Schemas, draft 2020-12, which validate an app's documents when they are written.
///
/// Documents from before a schema stay unchanged until their next write; `SchemaCheck` finds
/// mismatches.
@EventLoop package enum Schemas {
  /// The greatest length of a schema's text, in bytes.
  package nonisolated static let sizeLimit = JSONSchema.sizeLimit

  /// Sets or replaces an app's schema for a kind of documents.
  ///
  /// Workers apply it within about 10 seconds.
  /// - Parameters:
  ///   - text: the text of the schema, stored unchanged.
  ///   - document: the kind.
  ///   - app: the app.
  ///   - condition: the condition on the stored version; version 0 stands for an absent schema.
  ///   - context: the context of the request.
  /// - Returns: the new version, and whether the app had no schema for the kind before.
  /// - Throws: `.invalid` with the place in the schema, `.preconditionFailed`,
  ///   `.databaseUnavailable`.
  package static func set(
    _ text: [UInt8], for document: DocumentKind, of app: AppID, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> (version: Int, isNew: Bool) {
    _ = try compiled(text)
    return try await context.transaction { transaction async throws(Failure) in
      let body = TextBytes(text)
      @EventLoop func done(_ time: Timestamp, isNew: Bool) -> (version: Int, isNew: Bool) {
        let detail: JSON = ["kind": .string(document.pathName)]
        Event("schema_set", detail: detail).record(in: transaction, app: app)
        return (time.microseconds, isNew)
      }
      while true {
        let mayCreate = condition.allows(ifAny: nil)
        if mayCreate {
          let now = Timestamp.now
          let added = try await transaction.run(
            SchemaQueries.add, app, document, SchemaID(), body, now)
          if !added.isEmpty { return done(now, isNew: true) }
        }
        guard let stored = try await transaction.run(SchemaQueries.lock, app, document).first else {
          // Another request has removed the schema between the two statements.
          guard mayCreate else { throw .preconditionFailed(current: 0) }
          continue
        }
        try condition.require(stored.version)
        let now = stored.nextChange
        _ = transaction.send(SchemaQueries.set, app, document, SchemaID(), body, now)
        return done(now, isNew: false)
      }
    }
  }

  /// Compiles an operator's schema.
  ///
  /// - Throws: `.invalid` with the place in it.
  package nonisolated static func compiled(_ text: [UInt8]) throws(Failure) -> JSONSchema {
    guard text.count <= sizeLimit else {
      throw .invalid([
        FieldError("", "schema_size", "A schema may have at most \(sizeLimit) bytes.")
      ])
    }
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(text)
    } catch {
      let detail = "At byte \(error.offset): \(error.detail)"
      throw .invalid([FieldError(error.pointer, error.reason.rawValue, detail)])
    }
    do throws(SchemaError) {
      return try JSONSchema(ofDocuments: json)
    } catch {
      throw .invalid([error.fault()])
    }
  }

  /// Returns an app's schemas without their texts.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func list(
    of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> [SchemaInfo] {
    try await context.read(SchemaQueries.list, app)
  }

  /// Returns the text of a schema, and its version.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  package static func text(
    for document: DocumentKind, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> (text: [UInt8], version: Int) {
    let rows = try await context.read(SchemaQueries.text, app, document)
    guard let row = rows.first else { throw .notFound }
    return (row.text, row.time.version)
  }

  /// Removes a schema, so that documents of its kind are no longer validated.
  ///
  /// - Throws: `.notFound`, `.preconditionFailed`, `.databaseUnavailable`.
  package static func remove(
    for document: DocumentKind, of app: AppID, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) {
    try await context.act("schema_remove") { (transaction) async throws(Failure) -> String? in
      guard let stored = try await transaction.run(SchemaQueries.lock, app, document).first else {
        return nil
      }
      try condition.require(stored.version)
      return try await transaction.run(SchemaQueries.remove, app, document).first
    } recording: { _ in
      (app, ["kind": .string(document.pathName)])
    }
  }

  /// Reads the current schemas of one app.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func current(
    of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> DocumentSchemas {
    var schemas = DocumentSchemas()
    for document in DocumentKind.allCases {
      let rows = try await context.read(SchemaQueries.text, app, document)
      if let row = rows.first { schemas.set(row, for: document) }
    }
    return schemas
  }
}

/// The compiled schemas of an app's documents.
package struct DocumentSchemas: Sendable {
  private var entries: [DocumentKind: (id: SchemaID, compiled: Result<JSONSchema, SchemaError>)] =
    [:]

  package init() {}

  func has(_ id: SchemaID, for document: DocumentKind) -> Bool { entries[document]?.id == id }

  mutating func set(_ row: SchemaRow, for document: DocumentKind) {
    entries[document] = (row.id, row.compiled)
  }

  /// Returns the schemas of some classes.
  package func filter(_ isKept: (DocumentKind) -> Bool) -> DocumentSchemas {
    var schemas = self
    schemas.entries = entries.filter { isKept($0.key) }
    return schemas
  }

  /// Returns the schema for documents of a kind; nil if the app has none.
  ///
  /// - Throws: `.internalError` if this version of the program cannot compile the stored schema;
  ///   documents of the kind cannot be written then.
  package func schema(for document: DocumentKind) throws(Failure) -> JSONSchema? {
    guard let compiled = entries[document]?.compiled else { return nil }
    do throws(SchemaError) {
      return try compiled.get()
    } catch {
      throw .internalError(
        reason: "the schema of \(document.rawValue): \(error.pointer): \(error.detail)")
    }
  }
}

extension DocumentSchemas: AppPart {
  package static func load(
    _ database: Database, _ known: [AppID: DocumentSchemas]
  ) async throws(DatabaseError) -> [AppID: DocumentSchemas] {
    let entries = try await database.read(SchemaQueries.all)
    let classes = Dictionary(grouping: entries, by: \.app).mapValues {
      Set($0.compactMap(\.document))
    }
    var schemas: [AppID: DocumentSchemas] = [:]
    for (app, documents) in classes {
      schemas[app] = known[app]?.filter(documents.contains) ?? DocumentSchemas()
    }
    for entry in entries {
      guard let document = entry.document,
        schemas[entry.app]?.has(entry.id, for: document) == false
      else { continue }
      let rows = try await database.read(SchemaQueries.text, entry.app, document)
      if let row = rows.first { schemas[entry.app]?.set(row, for: document) }
    }
    return schemas
  }
}

extension App {
  package var schemas: DocumentSchemas { part() ?? DocumentSchemas() }
}

extension JSONSchema {
  /// Compiles a schema for documents.
  ///
  /// Values of Extended JSON, in documents and in `const` and `enum`, are validated as plain JSON:
  /// `{"$numberLong": "5"}` as 5.
  package init(ofDocuments json: JSON) throws(SchemaError) {
    try self.init(json, plain: BSON.plain)
  }

  /// Returns the mismatches of a document, as responses report them.
  package func mismatches(in document: JSON) -> [FieldError] {
    faults(in: BSON.plain(document)).map { fault in
      FieldError(fault.pointer, fault.code, "\(fault.detail) (schema #\(fault.schemaPointer))")
    }
  }
}

extension SchemaError {
  package func fault(at pointer: String = "") -> FieldError {
    FieldError(pointer + self.pointer, "schema_\(rule)", detail)
  }
}

/// A stored schema.
struct SchemaRow: RowDecodable {
  let id: SchemaID
  /// The text as the operator wrote it.
  let text: [UInt8]
  let time: SchemaTime

  init(from row: Row) throws(DatabaseError) {
    id = SchemaID(trusted: try row.text(0))
    text = try row.bytes(1)
    time = SchemaTime(try row.time(2))
  }

  var compiled: Result<JSONSchema, SchemaError> {
    // The text was parsed before it was stored.
    let json = (try? JSON.parse(text)) ?? .null
    do throws(SchemaError) {
      return .success(try JSONSchema(ofDocuments: json))
    } catch {
      return .failure(error)
    }
  }
}

/// The time of the last change of a schema, which is also its version.
struct SchemaTime: RowDecodable {
  /// In microseconds since 1970, which a JavaScript number can hold.
  let version: Int

  init(_ time: Timestamp) { version = time.microseconds }

  init(from row: Row) throws(DatabaseError) { self.init(try row.time(0)) }

  /// The time of the next change, which is later than this one also if the clock is behind.
  var nextChange: Timestamp {
    Timestamp(microseconds: max(Timestamp.now.microseconds, version + 1))
  }
}

/// A scan of an app's documents of one kind for mismatches with a schema.
///
/// Each page of users is a separate statement, as in `UserExport`.
@EventLoop package struct SchemaCheck {
  private let app: AppID
  private let document: DocumentKind
  private let schema: JSONSchema
  private let context: RequestContext
  private var cursor: UserID?
  private var size = PageSize(16, upTo: 1_024)
  private var isOver = false

  /// The results of one page.
  package struct Page: Sendable {
    /// The number of documents checked.
    package let documents: Int
    package let mismatches: [(user: UserID, faults: [FieldError])]
  }

  /// - Parameters:
  ///   - document: the kind of the documents.
  ///   - app: the app of the documents.
  ///   - text: a schema to try; nil for the app's own.
  ///   - context: the context of the request.
  /// - Throws: `.invalid` with the place in `text`, `.notFound` if the app has no schema for the
  ///   kind, `.databaseUnavailable`.
  package init(
    _ document: DocumentKind, of app: AppID, by text: [UInt8]?, _ context: RequestContext
  ) async throws(Failure) {
    self.app = app
    self.document = document
    self.context = context
    if let text {
      schema = try Schemas.compiled(text)
    } else {
      let schemas = try await Schemas.current(of: app, context)
      guard let schema = try schemas.schema(for: document) else { throw .notFound }
      self.schema = schema
    }
  }

  /// Checks the next page; returns nil at the end.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  package mutating func next() async throws(Failure) -> Page? {
    guard !isOver else { return nil }
    let rows = try await context.read(
      SchemaQueries.page, app, document, cursor, size.count, on: .search)
    isOver = rows.count < size.count
    guard let last = rows.last else { return nil }
    cursor = last.user
    var (bytes, documents) = (0, 0)
    var mismatches: [(user: UserID, faults: [FieldError])] = []
    for row in rows {
      guard let body = row.body else { continue }
      bytes += body.count
      documents += 1
      let faults = schema.mismatches(in: try Documents.parsed(body))
      if !faults.isEmpty { mismatches.append((row.user, faults)) }
    }
    size.fit(bytes, in: rows.count)
    return Page(documents: documents, mismatches: mismatches)
  }
}

/// A user, and the document to check.
struct CheckedUser: RowDecodable {
  let user: UserID
  let body: [UInt8]?

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    body = row.isNull(1) ? nil : try row.bytes(1)
  }
}

/// The schema of an app for a kind of documents.
struct SchemaEntry: RowDecodable {
  let app: AppID
  /// Nil for a kind that only a later version of the program knows.
  let document: DocumentKind?
  let id: SchemaID

  init(from row: Row) throws(DatabaseError) {
    app = AppID(trusted: try row.text(0))
    document = DocumentKind(rawValue: try row.text(1))
    id = SchemaID(trusted: try row.text(2))
  }
}

/// A schema without its text.
package struct SchemaInfo: RowDecodable {
  package let document: DocumentKind
  package let bytes: Int
  package let updatedAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    document = try row.documentKind(0)
    bytes = try row.int(1)
    updatedAt = try row.time(2)
  }
}

package enum SchemaQueries {
  /// Returns the schemas of all apps; a worker then reads only the texts that it does not know.
  static let all = Statement<SchemaEntry>(
    "schemas.all", "select app_id, kind, schema_id from document_schemas"
  )

  /// Served by the primary key, as are the rest.
  static let text = Statement<SchemaRow, AppID, DocumentKind>(
    "schemas.text",
    """
    select schema_id, body::text, updated_at from document_schemas where app_id = $1 and kind = $2
    """)

  /// Locks a schema, and returns the time of its last change.
  static let lock = Statement<SchemaTime, AppID, DocumentKind>(
    "schemas.lock",
    "select updated_at from document_schemas where app_id = $1 and kind = $2 for update"
  )

  /// Returns no row if the app has a schema for the kind.
  static let add = Statement<String, AppID, DocumentKind, SchemaID, TextBytes, Timestamp>(
    "schemas.add",
    """
    insert into document_schemas (app_id, kind, schema_id, body, updated_at)
    values ($1, $2, $3, $4::json, $5::timestamptz)
    on conflict (app_id, kind) do nothing returning kind
    """)

  static let set = Statement<NoRow, AppID, DocumentKind, SchemaID, TextBytes, Timestamp>(
    "schemas.set",
    """
    update document_schemas set schema_id = $3, body = $4::json, updated_at = $5::timestamptz
    where app_id = $1 and kind = $2
    """)

  static let list = Statement<SchemaInfo, AppID>(
    "schemas.list",
    """
    select kind, octet_length(body::text), updated_at
    from document_schemas where app_id = $1 order by kind
    """)

  static let remove = Statement<String, AppID, DocumentKind>(
    "schemas.remove", "delete from document_schemas where app_id = $1 and kind = $2 returning kind"
  )

  /// Returns the next users of an app, with the document of each, if any.
  ///
  /// Served by `users_by_app`.
  static let page = Statement<CheckedUser, AppID, DocumentKind, UserID?, Int>(
    "schemas.page",
    """
    select u.user_id, d.body::text
    from users u
    left join lateral (
      select body from documents d
      where d.user_id = u.user_id and d.kind = $2 and d.deleted_at is null limit 1
    ) d on true
    where u.app_id = $1 and u.user_id > coalesce($3, '')
    order by u.user_id limit $4::bigint
    """)
}
