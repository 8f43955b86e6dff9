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
  /// The update of an existing document is one statement, unless other rows follow from it.
  /// - Throws: as `Documents.write`.
  @EventLoop func run(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    try document.requireWritable(context)
    let traces = DocumentTraces(of: document, user, in: context.app, by: context.principal)
    let event = Event(changeOf: document.pathName, of: user, context)
    if event == nil, !traces.areExpected, condition.allowed != [] {
      let rows = try await context.write(
        DocumentsQueries.update,
        user,
        context.principal,
        document,
        TextBytes(body),
        isMerge,
        condition.allowed.map(VersionList.init),
        false,
        violation: tooLarge
      )
      if let written = rows.first { return written }
    }
    let written = try await context.transaction { transaction async throws(Failure) in
      try await write(traces, event, of: user, in: transaction, context)
    }
    if let written { return written }
    let current = try await Documents.version(of: document, of: user, context)
    throw .preconditionFailed(current: current)
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
    let traces = DocumentTraces(of: document, user, in: context.app, by: context.principal)
    let event = Event(changeOf: document.pathName, of: user, context)
    guard try await write(traces, event, of: user, in: transaction, context) == nil else { return }
    try await context.requireSession(of: user)
    throw .preconditionFailed(current: 0)
  }

  /// Updates or creates the document; returns nil if the session or the condition forbids it.
  ///
  /// If another transaction creates it at the same time, its row is locked after the first pass.
  @EventLoop private func write(
    _ traces: DocumentTraces,
    _ event: Event?,
    of user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    let (principal, text) = (context.principal, TextBytes(body))
    for _ in 0..<2 {
      let updated = transaction.send(
        DocumentsQueries.update,
        user,
        principal,
        document,
        text,
        isMerge,
        condition.allowed.map(VersionList.init),
        true
      )
      let created =
        condition.allowsFirst
        ? transaction.send(DocumentsQueries.create, user, principal, document, text, isMerge) : nil
      let indexes = traces.sendIndexes(in: transaction)
      var written = try await updated.rows(violation: tooLarge).first
      if let created {
        let rows = try await created.rows(violation: tooLarge)
        written = written ?? rows.first
      }
      if let written {
        traces.send(written.version, try await indexes.rows().first, in: transaction)
        event?.record(in: transaction, context)
        return written
      }
    }
    return nil
  }

  private var tooLarge: Failure { .documentTooLarge(limit: document.limit) }
}
