package import Runtime
import EventLoop
package import Postgres

/// The kinds of documents with a search index, as the worker last read them.
///
/// It only saves a round trip: the statement that writes a document looks up the indexes itself.
package struct IndexedDocuments: AppPart {
  fileprivate(set) var kinds: Set<DocumentKind> = []

  package static func load(
    _ database: Database, _ known: [AppID: IndexedDocuments]
  ) async throws(DatabaseError) -> [AppID: IndexedDocuments] {
    var apps: [AppID: IndexedDocuments] = [:]
    for row in try await database.read(SearchValueQueries.kinds) {
      apps[row.app, default: IndexedDocuments()].kinds.insert(row.kind)
    }
    return apps
  }
}

extension App {
  var indexedDocuments: IndexedDocuments { part() ?? IndexedDocuments() }
}

struct IndexedKind: RowDecodable {
  let app: AppID
  let kind: DocumentKind

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    kind = try row.documentKind(1)
  }
}

/// The values of users' documents at search indexes.
enum SearchValues {
  /// Sends the statements that write the values of a document, in the transaction that wrote it.
  ///
  /// `indexes` are those of its kind, as `SearchValueQueries.indexes` returns them.
  @EventLoop static func send(
    of document: DocumentKind, _ user: UserID, _ indexes: String,
    in transaction: DatabaseTransaction
  ) {
    _ = transaction.send(SearchValueQueries.put, user, document, indexes)
    _ = transaction.send(SearchValueQueries.remove, user, document, indexes)
  }
}

extension SQL {
  /// The condition that the document `d` has a list inside the path of the index `i`.
  fileprivate static let isInsideList: SQL = """
    exists (select 1 from generate_series(1, cardinality(i.path) - 1) length
          where jsonb_typeof(d.body #> i.path[1:length]) = 'array')
    """
}

package enum SearchValueQueries {
  /// Returns the kinds of documents that have an index, for all apps.
  static let kinds = Statement<IndexedKind>(
    "search_values.kinds", "select distinct app_id, document_kind from search_indexes"
  )

  /// Returns the indexes of a kind that writers maintain, as JSON; no row without one.
  static let indexes = Statement<String, AppID, DocumentKind>(
    "search_values.indexes",
    """
    select jsonb_agg(jsonb_build_object('index_id', index_id, 'path', to_jsonb(path), 'kind', kind))
    from search_indexes where app_id = $1 and document_kind = $2 and state <> 'removing'
    having count(*) > 0
    """)

  /// Writes the values of a document that have changed.
  ///
  /// A document with a list inside the path has a row too: a member of its elements may match.
  ///
  /// - Parameter 3: the indexes.
  static let put = Statement<NoRow, UserID, DocumentKind, String>(
    "search_values.put",
    """
    insert into search_values (user_id, index_id, text_value, number_value, boolean_value)
    select d.user_id, i.index_id, n.text_value, n.number_value, n.boolean_value
    from documents d
    cross join jsonb_to_recordset($3::jsonb) as i (index_id text, path text[], kind text)
    cross join lateral (
      select d.body #> i.path as value, jsonb_typeof(d.body #> i.path) as type) f
    cross join lateral (
      select case when i.kind = 'text' and f.type = 'string' then left(f.value #>> '{}', 256) end
          as text_value,
        case when i.kind = 'number' and f.type = 'number' then f.value::numeric end as number_value,
        case when i.kind = 'boolean' and f.type = 'boolean' then f.value::boolean end
          as boolean_value) n
    where d.user_id = $1 and d.kind = $2 and (f.type <> 'null' or \(.isInsideList)) and not exists (
      select 1 from search_values v
      where v.user_id = $1 and v.index_id = i.index_id
        and v.text_value is not distinct from n.text_value
        and v.number_value is not distinct from n.number_value
        and v.boolean_value is not distinct from n.boolean_value)
    on conflict (user_id, index_id) do update set text_value = excluded.text_value,
      number_value = excluded.number_value, boolean_value = excluded.boolean_value
    """)

  /// Deletes the values of a document that are null or missing now.
  static let remove = Statement<NoRow, UserID, DocumentKind, String>(
    "search_values.remove",
    """
    delete from search_values v
    using documents d, jsonb_to_recordset($3::jsonb) as i (index_id text, path text[])
    where v.user_id = $1 and d.user_id = $1 and d.kind = $2 and v.index_id = i.index_id
      and coalesce(jsonb_typeof(d.body #> i.path), 'null') = 'null'
      and not \(.isInsideList)
    """)

  package static let all: [any PreparedStatement] = [kinds, indexes, put, remove]
}
