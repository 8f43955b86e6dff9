package import EventLoop
package import JSON
import Postgres
package import Runtime

/// The undo of what one session of a user has written in the user's documents.
///
/// The stored versions name the session of each write. The result is the present document without the
/// changes of the session, member by member. A member that another writer has changed afterwards is a
/// conflict, which stays unless the caller names it. An array is one value.
@EventLoop package enum SessionUndo {
  /// The longest version of a document that is compared, in bytes.
  package nonisolated static let longest = 262_144
  /// The most bytes of all compared versions of one document.
  package nonisolated static let mostBytes = 4_194_304
  /// The most conflicts of a document, and of the pointers that name them.
  package nonisolated static let mostConflicts = PointerList.most
  /// The most stored versions of a user that are read: an app keeps at most 100 of each document.
  private nonisolated static let mostVersions = 300
  /// The versions that one statement reads with their bodies.
  nonisolated static let batch = 8

  /// Returns what an undo would change, for each document that the session has written.
  ///
  /// A document that the principal may not read is left out. Users see the members that they may read.
  /// - Parameters:
  ///   - session: the session, also one that has ended.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the documents; none if no stored version names the session.
  /// - Throws: `.notFound` if the user has no such session, `.sessionEnded`, `.overloaded`,
  ///   `.databaseUnavailable`.
  package static func preview(
    of session: SessionID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [DocumentUndo] {
    let versions = try await versions(of: user, writtenIn: session, context)
    var undos: [DocumentUndo] = []
    for kind in DocumentKind.allCases where kind.isReadable(context) && isPossible(kind, context) {
      if let plan = try await plan(kind, versions, session, choosing: [], of: user, context) {
        undos.append(plan.undo)
      }
    }
    return undos
  }

  /// Adds a read of the sessions that have written stored versions to a batch.
  ///
  /// - Returns: a function that returns the sessions, also those that have ended.
  package static func addWriters(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<Set<SessionID>> {
    let place = batch.add(SessionUndoQueries.writers, user, context.principal)
    return { (results) throws(Failure) in Set(try results.rows(place, as: SessionID.self)) }
  }

  /// One document to undo.
  package struct Choice: Sendable {
    package let kind: DocumentKind
    /// The version of the preview.
    package let version: Int
    /// The JSON Pointers to the conflicts of the preview that are undone too.
    package let conflicts: [String]

    package init(_ kind: DocumentKind, version: Int, conflicts: [String]) {
      (self.kind, self.version, self.conflicts) = (kind, version, conflicts)
    }
  }

  /// Undoes what the session has written in documents, all or none.
  ///
  /// Each document becomes a new version, as by any write. The places of errors begin with the name of
  /// the document.
  /// - Parameters:
  ///   - choices: the documents, each at most once.
  ///   - session: the session.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the version of each document after the undo, in their order; 0 for a deleted one.
  /// - Throws: as `preview`; `.preconditionFailed` for each document with another version, `.invalid`
  ///   for a document that cannot be undone and for a pointer that is no conflict, `.schemaMismatch`,
  ///   `.insufficientScope`, `.documentTooLarge`.
  package static func apply(
    _ choices: [Choice], of session: SessionID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Int] {
    for choice in choices {
      try choice.kind.requireReadable(context)
      try choice.kind.requireWritable(context)
    }
    let versions = try await versions(of: user, writtenIn: session, context)
    var plans: [DocumentUndoPlan] = []
    var (stale, faults): ([FieldError], [FieldError]) = ([], [])
    for choice in choices {
      let place = "/\(choice.kind.rawValue)"
      let plan = try await plan(
        choice.kind, versions, session, choosing: choice.conflicts, of: user, context)
      guard let plan else {
        faults.append(FieldError(place, "unchanged", "The session has not written this document."))
        continue
      }
      if plan.undo.version != choice.version {
        stale.append(Documents.staleFault(choice.kind, plan.undo.version))
      } else if let obstacle = plan.undo.obstacle, obstacle != .schemaMismatch {
        faults.append(FieldError(place, obstacle.rawValue, obstacle.detail))
      }
      for index in plan.unknown {
        let detail = "The preview has no conflict with this pointer."
        faults.append(FieldError("\(place)/conflicts/\(index)", "conflict", detail))
      }
      plans.append(plan)
    }
    if !stale.isEmpty { throw .preconditionFailed(stale) }
    if !faults.isEmpty { throw .invalid(faults) }
    for plan in plans { if let failure = plan.failure { throw failure } }
    return try await write(plans, session, of: user, context)
  }

  private static func write(
    _ plans: [DocumentUndoPlan], _ session: SessionID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Int] {
    let unchanged = plans.map(\.undo.version)
    guard plans.contains(where: { $0.edit != .keep }) else { return unchanged }
    do throws(Failure) {
      return try await context.transaction { transaction async throws(Failure) in
        var versions = unchanged
        var written = JSONObject()
        for (index, plan) in plans.enumerated() {
          let text: [UInt8]?
          switch plan.edit {
          case .keep: continue
          case .put(let bytes): text = bytes
          case .remove: text = nil
          }
          let condition = VersionCondition(oneOf: [plan.undo.version])
          let document = try await DocumentWrite(
            of: plan.undo.kind, text, if: condition, isChecked: true
          ).run(of: user, in: transaction)
          versions[index] = text == nil ? 0 : document.version
          written[plan.undo.kind.rawValue] = .number(JSONNumber(document.version))
        }
        Event(
          "session_undo", of: user,
          detail: ["session_id": .string(session.text), "documents": .object(written)]
        ).record(in: transaction)
        return versions
      }
    } catch let failure where failure.is(.preconditionFailed) {
      let expected = plans.map { ($0.undo.kind, $0.undo.version) }
      throw try await Documents.stale(expected, of: user, context) ?? failure
    }
  }

  /// Whether a principal could have reason to undo writes of this document.
  private static func isPossible(_ kind: DocumentKind, _ context: RequestContext) -> Bool {
    context.principal.user == nil || kind != .appMetadata
  }

  // MARK: Reads

  /// Returns the stored versions of a user's documents, the oldest of each first.
  private static func versions(
    of user: UserID, writtenIn session: SessionID, _ context: RequestContext
  ) async throws(Failure) -> [StoredVersion] {
    let rows = try await context.read(
      SessionUndoQueries.versions, user, context.principal, session, mostVersions, on: .large)
    let isKnown = try rows.first.orGone(context).isKnown
    let versions = rows.compactMap(\.version)
    guard isKnown || versions.contains(where: { $0.session == session }) else { throw .notFound }
    return versions
  }

  /// Returns the plan for a document; nil if the session has not written it.
  private static func plan(
    _ kind: DocumentKind, _ all: [StoredVersion], _ session: SessionID, choosing chosen: [String],
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> DocumentUndoPlan? {
    let versions = all.filter { $0.kind == kind }
    guard let first = versions.firstIndex(where: { $0.session == session }),
      let last = versions.last
    else { return nil }
    var history = ComparedVersions(
      kind: kind, versions: Array(versions[max(0, first - 1)...]), session: session,
      isComplete: versions[0].version == 1 || versions[0].changedAt.seconds < session.second)
    if versions.indices.contains(where: {
      versions[$0].session == session && versions[$0].version != 1
        && ($0 == 0 || versions[$0 - 1].version != versions[$0].version - 1)
    }) {
      return DocumentUndoPlan(history.obstructed(by: .historyGone))
    }
    guard try await history.readBodies(of: user, context) else {
      return DocumentUndoPlan(history.obstructed(by: .tooLarge))
    }
    // A write while the app kept no versions.
    if last.version != last.currentVersion || last.isDeleted != last.isCurrentDeleted {
      history.unkept = .some(try await Documents.load(kind, of: user, context))
      guard history.unkept??.body.count ?? 0 <= longest else {
        return DocumentUndoPlan(history.obstructed(by: .tooLarge))
      }
    }
    let access = MemberAccess(to: kind, context)
    let rule = try DocumentRule(of: kind, in: context.app)
    return try await context.calculate(on: .max) { [history] () throws(Failure) in
      try history.plan(access, rule, choosing: chosen)
    }
  }
}

/// The changes of an undo in one document.
package struct DocumentUndo: Sendable {
  /// Why a document cannot be undone.
  package enum Obstacle: String, CaseIterable, Sendable {
    /// The version before a write of the session is not stored any more.
    case historyGone = "history_gone"
    /// A version, or all versions together, are too long to compare.
    case tooLarge = "too_large"
    /// The document after the undo would break the schema.
    case schemaMismatch = "schema_mismatch"

    package var detail: String {
      switch self {
      case .historyGone: "The version before a write of the session is not stored any more."
      case .tooLarge: "The versions of the document are too long to compare."
      case .schemaMismatch: "The document would break the schema of the app."
      }
    }
  }

  package enum Outcome: String, CaseIterable, Sendable {
    case unchanged, changed, created, deleted
  }

  /// A member that the undo changes; nil for an absent value.
  package struct Change: Sendable {
    package let pointer: String
    package let now: JSON?
    package let after: JSON?
  }

  /// A member that another writer has changed after the session.
  package struct Conflict: Sendable {
    package let pointer: String
    package let now: JSON?
    /// The value if the conflict is undone too: that before the session.
    package let after: JSON?
    /// The last writer; nil if that version was not kept.
    package let writer: DocumentVersion?
  }

  package let kind: DocumentKind
  /// The stored version; 0 if there is no document.
  package let version: Int
  /// Whether all writes of the session are certainly among the stored versions.
  package let isComplete: Bool
  package internal(set) var outcome = Outcome.unchanged
  package internal(set) var changes: [Change] = []
  package internal(set) var conflicts: [Conflict] = []
  /// The places that the user may not write, and that stay.
  package internal(set) var notWritable: [String] = []
  /// Whether there are more places than these lists have.
  package internal(set) var hasMore = false
  package internal(set) var obstacle: Obstacle?
}

// MARK: - Statements

/// A stored version of a document, with the present state of the document.
struct StoredVersion: RowDecodable {
  let kind: DocumentKind
  let listed: DocumentVersion
  let currentVersion: Int
  let isCurrentDeleted: Bool

  var version: Int { listed.version }
  var changedAt: Timestamp { listed.changedAt }
  var session: SessionID? { listed.session }
  var isDeleted: Bool { listed.isDeleted }

  init(from row: Row) throws(DatabaseError) {
    listed = try DocumentVersion(from: row)
    kind = try row.documentKind(5)
    currentVersion = try row.int(6)
    isCurrentDeleted = try row.bool(7)
  }
}

/// A row of `SessionUndoQueries.versions`; without a version if the user has none.
struct VersionRow: RowDecodable {
  let version: StoredVersion?
  let isKnown: Bool

  init(from row: Row) throws(DatabaseError) {
    version = row.isNull(0) ? nil : try StoredVersion(from: row)
    isKnown = try row.bool(8)
  }
}

enum SessionUndoQueries {
  /// Returns at least one row if the session of the principal is live.
  ///
  /// Served by the primary keys.
  /// - Parameter 3: the session whose writes are undone.
  static let versions = Statement<VersionRow, UserID, Principal, SessionID, Int>(
    "session_undo.versions",
    """
    select v.version, v.changed_at, v.actor, v.deleted, v.session_id, v.kind, d.version,
      d.deleted_at is not null,
      exists (select 1 from sessions s where s.user_id = $1 and s.session_id = $3)
    from users c
    left join lateral (
      select kind, version, changed_at, actor, body is null as deleted, session_id
      from document_versions v where v.user_id = $1
      order by kind, version limit $4::bigint
    ) v on true
    left join documents d on d.user_id = $1 and d.kind = v.kind
    where \(.isAuthorized)
    order by v.kind, v.version
    """)

  /// Returns the sessions that the stored versions of a user name.
  ///
  /// Served by the primary keys: an app keeps at most 100 versions of each document.
  static let writers = Statement<SessionID, UserID, Principal>(
    "session_undo.writers",
    """
    select distinct v.session_id
    from users c
    join document_versions v on v.user_id = $1 and v.session_id is not null
    where \(.isAuthorized)
    """)

  /// Returns the versions of `$4` that are not too long, and no deletions.
  ///
  /// Served by the primary key.
  static let bodies = Statement<StoredDocument, UserID, Principal, DocumentKind, NumberArray>(
    "session_undo.bodies",
    """
    select v.body::text, v.version
    from users c
    join document_versions v on v.user_id = $1 and v.kind = $3 and v.version = any($4::bigint[])
      and octet_length(v.body::text) <= 262144
    where \(.isAuthorized)
    """)
}

extension SessionID {
  /// The second in which the session was created, with which its id begins.
  fileprivate var second: Int { Int(text.prefix(8), radix: 16) ?? 0 }
}
