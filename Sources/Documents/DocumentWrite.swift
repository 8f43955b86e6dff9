package import EventLoop
package import JSON
import Postgres
import RateLimiting
package import Runtime

/// A write that replaces a document, merges a patch into it, or deletes it.
package struct DocumentWrite {
  private let document: DocumentKind
  private let body: TextBytes?
  private let isMerge: Bool
  private let condition: VersionCondition
  /// Whether `MemberAccess` has allowed the change.
  private let isChecked: Bool

  /// - Parameters:
  ///   - document: the document.
  ///   - body: JSON text that satisfies the document's rule, or a merge patch; nil to delete it.
  ///   - isMerge: whether it is a merge patch.
  ///   - condition: the condition on the stored version.
  ///   - isChecked: whether `MemberAccess` has allowed the change. Other writes of users are refused
  ///     if the app limits what users write.
  package init(
    of document: DocumentKind, _ body: [UInt8]?, isMerge: Bool = false,
    if condition: VersionCondition, isChecked: Bool = false
  ) {
    self.document = document
    self.body = body.map(TextBytes.init)
    self.isMerge = isMerge
    self.condition = condition
    self.isChecked = isChecked
  }

  /// Makes the first document of a new user, which a stranger states: members that users may write.
  ///
  /// A back end's principal runs it, since no user is signed in yet who could write.
  /// - Throws: `.memberNotWritable`, `.schemaMismatch`, `.documentTooLarge`.
  @EventLoop package init(
    ofNewUser kind: DocumentKind, _ members: JSONObject, _ context: RequestContext
  ) async throws(Failure) {
    let rule = try DocumentRule(of: kind, in: context.app)
    let access = MemberAccess(to: kind, in: context.app)
    let text = try await context.calculate(on: .max) { () throws(Failure) in
      let after = try access?.result(ofMember: .object(members), on: nil, of: kind)
      return try rule.text(ofMember: after ?? .object(members))
    }
    self.init(of: kind, text, if: VersionCondition(oneOf: [0]))
  }

  /// Writes the document.
  ///
  /// - Throws: as `Documents.write`.
  @EventLoop package func run(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    if let written = try await attempt(of: user, context) { return written }
    let current = try await Documents.version(of: document, of: user, context)
    throw .preconditionFailed(current: current)
  }

  /// Writes the document; returns nil if the session or the condition forbids it, or if there is no
  /// document to delete.
  ///
  /// The change of an existing document is one statement, unless other rows follow from it.
  @EventLoop func attempt(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    try requireWritable(context)
    let traces = DocumentTraces(of: document, user, in: context.app, by: context.principal)
    let event = Event(changeOf: document.pathName, of: user, context)
    let isQueued = event?.isOnlyPublished == true && body != nil && context.database.isOnOneNode
    let isTried = (event == nil || isQueued) && !traces.areExpected && condition.allowed != []
    if isTried {
      if isQueued {
        try context.countPublishedChange(of: user)
        context.wakePublisher()
      }
      let change = change(
        of: user, by: context.principal, withIndexes: false,
        queuingIn: isQueued ? context.app.id : nil)
      let rows = try await context.write(
        change, returning: StoredDocument.self, violation: tooLarge
      )
      if let written = rows.first { return written }
    }
    return try await context.transaction { transaction async throws(Failure) in
      try await write(traces, event, of: user, isTried: isTried, in: transaction)
    }
  }

  /// Writes the document in a transaction, whose user is locked.
  ///
  /// - Throws: as `Documents.write`; `.preconditionFailed` names no version.
  @discardableResult
  @EventLoop package func run(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> StoredDocument {
    let context = transaction.context
    try requireWritable(context)
    let traces = DocumentTraces(of: document, user, in: context.app, by: context.principal)
    let event = Event(changeOf: document.pathName, of: user, context)
    if let written = try await write(traces, event, of: user, in: transaction) { return written }
    try await transaction.requireSession(of: user)
    throw .preconditionFailed(current: 0)
  }

  /// Changes or creates the document; returns nil as `attempt`.
  ///
  /// If another transaction creates it at the same time, its row is locked after the first pass.
  /// `isTried` says that a change has just found no document to write: the first pass then only
  /// creates one.
  @EventLoop private func write(
    _ traces: DocumentTraces, _ event: Event?, of user: UserID, isTried: Bool = false,
    in transaction: Transaction
  ) async throws(Failure) -> StoredDocument? {
    let principal = transaction.principal
    let onlyCreates = isTried && body != nil && condition.allowsFirst
    for pass in 0..<(body == nil ? 1 : 2) {
      let changed =
        onlyCreates && pass == 0
        ? nil
        : transaction.send(
          change(of: user, by: principal, withIndexes: true), returning: StoredDocument.self
        )
      let created = body.flatMap { body in
        condition.allowsFirst
          ? transaction.send(DocumentsQueries.create, user, principal, document, body, isMerge)
          : nil
      }
      let indexes = traces.sendIndexes(in: transaction)
      var written = try await changed?.rows(violation: tooLarge).first
      if let created {
        let rows = try await created.rows(violation: tooLarge)
        written = written ?? rows.first
      }
      if let written {
        traces.send(written.version, try await indexes.rows().first, in: transaction)
        try await event?.recordChange(of: user, version: written.version, in: transaction)
        return written
      }
    }
    return nil
  }

  /// Returns the statement that changes an existing document.
  ///
  /// `areIndexed` says whether search values follow in the transaction. A change that is only
  /// published has its `app`, and the statement queues it.
  @EventLoop private func change(
    of user: UserID, by principal: Principal, withIndexes areIndexed: Bool,
    queuingIn app: AppID? = nil
  ) -> PendingQuery {
    let allowed = condition.allowed.map(NumberArray.init)
    guard let body else {
      return PendingQuery(DocumentsQueries.delete, user, principal, document, allowed, areIndexed)
    }
    if let app {
      return PendingQuery(
        DocumentsQueries.updateAndQueue, user, principal, document, body, isMerge, allowed,
        areIndexed, EventID(), app, document.pathName)
    }
    return PendingQuery(
      DocumentsQueries.update, user, principal, document, body, isMerge, allowed, areIndexed
    )
  }

  /// Refuses a write for which the principal lacks the permission.
  ///
  /// - Throws: `.insufficientScope`, `.memberNotWritable`.
  @EventLoop private func requireWritable(_ context: RequestContext) throws(Failure) {
    try document.requireWritable(context)
    guard isChecked || MemberAccess(to: document, context) == nil else {
      throw .memberNotWritable(JSONPointer(tokens: []))
    }
  }

  private var tooLarge: Failure { .documentTooLarge(above: document.limit) }
}

/// The rows that follow from a write of a document, in its transaction.
///
/// They are a stored version and search values. The lock of the document orders the writers.
@EventLoop package struct DocumentTraces {
  private let document: DocumentKind
  private let user: UserID
  private let app: App
  private let actor: String
  private let session: SessionID?

  package init(of document: DocumentKind, _ user: UserID, in app: App, by principal: Principal) {
    self.document = document
    self.user = user
    self.app = app
    (actor, session) = (principal.name, principal.session)
  }

  /// Whether a write needs a transaction, as far as the worker knows the indexes of the app.
  var areExpected: Bool {
    app.documentSettings.versionsKept > 0 || app.indexedDocuments.kinds.contains(document)
  }

  /// Sends the read of the indexes on documents of this kind.
  func sendIndexes(in transaction: Transaction) -> Sent<String> {
    transaction.send(SearchValueQueries.indexes, app.id, document)
  }

  /// Returns the indexes on the documents of an app, by kind.
  package static func indexes(
    in app: App, _ transaction: Transaction
  ) async throws(Failure) -> [DocumentKind: String] {
    let rows = try await transaction.run(SearchValueQueries.indexesByKind, app.id)
    return Dictionary(rows.map { ($0.kind, $0.indexes) }, uniquingKeysWith: { first, _ in first })
  }

  /// Sends the rows that follow from a version.
  ///
  /// - Parameters:
  ///   - version: the version that was written.
  ///   - indexes: the indexes on documents of this kind; nil for none.
  ///   - transaction: the transaction.
  package func send(_ version: Int, _ indexes: String?, in transaction: Transaction) {
    let kept = app.documentSettings.versionsKept
    if kept > 0 {
      _ = transaction.send(
        DocumentHistoryQueries.keep, user, document, app.id, actor, kept, session)
      _ = transaction.send(DocumentHistoryQueries.trim, user, document, version - kept)
    }
    if let indexes { SearchValues.send(of: document, user, indexes, in: transaction.engine) }
  }
}
