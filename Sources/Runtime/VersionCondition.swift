import Postgres

/// A condition on the stored version, checked before a write.
package struct VersionCondition: Sendable, Equatable {
  /// The allowed versions; nil for any version, or an absent document.
  package var oneOf: [Int]?
  /// Whether the document must exist.
  package var mustExist = false
  /// Whether the document must be absent.
  package var mustNotExist = false

  package init(oneOf: [Int]? = nil) { self.oneOf = oneOf }

  /// The allowed versions for a change of an existing resource; nil for any.
  package var allowed: [Int]? { mustNotExist ? [] : oneOf }

  /// Returns whether the condition allows this existing version.
  package func allows(_ version: Int) -> Bool { allowed?.contains(version) ?? true }

  /// - Throws: `.preconditionFailed` if the condition refuses this existing version.
  package func require(_ version: Int) throws(Failure) {
    guard allows(version) else { throw .preconditionFailed(current: version) }
  }

  /// Returns whether the condition allows this version; nil stands for an absent resource.
  package func allows(ifAny version: Int?) -> Bool {
    guard let version else { return !mustExist && (oneOf?.contains(0) ?? true) }
    return allows(version)
  }

  /// Whether the condition allows the first write of a document.
  ///
  /// An unwritten document has version 0. It counts as existing, and for `mustNotExist` as absent.
  package var allowsFirst: Bool { oneOf?.contains(0) ?? true }
}
