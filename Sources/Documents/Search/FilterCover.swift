import JSON

/// Finds terms of a filter that indexes cover and that, together, find every matching user.
struct FilterCover {
  private let indexes: [SearchIndex]

  init(_ indexes: [SearchIndex]) { self.indexes = indexes }

  /// The indexed paths, as filters spell them.
  var paths: [String] {
    ProfileMember.allCases.filter(\.isIndexed).map(\.rawValue) + indexes.map(\.path)
  }

  /// Returns the paths of a filter that an index could cover, as filters spell them.
  func missing(in filter: Filter) -> [String] {
    var paths: [String] = []
    for term in filter.terms {
      guard case .document(let document, let names) = term.subject, index(for: term) == nil else {
        continue
      }
      let path = Filter.spelled(document, names)
      if !paths.contains(where: { $0.hasSameBytes(as: path) }) { paths.append(path) }
    }
    return paths
  }

  /// Returns the index for a term; nil also if it holds values of another kind.
  func index(for term: FilterTerm) -> SearchIndex? {
    guard case .document(let document, let names) = term.subject else { return nil }
    return indexes.first {
      $0.isOn(document, names) && (term.test.kind == nil || term.test.kind == $0.kind)
    }
  }

  /// Returns the cheapest terms of which each matching user satisfies at least one; nil without
  /// any.
  func best(of conjuncts: [Filter]) -> [FilterTerm]? {
    conjuncts.compactMap(terms).min { cost($0) < cost($1) }
  }

  private func terms(_ filter: Filter) -> [FilterTerm]? {
    switch filter {
    case .term(let term): return isCovered(term) ? [term] : nil
    case .not: return nil
    case .and(let parts): return best(of: parts)
    case .or(let parts):
      let branches = parts.compactMap(terms)
      return branches.count == parts.count ? branches.flatMap(\.self) : nil
    }
  }

  private func isCovered(_ term: FilterTerm) -> Bool {
    switch term.test {
    case .compares(let comparison, _) where comparison == .unequal || comparison.isUnindexed:
      return false
    case .contains(let all) where all.contains(where: \.comparison.isUnindexed): return false
    default: break
    }
    return switch term.subject {
    case .profile(let member): member.isIndexed
    case .document: index(for: term) != nil
    // Almost all users have an identity of this server.
    case .provider: term.test.providers.allSatisfy { $0.utf8.starts(with: "jwt:".utf8) }
    }
  }

  /// Estimates the cost by the most expensive term.
  private func cost(_ terms: [FilterTerm]) -> Int {
    terms.map { term in
      switch term.test {
      case _ where term.subject == .provider: 3
      case .compares(.equal, _), .isOneOf: 0
      case .compares(.beginsWith, _), .contains: 1
      case .compares: 2
      case .exists, .isFilled: 3
      }
    }.max() ?? 0
  }
}

extension FilterTest {
  /// The providers of a term on `provider`.
  fileprivate var providers: [String] {
    switch self {
    case .isOneOf(let values): values.map(\.parameter)
    case .compares(.beginsWith, let value): [value.parameter]
    default: [""]
    }
  }
}
