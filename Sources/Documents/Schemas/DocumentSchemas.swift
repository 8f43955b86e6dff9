package import Runtime
package import JSON
package import JSONSchema
import Operators
package import Postgres

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
      throw .internalError("the schema of \(document.rawValue): \(error.pointer): \(error.detail)")
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

  init(from row: Row) throws(DatabaseError) {
    id = SchemaID(trusted: try row.text(0))
    text = try row.bytes(1)
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
