package import Runtime
import Tenancy
package import EventLoop
import JSON
package import JSONSchema
import Postgres

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
  ///   - app: the name of the app.
  ///   - context: the context of the request.
  /// - Returns: whether the app had no schema for the kind before.
  /// - Throws: `.invalid` with the place in the schema, `.unknownApp`, `.databaseUnavailable`.
  package static func set(
    _ text: [UInt8], for document: DocumentKind, of app: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    _ = try compiled(text)
    let id = try await Apps.record(of: app, context).id
    return try await context.transaction { transaction async throws(Failure) in
      let known = transaction.send(SchemaQueries.known, id, document)
      _ = transaction.send(SchemaQueries.set, id, document, SchemaID(), TextBytes(text))
      Event("schema_set", detail: ["kind": .string(document.pathName)]).record(
        in: transaction, app: id
      )
      return try await known.rows().isEmpty
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
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  package static func list(
    of app: String, _ context: RequestContext
  ) async throws(Failure) -> [SchemaInfo] {
    let id = try await Apps.record(of: app, context).id
    return try await context.read(SchemaQueries.list, id)
  }

  /// Returns the text of a schema.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.databaseUnavailable`.
  package static func text(
    for document: DocumentKind, of app: String, _ context: RequestContext
  ) async throws(Failure) -> [UInt8] {
    let id = try await Apps.record(of: app, context).id
    let rows = try await context.read(SchemaQueries.text, id, document)
    guard let row = rows.first else { throw .notFound }
    return row.text
  }

  /// Removes a schema, so that documents of its kind are no longer validated.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.databaseUnavailable`.
  package static func remove(
    for document: DocumentKind, of app: String, _ context: RequestContext
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, context).id
    try await context.act("schema_remove") { transaction async throws(Failure) in
      try await transaction.run(SchemaQueries.remove, id, document).first
    } recording: { _ in
      (id, ["kind": .string(document.pathName)])
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
