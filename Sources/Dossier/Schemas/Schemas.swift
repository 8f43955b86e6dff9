package import EventLoop
import JSON
import JSONSchema
import Postgres

/// JSON Schemas, draft 2020-12, that an app's documents must fit when they are written.
///
/// What was stored before a schema came stays as it is until it is next written; `SchemaCheck`
/// finds it.
@EventLoop package enum Schemas {
  /// Bytes of a schema, as it is written.
  package nonisolated static let sizeLimit = JSONSchema.sizeLimit

  /// Gives an app a schema for a class of documents, in the place of the one it had.
  ///
  /// Workers go by it within some 10 seconds.
  /// - Parameters:
  ///   - text: of the schema; it is kept as it is.
  ///   - document: the class.
  ///   - app: the name of the app.
  ///   - context: the context of the request.
  /// - Returns: whether there was none before.
  /// - Throws: `.invalid` with the place in the schema, `.unknownApp`, `.unavailable`.
  package static func set(
    _ text: [UInt8],
    for document: DocumentClass,
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> Bool {
    _ = try compiled(text)
    let id = try await Apps.record(of: app, context).id
    return try await context.transaction { transaction async throws(Failure) in
      let set = try await transaction.run(
        SchemaQueries.set,
        id,
        document,
        SchemaID(),
        TextBytes(text)
      )
      try await Event("schema_set", detail: ["class": .string(document.pathName)]).record(
        in: transaction,
        app: id,
        context
      )
      return set.first
    }.orUnforeseen("a schema that was set")
  }

  /// Compiles what somebody wrote.
  ///
  /// - Throws: `.invalid` with the place in it.
  nonisolated static func compiled(_ text: [UInt8]) throws(Failure) -> JSONSchema {
    guard text.count <= sizeLimit else {
      throw .invalid([Fault("", "schema_size", "A schema has at most \(sizeLimit) bytes.")])
    }
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(text)
    } catch {
      let detail = "At byte \(error.offset): \(error.detail)"
      throw .invalid([Fault(error.pointer, error.reason.rawValue, detail)])
    }
    do throws(SchemaError) {
      return try JSONSchema(ofDocuments: json)
    } catch {
      throw .invalid([error.fault()])
    }
  }

  /// An app's schemas, without their texts.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  package static func list(
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> [SchemaInfo] {
    let id = try await Apps.record(of: app, context).id
    return try await context.read(SchemaQueries.list, id)
  }

  /// The text of a schema.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.unavailable`.
  package static func text(
    for document: DocumentClass,
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> [UInt8] {
    let id = try await Apps.record(of: app, context).id
    let rows = try await context.read(SchemaQueries.text, id, document)
    guard let row = rows.first else { throw .notFound }
    return row.text
  }

  /// Takes a schema away: documents may be anything again.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.unavailable`.
  package static func remove(
    for document: DocumentClass,
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, context).id
    try await context.act("schema_remove") { transaction async throws(Failure) in
      try await transaction.run(SchemaQueries.remove, id, document).first
    } recording: { _ in
      (id, ["class": .string(document.pathName)])
    }
  }

  // MARK: Loading

  /// The schemas of all apps; those that are among `known` are not compiled again.
  static func load(
    _ database: Database,
    _ known: [AppID: DocumentSchemas]
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

  /// The schemas of one app as they are now.
  ///
  /// - Throws: `.unavailable`.
  package static func current(
    of app: AppID,
    _ context: RequestContext
  ) async throws(Failure) -> DocumentSchemas {
    var schemas = DocumentSchemas()
    for document in DocumentClass.allCases {
      let rows = try await context.read(SchemaQueries.text, app, document)
      if let row = rows.first { schemas.set(row, for: document) }
    }
    return schemas
  }
}
