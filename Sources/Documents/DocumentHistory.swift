package import Runtime
import EventLoop
package import Postgres

/// The stored versions of documents, in apps with the setting `document_versions_kept`.
///
/// The transaction that writes a document also stores its new version; see `DocumentTraces`.
package enum DocumentHistory {
  /// Returns the versions of a document without their bodies, newest first.
  ///
  /// - Parameters:
  ///   - document: the document; a deleted one may still have versions.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the versions.
  /// - Throws: `.insufficientScope`, `.notFound` if the user does not exist, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func page(
    of document: DocumentKind, before cursor: Int?, count: Int, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Page<DocumentVersion> {
    try document.requireReadable(context)
    let found = try await context.list(
      DocumentHistoryQueries.page, user, context.principal, document, cursor, count
    ).orGone(context)
    return Page(found, of: count)
  }

  /// Returns one version of a document.
  ///
  /// - Throws: `.insufficientScope`, `.notFound` if the version is not stored or is a deletion,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func read(
    _ version: Int, of document: DocumentKind, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    try document.requireReadable(context)
    let row = try await context.read(
      DocumentHistoryQueries.read, user, context.principal, document, version, on: .large
    ).first.orGone(context)
    guard let stored = row.item else { throw .notFound }
    return try await MemberAccess(to: document, context).visible(in: stored, context)
  }
}

/// A stored version of a document, without its body.
package struct DocumentVersion: Listed {
  package let version: Int
  package let changedAt: Timestamp
  package let actor: String
  /// The session of a user who wrote it; nil for other actors, and for old versions.
  package let session: SessionID?
  /// Whether this version is a deletion.
  package let isDeleted: Bool

  package var cursor: Int { version }

  package init(from row: Row) throws(DatabaseError) {
    version = try row.int(0)
    changedAt = try row.time(1)
    actor = try row.text(2)
    isDeleted = try row.bool(3)
    session = row.id(ifAny: 4)
  }
}

package enum DocumentHistoryQueries {
  /// Returns at least one row if the session is live.
  ///
  /// Served by the primary key.
  static let page = Statement<
    Found<DocumentVersion>, UserID, Principal, DocumentKind, Int?, Int
  >(
    "document_history.page",
    """
    select v.version, v.changed_at, v.actor, v.deleted, v.session_id
    from users c
    left join lateral (
      select version, changed_at, actor, body is null as deleted, session_id
      from document_versions v
      where v.user_id = $1 and v.kind = $3 and v.version < coalesce($4, 9223372036854775807)
      order by version desc limit $5::bigint
    ) v on true
    where \(.isAuthorized)
    order by v.version desc
    """)

  /// Returns one row if the session is live; its columns are null if that version has no body.
  ///
  /// Served by the primary key.
  static let read = Statement<Found<StoredDocument>, UserID, Principal, DocumentKind, Int>(
    "document_history.read",
    """
    select v.body::text, v.version
    from users c
    left join document_versions v on v.user_id = $1 and v.kind = $3
      and v.version = $4::bigint and v.body is not null
    where \(.isAuthorized)
    """)

  /// Stores the present version of a document.
  ///
  /// - Parameter 4: the actor.
  /// - Parameter 5: how many versions the app keeps.
  /// - Parameter 6: the session of a user who wrote it.
  static let keep = Statement<NoRow, UserID, DocumentKind, AppID, String, Int, SessionID?>(
    "document_versions_kept.keep",
    """
    insert into document_versions (
      user_id, kind, version, app_id, body, actor, kept, session_id)
    select d.user_id, d.kind, d.version, $3, case when d.deleted_at is null then d.body end, $4,
      $5::bigint, $6
    from documents d where d.user_id = $1 and d.kind = $2
    """)

  /// Deletes the versions up to one.
  static let trim = Statement<NoRow, UserID, DocumentKind, Int>(
    "document_versions_kept.trim",
    "delete from document_versions where user_id = $1 and kind = $2 and version <= $3::bigint"
  )
}
