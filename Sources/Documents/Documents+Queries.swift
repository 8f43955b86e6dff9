import Runtime
import EventLoop
package import Postgres

extension StoredDocument: RowDecodable {
  package init(from row: Row) throws(DatabaseError) {
    self.init(body: try row.bytes(0), version: try row.int(1))
  }
}

/// The result of a pipelined read: absent, the document, or large, which needs another read.
enum ReadDocumentRow: RowDecodable {
  case absent
  case here(StoredDocument)
  case large

  init(from row: Row) throws(DatabaseError) {
    if row.isNull(1) {
      self = .absent
    } else if row.isNull(0) {
      self = .large
    } else {
      self = .here(try StoredDocument(from: row))
    }
  }
}

/// The result of a write; without a document if the condition failed.
struct WrittenDocumentRow: RowDecodable {
  let document: StoredDocument?

  init(from row: Row) throws(DatabaseError) {
    document = try Found<StoredDocument>(from: row).item
  }
}

package enum DocumentsQueries {
  /// Returns one row if the session is live, without the body of a large document.
  ///
  /// A large body would delay the reads behind it on the same connection.
  ///
  /// Served by the primary keys of three tables.
  static let read = Statement<ReadDocumentRow, UserID, Principal, DocumentKind>(
    "documents.read",
    """
    select case when d.size <= 32768 then d.body::text end, d.version
    from users c
    left join documents d on d.user_id = $1 and d.class = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """
  )

  /// Returns the same row, with the body of a document of any size.
  static let fetch = Statement<Found<StoredDocument>, UserID, Principal, DocumentKind>(
    "documents.fetch",
    """
    select d.body::text, d.version
    from users c
    left join documents d on d.user_id = $1 and d.class = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """
  )

  /// Returns one row if the session is live: the version, or 0 if there is no document.
  static let version = Statement<Int, UserID, Principal, DocumentKind>(
    "documents.version",
    """
    select coalesce(d.version, 0)
    from users c
    left join documents d on d.user_id = $1 and d.class = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """
  )

  /// Replaces a document, or merges into it.
  ///
  /// Returns one row if the session is live; its columns are null if the version condition failed.
  /// The row lock serializes writers, and the condition is tested on the result of the previous
  /// writer.
  /// - Parameters:
  ///   - 1: the user.
  ///   - 2: the principal.
  ///   - 3: the document.
  ///   - 4: the body.
  ///   - 5: whether to merge the body.
  ///   - 6: the versions that may be stored; null for any.
  ///   - 7: whether the document may be absent.
  ///   - 8: the actor, for the stored version.
  ///   - 9: the audit event; null for none.
  static let write = Statement<
    WrittenDocumentRow, UserID, Principal, DocumentKind, TextBytes, Bool, VersionList?, Bool,
    String, DataChange?
  >(
    "documents.write",
    """
    with c as (
      select c.user_id, c.app_id, d.version, d.version is null or d.deleted_at is not null as is_absent
      from caller($1, $2) c
      left join documents d on d.user_id = c.user_id and d.class = $3
    ), written as (
      insert into documents as d (user_id, class, body, version)
      select c.user_id, $3, case when $5::boolean then merge_patch('{}', $4::jsonb) else $4::jsonb end,
        1
      from c
      where not c.is_absent or $7::boolean
      on conflict (user_id, class) do update set
        body = case
          when not $5::boolean then $4::jsonb
          when d.deleted_at is not null then merge_patch('{}', $4::jsonb)
          else merge_patch(d.body, $4::jsonb) end,
        version = d.version + 1, updated_at = now(), deleted_at = null
      where case when d.deleted_at is not null then $7::boolean
        else $6::bigint[] is null or d.version = any ($6::bigint[]) end
      returning d.user_id, d.body, d.version
    )
    select w.body::text, w.version,
      case when w.version is not null and exists (
        select from search_indexes i where i.app_id = c.app_id and i.class = $3)
        then index_document(c.app_id, c.user_id, $3, w.body) end,
      case when w.version is not null then (
        select keep_version(a.app_id, a.document_history, c.user_id, $3, w.version, w.body, $8)
        from apps a where a.app_id = c.app_id and a.document_history > 0) end,
      record_change(w.user_id, c.app_id, $9::jsonb)
    from c left join written w on true
    """
  )

  /// Returns one row if the session is live: whether the document existed in an allowed version.
  static let delete = Statement<
    Bool, UserID, Principal, DocumentKind, VersionList?, String, DataChange?
  >(
    "documents.delete",
    """
    with c as (select user_id, app_id from caller($1, $2)), deleted as (
      update documents d
      set body = '{}', version = d.version + 1, updated_at = now(), deleted_at = now()
      from c
      where d.user_id = c.user_id and d.class = $3 and d.deleted_at is null
        and ($4::bigint[] is null or d.version = any ($4::bigint[]))
      returning d.user_id, d.version
    )
    select deleted.user_id is not null,
      case when deleted.user_id is not null and exists (
        select from search_indexes i where i.app_id = c.app_id and i.class = $3)
        then index_document(c.app_id, c.user_id, $3, '{}') end,
      case when deleted.user_id is not null then (
        select keep_version(a.app_id, a.document_history, c.user_id, $3, deleted.version, null, $5)
        from apps a where a.app_id = c.app_id and a.document_history > 0) end,
      record_change(deleted.user_id, c.app_id, $6::jsonb)
    from c left join deleted on true
    """
  )

  package static let all: [any PreparedStatement] = [read, fetch, version, write, delete]
}
