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
  package init(_ filter: Filter, of app: AppID, after cursor: UserID?, indexes: [SearchIndex]) {
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
      """)
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
