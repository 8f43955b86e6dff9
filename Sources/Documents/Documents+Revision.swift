package import Runtime
import EventLoop
package import JSON

/// A change that was computed from the stored document.
package enum DocumentEdit: Sendable {
  /// The document stays as it is.
  case keep
  case put(JSON)
  case remove

  /// The edit with the text of the new document.
  fileprivate enum Checked: Sendable {
    case keep
    case put([UInt8])
    case remove
  }

  /// Returns the edit if its document satisfies the rule.
  fileprivate func checked(by rule: DocumentRule) throws(Failure) -> Checked {
    switch self {
    case .keep: .keep
    case .put(let json): .put(try rule.text(of: json))
    case .remove: .remove
    }
  }
}

extension Documents {
  /// Computes a change from the stored document and writes it, and repeats that after a concurrent
  /// write.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - condition: the condition on the stored version.
  ///   - own: members that the protocol adds, which every user may read and write.
  ///   - user: the user.
  ///   - context: the context of the request; the new document must satisfy its app's schema, if
  ///     any.
  ///   - change: returns the change and an outcome. It receives what the principal may read, or nil
  ///     if there is no document, and runs off the event loop.
  /// - Returns: the document after the change, or nil if it does not exist, and the outcome.
  /// - Throws: as `write`, and errors of `change`.
  package static func revise<Outcome: Sendable>(
    _ document: DocumentKind,
    if condition: VersionCondition = VersionCondition(),
    adding own: [String] = [],
    of user: UserID,
    _ context: RequestContext,
    _ change:
      @escaping @Sendable (StoredDocument?) throws(Failure) -> (DocumentEdit, outcome: Outcome)
  ) async throws(Failure) -> (document: StoredDocument?, outcome: Outcome) {
    let rule = try DocumentRule(of: document, in: context.app)
    let access = MemberAccess(to: document, adding: own, context)
    return try await context.revise(document.rawValue, of: user) { () async throws(Failure) in
      let stored = try await load(document, of: user, context)
      let version = stored?.version ?? 0
      guard stored == nil ? condition.allowsFirst : condition.allows(version) else {
        throw .preconditionFailed(current: version)
      }
      // The size of a document does not predict the cost of a change.
      let (edit, outcome) = try await context.calculate(on: .max) { () throws(Failure) in
        guard let access else {
          let (edit, outcome) = try change(stored)
          return (try edit.checked(by: rule), outcome)
        }
        let before = try stored.map { (stored) throws(Failure) in try parsed(stored.body) }
        let shown = try stored.map { (stored) throws(Failure) in try access.visible(in: stored) }
        let (edit, outcome) = try change(shown)
        return (try access.result(of: edit, on: before).checked(by: rule), outcome)
      }
      do throws(Failure) {
        let after = try await apply(edit, to: document, stored, of: user, context)
        guard let after else { return .done((nil, outcome)) }
        return .done((try await access.visible(in: after, context), outcome))
      } catch .preconditionFailed {
        return .overtaken
      }
    }
  }

  /// Writes a change of the stored document, and returns the document after it.
  ///
  /// Throws `.preconditionFailed` if the stored document is another by now.
  private static func apply(
    _ edit: DocumentEdit.Checked, to document: DocumentKind, _ stored: StoredDocument?,
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    let expected = VersionCondition(oneOf: [stored?.version ?? 0])
    switch edit {
    case .keep: return stored
    case .put(let text):
      return try await DocumentWrite(of: document, text, if: expected, isChecked: true)
        .run(of: user, context)
    case .remove:
      try await remove(document, if: expected, of: user, context)
      return nil
    }
  }

  /// Writes the result of `change` on the stored document; an absent document is `{}`.
  package static func rewrite(
    _ document: DocumentKind, if condition: VersionCondition, of user: UserID,
    _ context: RequestContext, _ change: @escaping @Sendable (JSON) throws(Failure) -> JSON
  ) async throws(Failure) -> StoredDocument {
    let written = try await revise(document, if: condition, of: user, context) {
      (stored) throws(Failure) in
      (.put(try change(try parsed((stored ?? .empty).body))), ())
    }
    return written.document ?? .empty
  }

  package nonisolated static func parsed(_ body: [UInt8]) throws(Failure) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(body, limits: .stored)
    } catch {
      throw .internalError(reason: "a stored document does not parse: \(error.detail)")
    }
  }

  /// Returns the document with a patch applied.
  ///
  /// - Throws: `.patchTestFailed`, `.patchNotApplicable`.
  package nonisolated static func patched(
    _ document: JSON, by patch: JSONPatch, limit: Int
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
        throw .patchNotApplicable(at: pointer, reason)
      }
    }
  }
}
