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
    left join documents d on d.user_id = $1 and d.kind = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """)

  /// Returns the same row, with the body of a document of any size.
  static let fetch = Statement<Found<StoredDocument>, UserID, Principal, DocumentKind>(
    "documents.fetch",
    """
    select d.body::text, d.version
    from users c
    left join documents d on d.user_id = $1 and d.kind = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """)

  /// Returns one row if the session is live: the version, or 0 if there is no document.
  static let version = Statement<Int, UserID, Principal, DocumentKind>(
    "documents.version",
    """
    select coalesce(d.version, 0)
    from users c
    left join documents d on d.user_id = $1 and d.kind = $3 and d.deleted_at is null
    where \(.isAuthorized)
    """)

  /// Replaces a document, or merges into it.
  ///
  /// Returns no row if there is no document, its version is not allowed, or the session has ended.
  /// The row lock serializes writers, and the condition is tested on the result of the previous
  /// writer.
  /// - Parameters:
  ///   - 1: the user.
  ///   - 2: the principal.
  ///   - 3: the document.
  ///   - 4: the body.
  ///   - 5: whether to merge the body.
  ///   - 6: the versions that may be stored; null for any.
  ///   - 7: whether search values follow in the transaction. If not, it returns no row for an app
  ///     with an index, which another process may have just declared.
  static let update = Statement<
    StoredDocument, UserID, Principal, DocumentKind, TextBytes, Bool, VersionList?, Bool
  >(
    "documents.update",
    """
    update documents d
    set body = case when $5::boolean then merge_patch(d.body, $4::jsonb) else $4::jsonb end,
      version = d.version + 1, updated_at = now()
    where d.user_id = $1 and d.kind = $3 and d.deleted_at is null
      and ($6::bigint[] is null or d.version = any ($6::bigint[]))
      and exists (
        select 1 from users c
        where \(.isAuthorized) and ($7::boolean or not exists (
          select 1 from search_indexes i where i.app_id = c.app_id and i.document_kind = $3)))
    returning d.body::text, d.version
    """)

  /// Creates a document, also in place of a deleted one.
  ///
  /// Returns no row if there is a document, which is locked then, or if the session has ended.
  static let create = Statement<StoredDocument, UserID, Principal, DocumentKind, TextBytes, Bool>(
    "documents.create",
    """
    insert into documents as d (user_id, kind, body, version)
    select c.user_id, $3,
      case when $5::boolean then merge_patch('{}', $4::jsonb) else $4::jsonb end, 1
    from users c where \(.isAuthorized)
    on conflict (user_id, kind) do update
    set body = excluded.body, version = d.version + 1, updated_at = excluded.updated_at,
      deleted_at = null
    where d.deleted_at is not null
    returning d.body::text, d.version
    """)

  /// Marks a document as deleted, and returns `{}` and its increased version.
  ///
  /// Returns no row under the same conditions as `update`.
  /// - Parameter 5: whether search values follow in the transaction, as parameter 7 of `update`.
  static let delete = Statement<
    StoredDocument, UserID, Principal, DocumentKind, VersionList?, Bool
  >(
    "documents.delete",
    """
    update documents d
    set body = '{}', version = d.version + 1, updated_at = now(), deleted_at = now()
    where d.user_id = $1 and d.kind = $3 and d.deleted_at is null
      and ($4::bigint[] is null or d.version = any ($4::bigint[]))
      and exists (
        select 1 from users c
        where \(.isAuthorized) and ($5::boolean or not exists (
          select 1 from search_indexes i where i.app_id = c.app_id and i.document_kind = $3)))
    returning d.body::text, d.version
    """)

  package static let all: [any PreparedStatement] = [read, fetch, version, update, create, delete]
}
