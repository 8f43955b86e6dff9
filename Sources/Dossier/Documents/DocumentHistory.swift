import EventLoop
package import Postgres

/// The versions of documents that are kept, in apps whose `document_history` asks for them.
///
/// What writes a document keeps its new version in the same statement; see `keep_version` in
/// `migrations/`.
package enum DocumentHistory {
  /// The versions of a document, the newest first, without their bodies.
  ///
  /// - Parameters:
  ///   - document: which; there may be versions of one that was deleted.
  ///   - cursor: the `next` of the page before; nil for the first page.
  ///   - count: how many a page has.
  ///   - user: the user.
  ///   - context: of the call.
  /// - Returns: the versions.
  /// - Throws: `.forbidden`, `.notFound` for no such user, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func page(
    of document: DocumentClass,
    before cursor: Int?,
    count: Int,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Page<DocumentVersion> {
    try document.requireReadable(context)
    let found = try await context.list(
      DocumentHistoryQueries.page,
      user,
      context.principal,
      document,
      cursor,
      count
    )
    guard let found else { throw context.gone }
    return Page(found, of: count)
  }

  /// A document as it was in one version.
  ///
  /// - Throws: `.forbidden`, `.notFound` when that version is not kept or is a deletion,
  ///   `.unauthenticated`, `.unavailable`.
  @EventLoop package static func read(
    _ version: Int,
    of document: DocumentClass,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    try document.requireReadable(context)
    let rows = try await context.fetch(
      DocumentHistoryQueries.read,
      user,
      context.principal,
      document,
      version
    )
    guard let row = rows.first else { throw context.gone }
    guard let stored = row.item else { throw .notFound }
    return stored
  }
}

/// A version of a document that is kept, without its body.
package struct DocumentVersion: Listed {
  package let version: Int
  package let changedAt: Timestamp
  package let actor: String
  /// Whether it is a deletion.
  package let isDeleted: Bool

  package var cursor: Int { version }

  package init(from row: Row) throws(DatabaseError) {
    version = try row.int(0)
    changedAt = try row.time(1)
    actor = try row.text(2)
    isDeleted = try row.bool(3)
  }
}

package enum DocumentHistoryQueries {
  /// One row at least when the session is live.
  ///
  /// Served by the primary key.
  static let page = Statement<
    Found<DocumentVersion>, UserID, Principal, DocumentClass, Int?, Int
  >(
    "document_history.page",
    """
    select v.version, v.changed_at, v.actor, v.deleted
    from caller($1, $2) c
    left join lateral (
      select version, changed_at, actor, body is null as deleted from document_versions v
      where v.user_id = c.user_id and v.class = $3 and v.version < coalesce($4, 9223372036854775807)
      order by version desc limit $5::bigint
    ) v on true
    order by v.version desc
    """
  )

  /// One row when the session is live, with nulls when there is no such body.
  ///
  /// Served by the primary key.
  static let read = Statement<Found<StoredDocument>, UserID, Principal, DocumentClass, Int>(
    "document_history.read",
    """
    select v.body::text, v.version
    from caller($1, $2) c
    left join document_versions v on v.user_id = c.user_id and v.class = $3
      and v.version = $4::bigint and v.body is not null
    """
  )

  package static let all: [any PreparedStatement] = [page, read]
}
