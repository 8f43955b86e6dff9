import Postgres

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
