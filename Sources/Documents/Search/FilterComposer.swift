package import Accounts
package import Runtime
package import Postgres

/// Composes the SQL of a filter.
///
/// The planner does not know how many users a prefix or a range matches: it ignores the statistics
/// of partial indexes. If it guesses too many, it walks all users in the order of the page instead
/// of reading the index. So `count` counts the candidates first, up to `FilterLimits.candidates`. A
/// page then looks up these by their ids, or walks the users if so many match that the walk is
/// short.
///
/// Only literals of this file are appended; all values from the filter are parameters. Columns
/// without a table name are those of `users`, as `u` or in a subquery.
package struct FilterComposer {
  private let filter: Filter
  private let app: AppID
  private let cursor: UserID?
  private let cover: FilterCover
  /// The terms whose candidates include all matching users; nil if no index covers the filter.
  private let terms: [FilterTerm]?

  /// - Parameters:
  ///   - filter: the filter.
  ///   - app: the app of the users.
  ///   - cursor: the last user of the previous page.
  ///   - indexes: the available indexes.
  package init(
    _ filter: Filter,
    of app: AppID,
    after cursor: UserID?,
    indexes: [SearchIndex]
  ) {
    cover = FilterCover(indexes)
    terms = cover.best(of: filter.conjuncts)
    (self.filter, self.app, self.cursor) = (filter, app, cursor)
  }

  /// Whether indexes find all candidates.
  package var isCovered: Bool { terms != nil }

  /// Returns the error for a filter that no index covers.
  package var notIndexed: Failure { .notIndexed(cover.paths, missing: cover.missing(in: filter)) }

  /// Composes the count of the candidates, or of the users of the app if no index covers the
  /// filter.
  ///
  /// It stops a little above `most`.
  package func count(upTo most: Int) -> ComposedStatement<Int> {
    var search = ComposedSearch<Int>(app, cursor, cover)
    search.append("select count(*) from (")
    if let terms {
      search.candidates(terms, upTo: most)
    } else {
      search.users(upTo: most)
    }
    search.append(") c")
    return search.statement
  }

  /// Composes a page of the matching users, by id.
  ///
  /// - Parameters:
  ///   - count: the size of the page.
  ///   - candidates: the largest number of candidates to look up by their ids; nil to walk the users.
  /// - Returns: the statement.
  package func page(of count: Int, candidates: Int?) -> ComposedStatement<Profile> {
    var search = ComposedSearch<Profile>(app, cursor, cover)
    search.append(
      """
      select p.id, p.created_at, p.updated_at, p.version, p.anonymous, p.blocked, p.email,
        p.email_verified, p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale,
        p.zone, p.picture
      from (select u.user_id from users u where u.app_id =
      """
    )
    search.append(" ")
    search.statement.bind(app, as: "text")
    if let cursor {
      search.append(" and u.user_id > ")
      search.statement.bind(cursor, as: "text")
    }
    if let candidates, let terms {
      // An array, unlike a subquery, is looked up by the primary key for any estimate.
      search.append(" and u.user_id = any (array(")
      search.candidates(terms, upTo: candidates)
      search.append("))")
    }
    let frequent = candidates == nil ? terms.flatMap(FrequentValue.init) : nil
    for conjunct in filter.conjuncts {
      search.append(" and ")
      search.predicate(frequent?.replacing(conjunct) ?? conjunct)
    }
    search.append(" order by ")
    if let frequent {
      search.append(frequent.member.column)
      search.append(", ")
    }
    search.append("u.user_id limit ")
    search.statement.bind(count, as: "bigint")
    search.append(") f join profiles p on p.id = f.user_id order by p.id")
    return search.statement
  }
}

/// A value of a member of the profile that many users of the page share.
///
/// The index on the member yields these users by id. With the value as a range and the member in the
/// order, the planner takes the index; else it may walk all users instead, and the first match may
/// be the last user.
private struct FrequentValue {
  let member: ProfileMember
  private let term: FilterTerm
  private let value: FilterValue

  init?(_ terms: [FilterTerm]) {
    guard terms.count == 1, case .profile(let member) = terms[0].subject,
      case .compares(.equal, let value) = terms[0].test
    else { return nil }
    (self.member, self.value, term) = (member, value, terms[0])
  }

  /// Returns the filter, as a range if it tests the value.
  func replacing(_ filter: Filter) -> Filter {
    guard filter == .term(term) else { return filter }
    return .and(
      [.greaterOrEqual, .lessOrEqual].map {
        .term(FilterTerm(subject: term.subject, test: .compares($0, value)))
      }
    )
  }
}

extension Filter {
  fileprivate var conjuncts: [Filter] { if case .and(let parts) = self { parts } else { [self] } }
}

/// A statement of a search that is being composed.
private struct ComposedSearch<Row: RowDecodable> {
  var statement = ComposedStatement<Row>()
  private let app: AppID
  private let cursor: UserID?
  private let cover: FilterCover

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

  // MARK: Candidates

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
      if term.test.isRange {
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
      """
    )
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
  private mutating func compare(
    _ test: FilterTest,
    key: StaticString? = nil,
    _ subject: (inout ComposedSearch) -> Void
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
    _ comparison: FilterOperator,
    _ value: FilterValue,
    key: StaticString?,
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
