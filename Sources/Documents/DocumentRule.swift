package import Runtime
package import JSON
import JSONSchema

/// The rule that documents of one kind in one app must satisfy.
///
/// The check runs before the statement is sent, so no database connection waits for a calculation.
package struct DocumentRule: Sendable {
  let document: DocumentKind
  /// The app's schema for the kind, if any.
  let schema: JSONSchema?

  /// - Throws: `.internalError` if the stored schema is unusable.
  package init(of document: DocumentKind, in app: App) throws(Failure) {
    self.document = document
    schema = try app.schemas.schema(for: document)
  }

  /// Returns the text of a document that satisfies the rule.
  ///
  /// - Throws: `.invalid` for keys, `.schemaMismatch`.
  package func text(of json: JSON) throws(Failure) -> [UInt8] {
    try checkKeys(of: json, isPatch: false)
    let faults = schema?.mismatches(in: json) ?? []
    guard faults.isEmpty else { throw .schemaMismatch(faults) }
    return json.serialized()
  }

  /// Returns the text of a document that is a member of a user.
  ///
  /// - Throws: as `text(of:)`, with pointers into the user, such as `/app_metadata/plan`.
  package func text(ofMember json: JSON) throws(Failure) -> [UInt8] {
    do throws(Failure) { return try text(of: json) } catch {
      throw error.placed { "/\(document.rawValue)\($0)" }
    }
  }

  /// Returns the text of a merge patch with valid keys.
  ///
  /// - Throws: `.invalid`.
  package func text(ofPatch patch: JSON) throws(Failure) -> [UInt8] {
    try checkKeys(of: patch, isPatch: true)
    return patch.serialized()
  }

  private func checkKeys(of json: JSON, isPatch: Bool) throws(Failure) {
    let faults = document.keyFaults(in: json, isPatch: isPatch)
    guard faults.isEmpty else { throw .invalid(faults) }
  }
}
