package import Runtime
import EventLoop
package import JSON
import Operators

/// A change of a document by MongoDB's update operators.
package struct DocumentUpdate: Sendable {
  private let update: Update
  private let filter: Query
  private let isUpsert: Bool

  /// The result of an update, counted as MongoDB does.
  package struct UpdateResult: Sendable {
    /// 1 if a document existed and matched the filter.
    package let matched: Int
    /// 1 if the update changed that document.
    package let modified: Int
    /// Whether the update created the document.
    package let isUpserted: Bool
    /// The version after the update; 0 if there is no document.
    package let version: Int
  }

  /// - Parameters:
  ///   - update: operators, or a replacement document.
  ///   - arrayFilters: for `$[name]` in paths.
  ///   - filter: the filter that the stored document must match; `{}` matches any.
  ///   - isUpsert: whether to create the document if it does not exist.
  /// - Throws: `.updateRefused` with the place of the fault.
  package init(
    _ update: JSON, arrayFilters: JSONArray = [], filter: JSON = [:], isUpsert: Bool = false
  ) throws(Failure) {
    let patterns = PatternAllowance()
    do throws(OperatorError) {
      // The order of fields in jsonb, by which stored objects must compare.
      self.update = try Update(update, arrayFilters: arrayFilters, patterns)
    } catch {
      throw .updateRefused(error, in: "/update")
    }
    do throws(OperatorError) {
      self.filter = try Query(filter, patterns)
    } catch {
      throw .updateRefused(error, in: "/filter")
    }
    self.isUpsert = isUpsert
  }

  /// Applies the update to the stored version, and repeats it after a concurrent write.
  ///
  /// - Throws: `.updateRefused` if it does not apply to the stored document, `.schemaMismatch`,
  ///   `.documentTooLarge`, `.preconditionFailed`, `.sessionEnded`, `.notFound` if the user does
  ///   not exist, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package func apply(
    to document: DocumentKind, if condition: VersionCondition, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> UpdateResult {
    let (written, outcome) = try await Documents.revise(document, if: condition, of: user, context)
    {
      (stored) throws(Failure) in
      let before = try stored.map { (stored) throws(Failure) in try Documents.parsed(stored.body) }
      let (after, counts) = try result(on: before, limit: document.limit)
      let edit = after.map { DocumentEdit.put($0.json(.stored)) } ?? .keep
      return (edit, (counts: counts, isUpserted: stored == nil && after != nil))
    }
    return UpdateResult(
      matched: outcome.counts.matched, modified: outcome.counts.modified,
      isUpserted: outcome.isUpserted, version: written?.version ?? 0
    )
  }

  /// Returns the document after the update.
  ///
  /// - Throws: `.updateRefused`.
  func result(on document: JSON, isStored: Bool, limit: Int) throws(Failure) -> JSON {
    let (after, _) = try result(on: isStored ? document : nil, limit: limit)
    return after?.json(.stored) ?? document
  }

  /// Returns the new document; nil if there is nothing to write.
  private func result(
    on stored: JSON?, limit: Int
  ) throws(Failure) -> (BSONDocument?, (matched: Int, modified: Int)) {
    do throws(OperatorError) {
      let now = Timestamp.now.wholeMilliseconds
      var budget = Budget(growth: 2 * limit)
      guard let stored else {
        let made = isUpsert ? try update.insertion(for: filter, now: now, &budget) : nil
        return (made, (0, 0))
      }
      let document = try BSONDocument(stored)
      guard let changed = try update.apply(to: document, matching: filter, now: now, &budget) else {
        return (nil, (0, 0))
      }
      guard changed.isModified else { return (nil, (1, 0)) }
      return (changed.document, (1, 1))
    } catch {
      throw .updateRefused(error, in: "/update")
    }
  }
}
