import EventLoop
package import JSON

/// Changes of documents that run here: read, change, write.
extension Documents {
  /// Writes the result of `change` on the stored document, if the result satisfies the rule.
  @EventLoop static func rewrite(
    by rule: DocumentRule,
    if condition: VersionCondition,
    of user: UserID,
    _ context: RequestContext,
    _ change: @escaping @Sendable (JSON) throws(Failure) -> JSON
  ) async throws(Failure) -> StoredDocument {
    let document = rule.document
    let written = try await revise(document, if: condition, of: user, context) {
      (stored) async throws(Failure) in
      let before = (stored ?? .empty).body
      return try await context.calculate(on: .max) { () throws(Failure) in
        try rule.text(of: try change(try parsed(before)))
      }
    }
    guard let written else { throw .unforeseen("a patch that writes nothing") }
    return written
  }

  package static func parsed(_ body: [UInt8]) throws(Failure) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(body, limits: .stored)
    } catch {
      throw .unforeseen("a stored document does not parse: \(error.detail)")
    }
  }

  /// Returns the document with a patch applied.
  ///
  /// - Throws: `.patchTestFailed`, `.patchNotApplicable`.
  package static func patched(
    _ document: JSON,
    by patch: JSONPatch,
    limit: Int
  ) throws(Failure) -> JSON {
    do throws(JSONPatchError) {
      let result = try patch.apply(to: document, maximumBytes: 2 * limit)
      guard result.object != nil else {
        throw JSONPatchError.notApplicable(pointer: "", reason: "The document must stay an object.")
      }
      return result
    } catch {
      switch error {
      case .testFailed(let pointer): throw .patchTestFailed(pointer: pointer)
      case .notApplicable(let pointer, let reason), .malformed(let pointer, let reason):
        throw .patchNotApplicable(pointer: pointer, reason: reason)
      }
    }
  }
}

extension JSONLimits {
  /// The limits for text from PostgreSQL: documents stored under earlier limits stay readable.
  static let stored = JSONLimits(depth: 512, numberLength: .max)
}
