import Accounts
import EventLoop
package import Postgres
package import Runtime

/// A statement of a search that is being composed.
struct ComposedSearch<Row: RowDecodable> {
  var statement = ComposedStatement<Row>()
  let app: AppID
  /// The last user of the earlier pages, if pages are in the order of ids.
  let cursor: UserID?
  let cover: FilterCover

  init(_ app: AppID, _ cursor: UserID?, _ cover: FilterCover) {
    (self.app, self.cursor, self.cover) = (app, cursor, cover)
  }

  mutating func append(_ piece: StaticString) { statement.append(piece) }

  // MARK: Filters

  mutating func predicate(_ filter: Filter) {
    switch filter {
    case .term(let term): predicate(term)
    case .not(let inner):
      append("(")
      predicate(inner)
      append(") is not true")
    case .and(let parts): predicates(parts, " and ")
    case .or(let parts): predicates(parts, " or ")
    }
  }

  private mutating func predicates(_ parts: [Filter], _ word: StaticString) {
    append("(")
    for (index, part) in parts.enumerated() {
      if index > 0 { append(word) }
      predicate(part)
    }
    append(")")
  }

  // MARK: Terms

  /// Appends a condition on `u`.
  private mutating func predicate(_ term: FilterTerm) {
    if case .compares(.unequal, let value) = term.test {
      let equal = FilterTerm(subject: term.subject, test: .compares(.equal, value))
      return predicate(.not(.term(equal)))
    }
    switch term.subject {
    case .profile(let member): condition(member, term.test)
    case .provider:
      append("exists (select 1 from identities i where i.user_id = u.user_id and ")
      compare(term.test) { $0.append("i.provider") }
      append(")")
    case .document(let document, let path):
      if let index = cover.index(for: term), !term.test.readsDocument {
        append("exists (select 1 from search_values v where v.user_id = u.user_id and ")
        condition(index, term.test)
      } else {
        append("exists (select 1 from documents d where d.user_id = u.user_id and d.kind = ")
        statement.bind(document, as: "text")
        append(" and d.deleted_at is null and ")
        condition(path, term.test)
      }
      append(")")
    }
  }

  /// Appends a condition on columns of `users`.
  mutating func condition(_ member: ProfileMember, _ test: FilterTest) {
    let keyed = member.keyed
    if keyed != nil || test == .exists {
      // The planner cannot infer that a value with a key is not null.
      append(keyed?.column ?? member.column)
      append(" is not null")
      if test == .exists { return }
      append(" and ")
    }
    if member == .names { return compareWords(test) }
    compare(test, key: keyed?.call) { $0.append(member.column) }
  }

  /// Appends the condition that the names have all words of a value, or words that begin so.
  ///
  /// The planner computes the query, so that its words are a condition of the index.
  private mutating func compareWords(_ test: FilterTest) {
    guard case .compares(let comparison, let value) = test else { return }
    append(ProfileMember.names.column)
    append(" @@ name_query(")
    statement.bind(app, as: "text")
    append(", ")
    statement.bind(value.parameter, as: "text")
    append(comparison == .beginsWith ? ", ':*')" : ", '')")
  }

  /// Appends a condition on a row `v` of `search_values`.
  mutating func condition(_ index: SearchIndex, _ test: FilterTest) {
    append("v.index_id = ")
    statement.bind(index.id, as: "text")
    if let cursor {
      // The planner cannot infer this, and would read the rows of earlier pages.
      append(" and v.user_id > ")
      statement.bind(cursor, as: "text")
    }
    guard test != .exists else { return }
    append(" and ")
    compare(test) { $0.append(index.column) }
  }

  /// Appends a condition on a row `d` of `documents`.
  private mutating func condition(_ path: [String], _ test: FilterTest) {
    if let (path, variables) = test.jsonPath(from: path) {
      append("jsonb_path_exists(d.body, ")
      statement.bind(path, as: "jsonpath")
      append(", ")
      statement.bind(variables, as: "jsonb")
      return append(")")
    }
    let path = TextArray(path)
    guard test != .exists else {
      append("jsonb_typeof(d.body #> ")
      statement.bind(path, as: "text[]")
      return append(") <> 'null'")
    }
    compare(test) {
      $0.append("case when jsonb_typeof(d.body #> ")
      $0.statement.bind(path, as: "text[]")
      switch test.kind {
      case .number: $0.append(") = 'number' then (d.body #>> ")
      case .boolean: $0.append(") = 'boolean' then (d.body #>> ")
      default: $0.append(") = 'string' then (d.body #>> ")
      }
      $0.statement.bind(path, as: "text[]")
      switch test.kind {
      case .number: $0.append(")::numeric end")
      case .boolean: $0.append(")::boolean end")
      default: $0.append(") end collate \"C\"")
      }
    }
  }

  // MARK: Comparisons

  /// Appends a comparison with the expression that `subject` appends.
  ///
  /// `key` is the start of the call that values are passed to.
  mutating func compare(
    _ test: FilterTest, key: StaticString? = nil, _ subject: (inout ComposedSearch) -> Void
  ) {
    if case .compares(let comparison, let value) = test, comparison.isUnindexed {
      return compareParts(comparison, value, key: key, subject)
    }
    subject(&self)
    switch test {
    case .exists, .isFilled, .contains, .compares(.unequal, _): break
    case .isOneOf(let values):
      append(" = any (")
      if let key {
        append("array(select ")
        append(key)
        append("e) from unnest(")
      }
      statement.bind(TextArray(values.map(\.parameter)), as: test.arrayType)
      append(key == nil ? ")" : ") e))")
    case .compares(.beginsWith, let value):
      append(" between ")
      operand(value, key)
      append(" and ")
      operand(value, key)
      append(" || repeat(chr(1114111), 256)")
    case .compares(let comparison, let value):
      append(comparison.sql)
      operand(value, key)
    }
  }

  private mutating func compareParts(
    _ comparison: FilterOperator, _ value: FilterValue, key: StaticString?,
    _ subject: (inout ComposedSearch) -> Void
  ) {
    append(comparison == .includes ? "strpos(" : "right(")
    subject(&self)
    append(comparison == .includes ? ", " : ", length(")
    operand(value, key)
    guard comparison == .endsWith else { return append(") > 0") }
    append(")) = ")
    operand(value, key)
  }

  mutating func operand(_ value: FilterValue, _ key: StaticString?) {
    if let key { append(key) }
    switch value.kind {
    case .text: statement.bind(value.parameter, as: "text")
    case .number: statement.bind(value.parameter, as: "numeric")
    case .boolean: statement.bind(value.parameter, as: "boolean")
    case .time: statement.bind(value.parameter, as: "timestamptz")
    }
    if key != nil { append(")") }
  }
}

extension ComposedSearch {
  /// Appends a query of the users that satisfy at least one of these terms.
  mutating func candidates(_ terms: [FilterTerm], upTo most: Int) {
    for (index, term) in terms.enumerated() {
      if index > 0 { append(" union all ") }
      candidates(term, most)
    }
  }

  /// Appends a query of the users of the app.
  mutating func users(upTo most: Int) {
    append("(select user_id from users where app_id = ")
    statement.bind(app, as: "text")
    limit(most)
  }

  /// Appends a query of the user ids that an index finds for a term.
  ///
  /// Ranges are in the order of their index, so that the planner has no cheaper way.
  private mutating func candidates(_ term: FilterTerm, _ most: Int) {
    switch term.subject {
    case .profile(let member):
      append("(select user_id from users where app_id = ")
      statement.bind(app, as: "text")
      if let cursor {
        append(" and user_id > ")
        statement.bind(cursor, as: "text")
      }
      append(" and ")
      condition(member, term.test)
      if term.test.isRange, member != .names {
        append(" order by ")
        append(member.column)
      }
      limit(most)
    case .provider:
      append("(select user_id from identity_subjects where app_id = ")
      statement.bind(app, as: "text")
      append(" and ")
      compare(term.test) { $0.append("provider") }
      limit(most)
    case .document:
      guard let index = cover.index(for: term) else { return append("(select null where false)") }
      candidates(index, term.test, most)
    }
  }

  private mutating func candidates(_ index: SearchIndex, _ test: FilterTest, _ most: Int) {
    switch test {
    case .contains(let comparisons):
      append("(select v.user_id from search_values v where ")
      for (place, one) in comparisons.enumerated() {
        if place > 0 { append(" and ") }
        condition(index, .compares(one.comparison, one.value))
      }
      order(by: index, most)
      append(" union all ")
      withoutValue(index, most)
    case .exists, .isFilled:
      // One query for each index of the table that starts with the index id.
      append("(select v.user_id from search_values v where ")
      append(index.column)
      append(" is not null and ")
      condition(index, .exists)
      order(by: index, most)
      append(" union all ")
      withoutValue(index, most)
    case .compares, .isOneOf:
      append("(select v.user_id from search_values v where ")
      condition(index, test)
      if test.isRange { order(by: index, most) } else { limit(most) }
    }
  }

  /// Appends a query of the users whose value is of another kind, such as a list.
  private mutating func withoutValue(_ index: SearchIndex, _ most: Int) {
    append(
      """
      (select v.user_id from search_values v
      where v.text_value is null and v.number_value is null and v.boolean_value is null and
      """)
    append(" ")
    condition(index, .exists)
    limit(most)
  }

  private mutating func order(by index: SearchIndex, _ most: Int) {
    append(" order by ")
    append(index.column)
    limit(most)
  }

  private mutating func limit(_ most: Int) {
    append(" limit ")
    statement.bind(most + 1, as: "bigint")
    append(")")
  }
}

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

/// The indexes on documents of a kind, as `SearchValueQueries.indexes` returns them.
struct IndexesOfKind: RowDecodable {
  let kind: DocumentKind
  let indexes: String

  init(from row: Row) throws(DatabaseError) {
    kind = try row.documentKind(0)
    indexes = try row.text(1)
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
  /// The condition that the document `d` has a list inside a path.
  static func isInsideList(_ path: SQL) -> SQL {
    """
    exists (select 1 from generate_series(1, cardinality(\(path)) - 1) length
          where jsonb_typeof(d.body #> (\(path))[1:length]) = 'array')
    """
  }

  /// Returns a join with the value of the document `d` at a path: `f` has its type, and `n` the
  /// columns of `search_values`.
  static func indexed(_ path: SQL, _ kind: SQL) -> SQL {
    """
    cross join lateral (
      select d.body #> \(path) as value, jsonb_typeof(d.body #> \(path)) as type) f
    cross join lateral (
      select case when \(kind) = 'text' and f.type = 'string' then left(f.value #>> '{}', 256) end
          as text_value,
        case when \(kind) = 'number' and f.type = 'number' then f.value::numeric end as number_value,
        case when \(kind) = 'boolean' and f.type = 'boolean' then f.value::boolean end
          as boolean_value) n
    """
  }
}

package enum SearchValueQueries {
  /// Returns the kinds of documents that have an index, for all apps.
  static let kinds = Statement<IndexedKind>(
    "search_values.kinds", "select distinct app_id, document_kind from search_indexes"
  )

  private static let list: SQL =
    "jsonb_agg(jsonb_build_object('index_id', index_id, 'path', to_jsonb(path), 'kind', kind))"

  /// Returns the indexes of a kind that writers maintain, as JSON; no row without one.
  static let indexes = Statement<String, AppID, DocumentKind>(
    "search_values.indexes",
    """
    select \(list)
    from search_indexes where app_id = $1 and document_kind = $2 and state <> 'removing'
    having count(*) > 0
    """)

  /// Returns the same for each kind that has one.
  static let indexesByKind = Statement<IndexesOfKind, AppID>(
    "search_values.indexes_by_kind",
    """
    select document_kind, \(list)
    from search_indexes where app_id = $1 and state <> 'removing' group by document_kind
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
    \(.indexed("i.path", "i.kind"))
    where d.user_id = $1 and d.kind = $2
      and (f.type <> 'null' or \(.isInsideList("i.path"))) and not exists (
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
      and not \(.isInsideList("i.path"))
    """)
}
