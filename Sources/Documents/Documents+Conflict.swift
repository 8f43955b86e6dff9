import EventLoop
import JSON
package import Runtime

extension Documents {
  /// The longest stored document that an error has, in bytes.
  private static let longestInConflict = 262_144

  /// Returns the error for a write of a document that has another version, with what each side has.
  ///
  /// The member `conflict` has `base`, the version that the writer knew; `theirs`, the stored document;
  /// `mine`, the result of the change on `base`; `merged`, with both changes; and `conflicts`, the
  /// places that both have changed. A member is null if the app has not kept `base`, and a merge patch
  /// is merged into `theirs` then. With too many conflicts, there is no proposal.
  /// - Parameters:
  ///   - document: the document.
  ///   - change: the refused change.
  ///   - expected: the version that the writer knew; nil without one.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the error; without the member for a document longer than 256 KiB.
  /// - Throws: as `read`.
  package static func conflict(
    over document: DocumentKind, _ change: DocumentChange, expected: Int?, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Failure {
    let stored = try await read(document, of: user, context)
    let failure = Failure.preconditionFailed(current: stored.version)
    guard stored.body.count <= longestInConflict else { return failure }
    var before: StoredDocument? = expected == 0 ? .empty : nil
    if let expected, expected > 0 {
      do throws(Failure) {
        before = try await DocumentHistory.read(expected, of: document, of: user, context)
      } catch .notFound {
        // The app does not keep it.
      }
    }
    guard before?.body.count ?? 0 <= longestInConflict else { return failure }
    let base = before?.body
    let members = try await context.calculate(on: .max) { () throws(Failure) in
      try sides(of: change, limit: document.limit, base: base.map(parsed), parsed(stored.body))
    }
    return .preconditionFailed(current: stored.version, conflict: members)
  }

  private nonisolated static func sides(
    of change: DocumentChange, limit: Int, base: JSON?, _ theirs: JSON
  ) throws(Failure) -> JSONObject {
    let mine: JSON? =
      switch change {
      case .replace(let body, _): body
      case .merge(let patch, _): base?.merging(patch)
      // A patch can fail on another document.
      case .patch(let patch): base.flatMap { try? patched($0, by: patch, limit: limit) }
      }
    var merge = base.flatMap { base in
      mine.map { DocumentMerge(base: base, theirs: theirs, mine: $0) }
    }
    if merge?.hasMore == true { merge = nil }
    var merged = merge?.merged
    if base == nil, case .merge(let patch, _) = change { merged = theirs.merging(patch) }
    return JSONObject([
      ("base", base ?? .null), ("theirs", theirs), ("mine", mine ?? .null),
      ("merged", merged ?? .null),
      ("conflicts", merge.map { .array($0.conflicts.map(JSON.string)) } ?? .null),
    ])
  }
}
