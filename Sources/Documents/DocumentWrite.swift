import Runtime
import EventLoop
import Postgres

/// A write that replaces a document, or merges a patch into it.
struct DocumentWrite {
  private let document: DocumentKind
  private let body: [UInt8]
  private let isMerge: Bool
  private let condition: VersionCondition

  /// - Parameters:
  ///   - document: the document.
  ///   - body: JSON text that satisfies the document's rule, or a merge patch.
  ///   - isMerge: whether it is a merge patch.
  ///   - condition: the condition on the stored version.
  init(of document: DocumentKind, _ body: [UInt8], isMerge: Bool, if condition: VersionCondition) {
    self.document = document
    self.body = body
    self.isMerge = isMerge
    self.condition = condition
  }

  /// Writes the document.
  ///
  /// - Throws: as `Documents.write`.
  @EventLoop func run(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    try document.requireWritable(context)
    let rows = try await context.write(
      DocumentsQueries.write,
      user,
      context.principal,
      document,
      TextBytes(body),
      isMerge,
      condition.allowed.map(VersionList.init),
      condition.allowsFirst,
      context.principal.name,
      DataChange(of: document.pathName, context),
      violation: .documentTooLarge(limit: document.limit)
    )
    guard let row = rows.first else { throw context.gone }
    guard let written = row.document else {
      let current = try await Documents.version(of: document, of: user, context)
      throw .preconditionFailed(current: current)
    }
    return written
  }

  /// Writes the document in a transaction, whose user is locked.
  ///
  /// - Throws: as `Documents.write`; `.preconditionFailed` names no version.
  @EventLoop func run(
    of user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    try document.requireWritable(context)
    let rows = try await transaction.send(
      DocumentsQueries.write,
      user,
      context.principal,
      document,
      TextBytes(body),
      isMerge,
      condition.allowed.map(VersionList.init),
      condition.allowsFirst,
      context.principal.name,
      DataChange(of: document.pathName, context)
    ).rows(violation: .documentTooLarge(limit: document.limit))
    guard let row = rows.first else { throw context.gone }
    if row.document == nil { throw .preconditionFailed(current: 0) }
  }
}
