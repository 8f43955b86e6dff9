import Accounts
package import Runtime
package import Postgres

/// Composes the SQL of a list of users, all of an app or those that match a filter.
///
/// The planner does not know how many users a prefix or a range matches: it ignores the statistics
/// of partial indexes. If it guesses too many, it walks all users in the order of the page instead
/// of reading the index. So `count` counts the candidates first, up to `FilterLimits.candidates`. A
/// page then looks up these by their ids, or walks the users in the order of the page if so many
/// match that the walk is short.
///
/// Only literals of this file are appended; all values from the filter are parameters. Columns
/// without a table name are those of `users`, as `u` or in a subquery.
package struct FilterComposer {
  private let conjuncts: [Filter]
  private let filter: Filter?
  private let app: AppID
  private let sort: UserSort?
  private let position: UserPosition?
  private let cover: FilterCover
  /// The terms whose candidates include all matching users; nil if no index covers the filter.
  private let terms: [FilterTerm]?

  /// - Parameters:
  ///   - filter: the filter; nil for all users.
  ///   - app: the app of the users.
  ///   - sort: the order; nil for that of the ids.
  ///   - position: where the previous page ended.
  ///   - indexes: the available indexes.
  package init(
    _ filter: Filter?, of app: AppID, by sort: UserSort? = nil, after position: UserPosition?,
    indexes: [SearchIndex]
  ) {
    cover = FilterCover(indexes)
    conjuncts = filter?.conjuncts ?? []
    terms = cover.best(of: conjuncts)
    (self.filter, self.app, self.sort, self.position) = (filter, app, sort, position)
  }

  /// Whether indexes find all candidates.
  package var isCovered: Bool { terms != nil }

  /// Returns the error for a filter that no index covers.
  package var notIndexed: Failure {
    .notIndexed(cover.paths, missing: filter.map(cover.missing(in:)) ?? [])
  }

  /// Composes the count of the candidates, or of the users of the app if no index covers the
  /// filter.
  ///
  /// It stops a little above `most`.
  package func count(upTo most: Int) -> ComposedStatement<Int> {
    var search: ComposedSearch<Int> = composed()
    search.append("select count(*) from (")
    if let terms {
      search.candidates(terms, upTo: most)
    } else {
      search.users(upTo: most)
    }
    search.append(") c")
    return search.statement
  }

  /// Composes a page of the matching users.
  ///
  /// - Parameters:
  ///   - count: the size of the page.
  ///   - candidates: the largest number of candidates to look up by their ids; nil to walk the users.
  /// - Returns: the statement.
  package func page(of count: Int, candidates: Int?) -> ComposedStatement<ListedUser> {
    var search: ComposedSearch<ListedUser> = composed()
    search.append(
      """
      select u.user_id, u.created_at, u.updated_at, u.version, u.anonymous,
        u.blocked_at is not null, u.email, u.email_verified, u.name, u.given_name, u.family_name,
        u.nickname, u.phone, u.locale, u.zone,
        coalesce(u.picture, u.picture_url),
      """)
    search.append(sort?.storedValue ?? " null::text")
    search.append(", u.last_login_at")
    let isWalk = candidates == nil && sort == nil
    let frequent = isWalk ? terms.flatMap(FrequentValue.init) : nil
    matches(candidates, frequent, &search)
    if let column = sort?.requiredColumn {
      // The planner cannot infer it, and would not take the index.
      search.append(" and ")
      search.append(column)
      search.append(" is not null")
    }
    if let position { search.follow(position, by: sort) }
    search.append(" order by ")
    if isWalk, terms?.contains(where: { $0.subject == .profile(.names) }) == true {
      // To compare words one by one is slow: the order keeps the planner from walking the users.
      search.append("u.user_id || ''")
    } else {
      search.order(by: sort, frequent?.member)
    }
    search.append(" limit ")
    search.statement.bind(count, as: "bigint")
    return search.statement
  }

  /// Composes the number of the matching users; it stops a little above `most`.
  package func total(upTo most: Int, candidates: Int?) -> ComposedStatement<Int> {
    var search: ComposedSearch<Int> = composed()
    search.append("select count(*) from (select 1")
    matches(candidates, nil, &search)
    search.append(" limit ")
    search.statement.bind(most + 1, as: "bigint")
    search.append(") c")
    return search.statement
  }

  /// Composes the planner's estimate of the number of users, which reads none of them.
  ///
  /// It is good for all users of an app. For filters it is not: the planner ignores the statistics of
  /// partial indexes.
  package func estimate() -> ComposedStatement<PlannedRows> {
    var search: ComposedSearch<PlannedRows> = composed()
    search.append("explain (format json) select 1")
    matches(nil, nil, &search)
    return search.statement
  }

  private func composed<Row>() -> ComposedSearch<Row> {
    ComposedSearch(app, sort == nil ? position?.user : nil, cover)
  }

  /// Appends the users of the app, as `u`, that match the filter.
  private func matches<Row>(
    _ candidates: Int?, _ frequent: FrequentValue?, _ search: inout ComposedSearch<Row>
  ) {
    search.append(" from users u where u.app_id = ")
    search.statement.bind(app, as: "text")
    if let candidates, let terms {
      // An array, unlike a subquery, is looked up by the primary key for any estimate.
      search.append(" and u.user_id = any (array(")
      search.candidates(terms, upTo: candidates)
      search.append("))")
    }
    for conjunct in conjuncts {
      search.append(" and ")
      search.predicate(frequent?.replacing(conjunct) ?? conjunct)
    }
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
    guard terms.count == 1, case .profile(let member) = terms[0].subject, member != .names,
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
