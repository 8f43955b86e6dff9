import JSON
import JSONSchema
import Operators
import Postgres

/// The schemas that one app has for its documents, compiled.
package struct DocumentSchemas: Sendable {
  private var entries: [DocumentClass: (id: SchemaID, compiled: Result<JSONSchema, SchemaError>)] =
    [:]

  package init() {}

  func has(_ id: SchemaID, for document: DocumentClass) -> Bool { entries[document]?.id == id }

  mutating func set(_ row: SchemaRow, for document: DocumentClass) {
    entries[document] = (row.id, row.compiled)
  }

  /// Without those of other classes than these.
  func filter(_ isKept: (DocumentClass) -> Bool) -> DocumentSchemas {
    var schemas = self
    schemas.entries = entries.filter { isKept($0.key) }
    return schemas
  }

  /// What documents of a class must fit; nil when the app has no schema for them.
  ///
  /// - Throws: `.unforeseen` when the stored schema is none for this version of the program:
  ///   nothing is written past it.
  func schema(for document: DocumentClass) throws(Failure) -> JSONSchema? {
    guard let compiled = entries[document]?.compiled else { return nil }
    do throws(SchemaError) {
      return try compiled.get()
    } catch {
      throw .unforeseen("the schema of \(document.rawValue): \(error.pointer): \(error.detail)")
    }
  }
}

extension JSONSchema {
  /// Compiles a schema for documents.
  ///
  /// A value of Extended JSON, in a document as in `const` and `enum`, is validated as the plain JSON
  /// that stands for it: `{"$numberLong": "5"}` as 5.
  init(ofDocuments json: JSON) throws(SchemaError) { try self.init(json, plain: BSON.plain) }

  /// Returns what of a document does not fit, as responses report it.
  func mismatches(in document: JSON) -> [Fault] {
    faults(in: BSON.plain(document)).map { fault in
      Fault(fault.pointer, fault.code, "\(fault.detail) (schema #\(fault.schemaPointer))")
    }
  }
}

extension SchemaError {
  func fault(at pointer: String = "") -> Fault {
    Fault(pointer + self.pointer, "schema_\(rule)", detail)
  }
}

/// A schema as it is stored.
struct SchemaRow: RowDecodable {
  let id: SchemaID
  /// As the operator wrote it.
  let text: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    id = SchemaID(trusted: try row.text(0))
    text = try row.bytes(1)
  }

  var compiled: Result<JSONSchema, SchemaError> {
    // It was read before it was stored.
    let json = (try? JSON.parse(text)) ?? .null
    do throws(SchemaError) {
      return .success(try JSONSchema(ofDocuments: json))
    } catch {
      return .failure(error)
    }
  }
}
