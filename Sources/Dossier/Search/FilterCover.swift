/// Finds terms of a filter that indexes serve and that, together, miss none whom it fits.
struct FilterCover {
  private let indexes: [SearchIndex]

  init(_ indexes: [SearchIndex]) { self.indexes = indexes }

  /// What can be searched by, as filters spell it.
  var paths: [String] {
    ProfileMember.allCases.filter(\.isIndexed).map(\.rawValue) + indexes.map(\.path)
  }

  /// The index that answers a term; nil also when it holds values of another kind.
  func index(for term: FilterTerm) -> SearchIndex? {
    guard case .document(let document, let names) = term.subject else { return nil }
    return indexes.first {
      $0.document == document && $0.names.elementsEqual(names) { $0.utf8.elementsEqual($1.utf8) }
        && (term.test.kind == nil || term.test.kind == $0.kind)
    }
  }

  /// Whether a condition made of it alone uses an index.
  ///
  /// Not `exists` on a document: a value's table has no index for all of an index's rows.
  func isPlain(_ filter: Filter) -> Bool {
    guard case .term(let term) = filter, isCovered(term) else { return false }
    if case .document = term.subject { return term.test != .exists }
    return true
  }

  /// The cheapest terms of which one holds for each user that fits; nil when there are none.
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
    if case .compares(.unequal, _) = term.test { return false }
    if case .profile(let member) = term.subject { return member.isIndexed }
    return index(for: term) != nil
  }

  /// A guess: the dearest of the terms decides.
  private func cost(_ terms: [FilterTerm]) -> Int {
    terms.map { term in
      switch term.test {
      case .compares(.equal, _), .isOneOf: 0
      case .compares(.beginsWith, _): 1
      case .compares: 2
      case .exists: 3
      }
    }.max() ?? 0
  }
}
