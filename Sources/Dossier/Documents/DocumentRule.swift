import JSON
import JSONSchema

/// What a document must be to be written, in one app.
///
/// It is looked at before the statement that writes is sent: no connection of the database waits for
/// a thread that calculates.
struct DocumentRule: Sendable {
  let document: DocumentClass
  /// Nil where the app has none for the class.
  let schema: JSONSchema?

  /// - Throws: `.unforeseen` for a stored schema that cannot be used.
  init(of document: DocumentClass, in app: App) throws(Failure) {
    self.document = document
    schema = try app.schemas.schema(for: document)
  }

  /// The text of a document that keeps to it.
  ///
  /// - Throws: `.invalid` for keys, `.schemaMismatch`.
  func text(of json: JSON) throws(Failure) -> [UInt8] {
    try checkKeys(of: json, isPatch: false)
    let faults = schema?.mismatches(in: json) ?? []
    guard faults.isEmpty else { throw .schemaMismatch(faults) }
    return json.serialized()
  }

  /// The text of a merge patch whose keys keep to it.
  ///
  /// - Throws: `.invalid`.
  func text(ofPatch patch: JSON) throws(Failure) -> [UInt8] {
    try checkKeys(of: patch, isPatch: true)
    return patch.serialized()
  }

  private func checkKeys(of json: JSON, isPatch: Bool) throws(Failure) {
    let faults = document.keyFaults(in: json, isPatch: isPatch)
    guard faults.isEmpty else { throw .invalid(faults) }
  }
}
