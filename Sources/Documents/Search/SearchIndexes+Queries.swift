import Runtime
package import Postgres

/// The result of one batch of work on an index.
struct IndexBatch {
  /// The number of users indexed, or of values deleted.
  let count: Int
  let isLast: Bool
}

/// An index that is being built.
struct BuildingIndex: RowDecodable {
  let app: AppID
  let document: DocumentKind
  /// The last user whose documents are indexed; empty before the first.
  let builtTo: String
  /// The index, as `SearchValueQueries.indexes` returns it.
  let indexes: String

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    document = try row.documentKind(1)
    builtTo = try row.text(2)
    indexes = try row.text(3)
  }
}

struct UserToIndex: RowDecodable {
  let user: UserID
  let hasDocument: Bool

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    hasDocument = try row.bool(1)
  }
}

extension SQL {
  /// The select of a `SearchIndex`, without a condition.
  fileprivate static let searchIndexes: SQL = """
    select id, document_kind, path, kind, state, created_at from search_index_records
    """

  fileprivate static func valued(_ condition: SQL) -> SQL {
    "select user_id from search_values where index_id = $1 and \(condition) limit $2::bigint"
  }
}

package enum SearchIndexQueries {
  /// Served by the primary key.
  static let list = Statement<SearchIndex, AppID>(
    "search_indexes.list",
    """
    \(.searchIndexes) where app_id = $1 order by id
    """)

  static let unfinished = Statement<SearchIndex>(
    "search_indexes.unfinished",
    """
    \(.searchIndexes) where state <> 'ready' order by id
    """)

  /// Violates `search_indexes_path` if the path already has an index.
  static let add = Statement<NoRow, AppID, IndexID, DocumentKind, TextArray, String>(
    "search_indexes.add",
    """
    insert into search_indexes (app_id, index_id, document_kind, path, kind)
    values ($1, $2, $3, $4::text[], $5)
    """)

  static let find = Statement<SearchIndex, AppID, IndexID>(
    "search_indexes.find",
    """
    \(.searchIndexes) where app_id = $1 and id = $2
    """)

  static let remove = Statement<NoRow, AppID, IndexID>(
    "search_indexes.remove",
    """
    update search_indexes set state = 'removing',
      visible_since = case when state = 'removing' then visible_since end
    where app_id = $1 and index_id = $2
    """)

  /// Returns since when transactions see the state of an index; no row if the work is finished.
  ///
  /// The first process that sees the state records the time, which is later than its commit.
  static let settle = Statement<String, IndexID, ServerTime>(
    "search_indexes.settle",
    """
    update search_indexes set visible_since = coalesce(visible_since, $2::timestamptz)
    where index_id = $1 and state <> 'ready' returning visible_since
    """)

  /// Returns whether all transactions of the programs that began before a time have ended.
  ///
  /// Transaction ids prove nothing in a distributed database: a transaction that writes on another
  /// node has none here. But all begin here.
  static let isSettled = Statement<Bool, String>(
    "search_indexes.is_settled",
    """
    select not exists (
      select 1 from pg_stat_activity
      where datname = current_database() and usename = session_user and pid <> pg_backend_pid()
        and xact_start <= $1::timestamptz)
    """)

  /// Locks an index that is being built; returns no row if another process has finished.
  static let lockBuilding = Statement<BuildingIndex, IndexID>(
    "search_indexes.lock_building",
    """
    select app_id, document_kind, built_to,
      jsonb_build_array(jsonb_build_object('index_id', index_id, 'path', to_jsonb(path), 'kind', kind))
    from search_indexes where index_id = $1 and state = 'building' for update
    """)

  /// Returns the next users of an app, and whether each has a document of the kind.
  static let users = Statement<UserToIndex, AppID, String, DocumentKind, Int>(
    "search_indexes.users",
    """
    select u.user_id, d.user_id is not null
    from users u
    left join documents d on d.user_id = u.user_id and d.kind = $3 and d.deleted_at is null
    where u.app_id = $1 and u.user_id > $2 order by u.user_id limit $4::bigint
    """)

  /// Locks a document, so that its writers wait, and then see the index and update its values.
  static let lockDocument = Statement<NoRow, UserID, DocumentKind>(
    "search_indexes.lock_document",
    """
    select 1 from documents where user_id = $1 and kind = $2 and deleted_at is null for share
    """)

  /// - Parameter 2: the last user whose documents are indexed.
  static let advance = Statement<NoRow, IndexID, String, Bool>(
    "search_indexes.advance",
    """
    update search_indexes
    set built_to = $2, state = case when $3::boolean then 'ready' else state end
    where index_id = $1
    """)

  /// Return users with values at an index, of all shards: a statement for each index of the table.
  static let valued: [Statement<UserID, IndexID, Int>] = [
    Statement("search_indexes.texts", .valued("text_value is not null")),
    Statement("search_indexes.numbers", .valued("number_value is not null")),
    Statement("search_indexes.booleans", .valued("boolean_value is not null")),
    Statement(
      "search_indexes.others",
      .valued("text_value is null and number_value is null and boolean_value is null")
    ),
  ]

  static let clear = Statement<NoRow, UserID, IndexID>(
    "search_indexes.clear", "delete from search_values where user_id = $1 and index_id = $2"
  )

  /// Deletes an index without values.
  static let drop = Statement<NoRow, IndexID>(
    "search_indexes.drop", "delete from search_indexes where index_id = $1 and state = 'removing'"
  )

  package static let all: [any PreparedStatement] =
    [
      list, unfinished, find, add, remove, settle, isSettled, lockBuilding, users, lockDocument,
      advance, clear, drop,
    ] + valued
}
