package import Accounts
package import Runtime
package import Postgres

/// Composes the SQL of a filter.
///
/// Only literals of this file are appended; all values from the filter are parameters. Columns
/// without a table name are those of `users`, as `u` or in a subquery.
package struct FilterComposer {
  private var statement = ComposedStatement<Profile>()
  private let app: AppID
  private let cursor: UserID?
  private let cover: FilterCover

  /// Composes a page of the users that match a filter, by id.
  ///
  /// - Parameters:
  ///   - filter: a filter with a term that an index covers.
  ///   - app: the app of the users.
  ///   - cursor: the last user of the previous page.
  ///   - count: the size of the page.
  ///   - indexes: the available indexes.
  /// - Returns: the statement.
  /// - Throws: `.notIndexed`.
  package static func page(
    _ filter: Filter,
    of app: AppID,
    after cursor: UserID?,
    count: Int,
    indexes: [SearchIndex]
  ) throws(Failure) -> ComposedStatement<Profile> {
    var composer = FilterComposer(app, after: cursor, FilterCover(indexes))
    composer.append(
      """
      select p.id, p.created_at, p.updated_at, p.version, p.anonymous, p.blocked, p.email,
        p.email_verified, p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale,
        p.zone, p.picture
      from (select u.user_id from users u where u.app_id =
      """
    )
    composer.append(" ")
    composer.statement.bind(app, as: "text")
    if let cursor {
      composer.append(" and u.user_id > ")
      composer.statement.bind(cursor, as: "text")
    }
    try composer.conditions(filter)
    composer.append(" order by u.user_id limit ")
    composer.statement.bind(count, as: "bigint")
    composer.append(
      """
      ) f join profiles p on p.id = f.user_id order by p.id
      """
    )
    return composer.statement
  }

  private init(_ app: AppID, after cursor: UserID?, _ cover: FilterCover) {
    self.app = app
    self.cursor = cursor
    self.cover = cover
  }

  private mutating func append(_ piece: StaticString) { statement.append(piece) }

  // MARK: Filters

  /// Appends the conditions of a filter so that an index finds all candidates.
  ///
  /// A covered term is such a condition by itself, and the planner chooses the most selective one.
  /// Without such a term, the candidates of the branches of an `or` are combined.
  private mutating func conditions(_ filter: Filter) throws(Failure) {
    let conjuncts: [Filter] = if case .and(let parts) = filter { parts } else { [filter] }
    for conjunct in conjuncts {
      append(" and ")
      predicate(conjunct)
    }
    guard !conjuncts.contains(where: cover.isPlain) else { return }
    guard let terms = cover.best(of: conjuncts) else { throw .notIndexed(cover.paths) }
    append(" and u.user_id in (")
    for (index, term) in terms.enumerated() {
      if index > 0 { append(" union all ") }
      candidates(term)
    }
    append(")")
  }

  private mutating func predicate(_ filter: Filter) {
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

  /// Appends a query of the user ids that an index finds for a term.
  private mutating func candidates(_ term: FilterTerm) {
    if case .profile(let member) = term.subject {
      append("select user_id from users where app_id = ")
      statement.bind(app, as: "text")
      append(" and ")
      return condition(member, term.test)
    }
    if term.subject == .provider {
      append("select user_id from identity_subjects where app_id = ")
      statement.bind(app, as: "text")
      append(" and ")
      return compare(term.test) { $0.append("provider") }
    }
    guard let index = cover.index(for: term) else { return append("select null where false") }
    if case .contains(let comparisons) = term.test {
      append("select v.user_id from search_values v where ")
      for (place, one) in comparisons.enumerated() {
        if place > 0 { append(" and ") }
        condition(index, .compares(one.comparison, one.value))
      }
      append(" union all ")
      return withoutValue(index)
    }
    guard term.test.kind == nil else {
      append("select v.user_id from search_values v where ")
      return condition(index, term.test)
    }
    // One query for each index of the table that starts with the index id.
    append("select v.user_id from search_values v where v.text_value is not null and ")
    condition(index, .exists)
    append(" union all select v.user_id from search_values v where v.number_value is not null and ")
    condition(index, .exists)
    append(
      " union all select v.user_id from search_values v where v.boolean_value is not null and "
    )
    condition(index, .exists)
    append(" union all ")
    withoutValue(index)
  }

  /// Appends a query of the users whose value is of another kind, such as a list.
  private mutating func withoutValue(_ index: SearchIndex) {
    append(
      """
      select v.user_id from search_values v
      where v.text_value is null and v.number_value is null and v.boolean_value is null and
      """
    )
    append(" ")
    condition(index, .exists)
  }

  /// Appends a condition on columns of `users`.
  private mutating func condition(_ member: ProfileMember, _ test: FilterTest) {
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
  private mutating func condition(_ index: SearchIndex, _ test: FilterTest) {
    append("v.index_id = ")
    statement.bind(index.id, as: "text")
    if let cursor {
      // The planner cannot infer this, and would read the rows of earlier pages.
      append(" and v.user_id > ")
      statement.bind(cursor, as: "text")
    }
    guard test != .exists else { return }
    append(" and ")
    compare(test) {
      switch index.kind {
      case .text, .time: $0.append("v.text_value")
      case .number: $0.append("v.number_value")
      case .boolean: $0.append("v.boolean_value")
      }
    }
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
  private mutating func compare(
    _ test: FilterTest,
    key: StaticString? = nil,
    _ subject: (inout FilterComposer) -> Void
  ) {
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
