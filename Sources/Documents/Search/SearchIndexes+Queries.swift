import Runtime
package import Postgres

/// The result of one batch of work on an index.
struct IndexBatch: RowDecodable {
  /// The number of users indexed, or of values deleted.
  let count: Int
  let isLast: Bool

  init(from row: Row) throws(DatabaseError) {
    count = try row.int(0)
    isLast = try row.bool(1)
  }
}

package enum SearchIndexQueries {
  /// Served by the primary key.
  static let list = Statement<SearchIndex, AppID>(
    "search_indexes.list",
    """
    select id, class, path, kind, state, created_at
    from search_index_records where app_id = $1 order by id
    """
  )

  static let unfinished = Statement<SearchIndex>(
    "search_indexes.unfinished",
    """
    select id, class, path, kind, state, created_at
    from search_index_records where state <> 'ready' order by id
    """
  )

  /// Violates `search_indexes_path` if the path already has an index.
  static let add = Statement<NoRow, AppID, IndexID, DocumentKind, TextArray, String>(
    "search_indexes.add",
    """
    insert into search_indexes (app_id, index_id, class, path, kind)
    values ($1, $2, $3, $4::text[], $5)
    """
  )

  static let find = Statement<SearchIndex, AppID, IndexID>(
    "search_indexes.find",
    """
    select id, class, path, kind, state, created_at
    from search_index_records where app_id = $1 and id = $2
    """
  )

  static let remove = Statement<NoRow, AppID, IndexID>(
    "search_indexes.remove",
    """
    update search_indexes set state = 'removing',
      visible_from = case when state = 'removing' then visible_from end
    where app_id = $1 and index_id = $2
    """
  )

  /// Returns whether all transactions that may not know the index's state have ended.
  ///
  /// Returns no row if the work is finished. Transactions that begin after this snapshot see the
  /// committed state.
  static let settle = Statement<Bool, IndexID>(
    "search_indexes.settle",
    """
    update search_indexes
    set visible_from = coalesce(visible_from, pg_snapshot_xmax(pg_current_snapshot()))
    where index_id = $1 and state <> 'ready'
    returning visible_from <= pg_snapshot_xmin(pg_current_snapshot())
    """
  )

  /// Indexes the documents of the next `$2` users; returns no row if another process has finished.
  ///
  /// The lock on the documents delays their writers, which then see the index and update its
  /// values.
  static let build = Statement<IndexBatch, IndexID, Int>(
    "search_indexes.build",
    """
    with i as (
      select app_id, index_id, class, built_to from search_indexes
      where index_id = $1 and state = 'building' for update
    ), page as (
      select p.user_id from i cross join lateral (
        select user_id from users u
        where u.app_id = i.app_id and u.user_id > i.built_to order by u.user_id limit $2::bigint
      ) p
    ), locked as (
      select d.user_id, d.body from i cross join page p
      join documents d on d.user_id = p.user_id and d.class = i.class and d.deleted_at is null
      order by d.user_id for share of d
    ), looked_at as (
      select count(index_document(i.app_id, l.user_id, i.class, l.body)) as documents
      from i cross join locked l
    ), size as (
      select count(*) as users, max(user_id::text) as last from page
    )
    update search_indexes x
    set built_to = coalesce(s.last, x.built_to),
      state = case when s.users < $2::bigint then 'ready' else x.state end
    from i, looked_at l, size s
    where x.app_id = i.app_id and x.index_id = i.index_id and l.documents >= 0
    returning s.users, s.users < $2::bigint
    """
  )

  /// Deletes `$2` values, and with the last value the index; returns no row if another process has
  /// finished.
  static let clear = Statement<IndexBatch, IndexID, Int>(
    "search_indexes.clear",
    """
    with i as (
      select app_id, index_id from search_indexes
      where index_id = $1 and state = 'removing' for update
    ), old as (
      select o.user_id from i cross join lateral (
        (select user_id from search_values
          where index_id = i.index_id and text_value is not null limit $2::bigint)
        union all
        (select user_id from search_values
          where index_id = i.index_id and number_value is not null limit $2::bigint)
        union all
        (select user_id from search_values
          where index_id = i.index_id and boolean_value is not null limit $2::bigint)
        union all
        (select user_id from search_values
          where index_id = i.index_id and text_value is null and number_value is null
            and boolean_value is null limit $2::bigint)
      ) o limit $2::bigint
    ), removed as (
      delete from search_values v using i, old o
      where v.user_id = o.user_id and v.index_id = i.index_id
    ), gone as (
      delete from search_indexes x using i
      where x.app_id = i.app_id and x.index_id = i.index_id
        and (select count(*) from old) < $2::bigint
    )
    select (select count(*) from old), (select count(*) from old) < $2::bigint from i
    """
  )

  package static let all: [any PreparedStatement] = [
    list, unfinished, find, add, remove, settle, build, clear,
  ]
}
