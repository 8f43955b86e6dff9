import EventLoop
import Postgres

/// The text that is written in the place of a document, or merged into it.
struct DocumentWrite {
  private let document: DocumentClass
  private let body: [UInt8]
  private let isMerge: Bool
  private let condition: VersionCondition

  /// - Parameters:
  ///   - document: which.
  ///   - body: JSON text that keeps to the document's rule, or a merge patch.
  ///   - isMerge: whether it is a merge patch.
  ///   - condition: what must hold of the version stored.
  init(
    of document: DocumentClass,
    _ body: [UInt8],
    isMerge: Bool,
    if condition: VersionCondition
  ) {
    self.document = document
    self.body = body
    self.isMerge = isMerge
    self.condition = condition
  }

  /// Writes it.
  ///
  /// - Throws: as `Documents.write`.
  @EventLoop func run(
    by caller: Caller,
    _ context: Context
  ) async throws(Failure) -> StoredDocument {
    try document.requireWritable(by: caller)
    let rows: [WrittenDocumentRow]
    do throws(Failure) {
      rows = try await context.store.write(
        DocumentsQueries.write,
        caller.user,
        caller.authority,
        document,
        TextBytes(body),
        isMerge,
        condition.allowed.map(VersionList.init),
        condition.allowsFirst,
        caller.actor,
        DataChange(of: document.pathName, by: caller, context)
      )
    } catch .documentTooLarge {
      throw .documentTooLarge(limit: document.limit)
    }
    guard let row = rows.first else { throw caller.gone }
    guard let written = row.document else {
      let current = try await Documents.version(of: document, of: caller, context.store)
      throw .versionMoved(current: current)
    }
    return written
  }
}
