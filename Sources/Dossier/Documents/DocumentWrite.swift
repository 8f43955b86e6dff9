import EventLoop
import JSON
import Postgres

/// The text that is written in the place of a document, or merged into it.
struct DocumentWrite {
  private let document: DocumentClass
  private let body: [UInt8]
  private let isMerge: Bool
  private let condition: VersionCondition

  /// - Parameters:
  ///   - document: which.
  ///   - body: JSON text without forbidden keys.
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

  /// Writes it; where the app has a schema for the class, the new document must fit.
  ///
  /// - Throws: as `Documents.write`.
  @EventLoop func run(
    by caller: Caller,
    _ context: Context
  ) async throws(Failure) -> (document: StoredDocument, isNew: Bool) {
    try document.requireWritable(by: caller)
    let rows: [WrittenDocumentRow]
    do throws(Failure) {
      rows = try await write(by: caller, context, check: schemaCheck(context))
    } catch .documentTooLarge {
      throw .documentTooLarge(limit: document.limit)
    }
    guard let row = rows.first else { throw caller.gone }
    guard let written = row.document else {
      let current = try await Documents.version(of: document, of: caller, context.store)
      throw .versionMoved(current: current)
    }
    return (written, row.isNew)
  }

  private typealias Check = @EventLoop ([WrittenDocumentRow]) async throws(Failure) -> Void

  /// Each value by the name that the statement gives it.
  @EventLoop private func write(
    by caller: Caller,
    _ context: Context,
    check: Check?
  ) async throws(Failure) -> [WrittenDocumentRow] {
    let (user, authority, actor) = (caller.user, caller.authority, caller.actor)
    let versions = condition.oneOf.map(VersionList.init)
    let (mustExist, mustNotExist) = (condition.mustExist, condition.mustNotExist)
    let countsAsThere = document.isAlwaysThere
    let change = ProgramChange(of: document.pathName, by: caller, context.origin)
    return try await context.store.write(
      DocumentsQueries.write,
      user,
      authority,
      document,
      TextBytes(body),
      isMerge,
      versions,
      mustExist,
      mustNotExist,
      countsAsThere,
      actor,
      change,
      check: check
    )
  }

  /// What a merge makes is known when the database has made it.
  @EventLoop private func schemaCheck(_ context: Context) throws(Failure) -> Check? {
    guard let schema = try context.app.schemas.schema(for: document) else { return nil }
    let store = context.store
    return { (rows) async throws(Failure) in
      guard let written = rows.first?.document else { return }
      let faults = try await store.calculate(on: .max) { () throws(Failure) in
        schema.mismatches(in: try Documents.parsed(written.body))
      }
      guard faults.isEmpty else { throw .schemaMismatch(faults) }
    }
  }
}
