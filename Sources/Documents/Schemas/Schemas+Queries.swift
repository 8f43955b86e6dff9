package import Runtime
package import Postgres

/// The schema of an app for a kind of documents.
struct SchemaEntry: RowDecodable {
  let app: AppID
  /// Nil for a kind that only a later version of the program knows.
  let document: DocumentKind?
  let id: SchemaID

  init(from row: Row) throws(DatabaseError) {
    app = AppID(trusted: try row.text(0))
    document = DocumentKind(rawValue: try row.text(1))
    id = SchemaID(trusted: try row.text(2))
  }
}

/// A schema without its text.
package struct SchemaInfo: RowDecodable {
  package let document: DocumentKind
  package let bytes: Int
  package let updatedAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    document = try row.documentKind(0)
    bytes = try row.int(1)
    updatedAt = try row.time(2)
  }
}

package enum SchemaQueries {
  /// Returns the schemas of all apps; a worker then reads only the texts that it does not know.
  static let all = Statement<SchemaEntry>(
    "schemas.all", "select app_id, kind, schema_id from document_schemas"
  )

  /// Served by the primary key, as are the rest.
  static let text = Statement<SchemaRow, AppID, DocumentKind>(
    "schemas.text",
    "select schema_id, body::text from document_schemas where app_id = $1 and kind = $2"
  )

  /// Returns a row if the app has a schema for the kind.
  static let known = Statement<String, AppID, DocumentKind>(
    "schemas.known", "select kind from document_schemas where app_id = $1 and kind = $2"
  )

  static let set = Statement<NoRow, AppID, DocumentKind, SchemaID, TextBytes>(
    "schemas.set",
    """
    insert into document_schemas (app_id, kind, schema_id, body)
    values ($1, $2, $3, $4::json)
    on conflict (app_id, kind) do update
    set schema_id = excluded.schema_id, body = excluded.body, updated_at = excluded.updated_at
    """)

  static let list = Statement<SchemaInfo, AppID>(
    "schemas.list",
    """
    select kind, octet_length(body::text), updated_at
    from document_schemas where app_id = $1 order by kind
    """)

  static let remove = Statement<String, AppID, DocumentKind>(
    "schemas.remove", "delete from document_schemas where app_id = $1 and kind = $2 returning kind"
  )

  /// Returns the next users of an app, with the document of each, if any.
  ///
  /// Served by `users_by_app`.
  static let page = Statement<CheckedUser, AppID, DocumentKind, UserID?, Int>(
    "schemas.page",
    """
    select u.user_id, d.body::text
    from users u
    left join lateral (
      select body from documents d
      where d.user_id = u.user_id and d.kind = $2 and d.deleted_at is null limit 1
    ) d on true
    where u.app_id = $1 and u.user_id > coalesce($3, '')
    order by u.user_id limit $4::bigint
    """)

  package static let statements: [any PreparedStatement] = [
    all, text, known, set, list, remove, page,
  ]
}
