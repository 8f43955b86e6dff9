import EventLoop
package import JSON
package import Runtime

/// A write of a document, as far as an error describes it.
package enum RefusedWrite: Sendable {
  case change(DocumentChange)
  case update(DocumentUpdate)

  /// Returns the result on a document; nil if it cannot be applied to it.
  fileprivate func result(on base: JSON, isStored: Bool, limit: Int) -> JSON? {
    switch self {
    case .change(.replace(let body, _)): body
    case .change(.merge(let patch, _)): base.merging(patch)
    // A patch or an update can fail on another document.
    case .change(.patch(let patch)): try? Documents.patched(base, by: patch, limit: limit)
    case .update(let update): try? update.result(on: base, isStored: isStored, limit: limit)
    }
  }
}

extension Documents {
  /// The longest stored document that an error has, in bytes.
  private static let longestInConflict = 262_144

  /// Returns the error for a write of a document that has another version, with what each side has.
  ///
  /// The member `conflict` has `base`, the version that the writer knew; `theirs`, the stored document;
  /// `mine`, the result of the change on `base`; `merged`, with both changes; and `conflicts`, the
  /// places that both have changed. If the app has not kept `base`, there is no proposal: it could
  /// overwrite the change of another writer. More than 100 conflicts have no proposal either.
  /// - Parameters:
  ///   - document: the document.
  ///   - write: the refused write.
  ///   - expected: the version that the writer knew; nil without one.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the error; without the member for a document longer than 256 KiB.
  /// - Throws: as `read`.
  package static func conflict(
    over document: DocumentKind, _ write: RefusedWrite, expected: Int?, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Failure {
    let (version, sides) = try await sides(of: write, on: document, expected, of: user, context)
    return .preconditionFailed(current: version, conflict: sides)
  }

  /// Returns the error for replacements of documents, of which some have other versions.
  ///
  /// Its member `conflict` has those documents by their names, each as in the error for one document
  /// and with `current_version`. A document that the principal may not read, or that is longer than
  /// 256 KiB, is left out.
  package static func conflict(
    over replacements: [(kind: DocumentKind, body: JSON, version: Int)], _ failure: Failure,
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Failure {
    var conflicts = JSONObject()
    for (kind, body, expected) in replacements where kind.isReadable(context) {
      let write = RefusedWrite.change(.replace(body, size: 0))
      let (version, sides) = try await sides(of: write, on: kind, expected, of: user, context)
      guard version != expected, var sides else { continue }
      sides["current_version"] = .number(JSONNumber(version))
      conflicts[kind.rawValue] = .object(sides)
    }
    guard conflicts.count > 0 else { return failure }
    return Failure(
      failure.type, failure.detail, faults: failure.faults,
      members: failure.members + [("conflict", .object(conflicts))])
  }

  /// Returns the stored version, and what each side has; nil for a document longer than 256 KiB.
  private static func sides(
    of write: RefusedWrite, on document: DocumentKind, _ expected: Int?, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> (version: Int, sides: JSONObject?) {
    let stored = try await read(document, of: user, context)
    guard stored.body.count <= longestInConflict else { return (stored.version, nil) }
    var before: StoredDocument? = expected == 0 ? .empty : nil
    if let expected, expected > 0 {
      do throws(Failure) {
        before = try await DocumentHistory.read(expected, of: document, of: user, context)
      } catch .notFound {
        // The app does not keep it.
      }
    }
    guard before?.body.count ?? 0 <= longestInConflict else { return (stored.version, nil) }
    let base = before?.body
    let members = try await context.calculate(on: .max) { () throws(Failure) in
      try sides(
        of: write, limit: document.limit, base: base.map(parsed), isStored: expected != 0,
        parsed(stored.body))
    }
    return (stored.version, members)
  }

  private nonisolated static func sides(
    of write: RefusedWrite, limit: Int, base: JSON?, isStored: Bool, _ theirs: JSON
  ) throws(Failure) -> JSONObject {
    var mine = base.flatMap { write.result(on: $0, isStored: isStored, limit: limit) }
    if case .change(.replace(let body, _)) = write { mine = body }
    var merge = base.flatMap { base in
      mine.map { DocumentMerge(base: base, theirs: theirs, mine: $0) }
    }
    if merge?.hasMore == true { merge = nil }
    return JSONObject([
      ("base", base ?? .null), ("theirs", theirs), ("mine", mine ?? .null),
      ("merged", merge?.merged ?? .null),
      ("conflicts", merge.map { .array($0.conflicts.map(JSON.string)) } ?? .null),
    ])
  }
}
