import Accounts
import Postgres
import Runtime

/// A statement of a search that is being composed.
struct ComposedSearch<Row: RowDecodable> {
  var statement = ComposedStatement<Row>()
  let app: AppID
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
    compare(test, key: keyed?.call) { $0.append(member.column) }
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

  private mutating func operand(_ value: FilterValue, _ key: StaticString?) {
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
