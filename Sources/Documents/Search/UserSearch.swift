import Accounts
import EventLoop
import JSON
import Postgres
package import Runtime

/// Finds users by their profiles and documents.
package enum UserSearch {
  /// Returns the users of an app, or those that match a filter.
  ///
  /// A filter without an index reads the users one by one, if the app has at most
  /// `FilterLimits.scanned`.
  /// - Parameters:
  ///   - filter: the filter; nil for all users.
  ///   - sort: the order; nil for that of the ids.
  ///   - position: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the users.
  /// - Throws: `.notIndexed`, `.insufficientScope`, `.searchTooSlow`, `.overloaded`,
  ///   `.databaseUnavailable`; `.roleInsufficient` if an administrator may not read a document that the
  ///   filter asks.
  @EventLoop package static func page(
    of filter: Filter?, by sort: UserSort? = nil, after position: UserPosition?, count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Page<ListedUser> {
    let (search, candidates) = try await Self.search(filter, by: sort, after: position, context)
    return Page(try await context.read(search.page(of: count, candidates: candidates)), of: count)
  }

  /// Returns how many users an app has, or how many match a filter.
  ///
  /// No request counts millions: above `FilterLimits.candidates`, all users are estimated, and a
  /// filter with more candidates returns a minimum.
  /// - Throws: as `page`.
  @EventLoop package static func total(
    of filter: Filter?, _ context: RequestContext
  ) async throws(Failure) -> UserTotal {
    let (search, candidates) = try await Self.search(filter, by: nil, after: nil, context)
    let most = FilterLimits.candidates
    let isWalk = filter != nil && !search.isCovered
    let statement = search.total(
      upTo: isWalk ? FilterLimits.scanned : most, candidates: search.isCovered ? most : nil
    )
    let found = try await context.read(statement).first ?? 0
    if filter != nil {
      let isExact = isWalk || candidates != nil
      return UserTotal(count: found, precision: isExact ? .exact : .minimum)
    }
    if found <= most { return UserTotal(count: found, precision: .exact) }
    let planned = try await context.read(search.estimate()).first?.count ?? 0
    return UserTotal(count: max(found, planned), precision: .estimate)
  }

  /// Returns the search of a filter, and the number of its candidates to look up by their ids; nil
  /// if it walks the users.
  @EventLoop private static func search(
    _ filter: Filter?, by sort: UserSort?, after position: UserPosition?,
    _ context: RequestContext
  ) async throws(Failure) -> (FilterComposer, candidates: Int?) {
    guard let filter else {
      let all = FilterComposer(nil, of: context.app.id, by: sort, after: position, indexes: [])
      return (all, nil)
    }
    // A filter would tell what a role cannot read.
    if filter.asksDocuments { try context.require(.support) }
    let asksAppMetadata = filter.terms.contains {
      if case .document(.appMetadata, _) = $0.subject { true } else { false }
    }
    let readsAppMetadata = context.principal.scopes.contains(Scopes.readAppMetadata)
    if asksAppMetadata { try context.require(Scopes.readAppMetadata) }
    let indexes = try await context.read(SearchIndexQueries.list, context.app.id)
    let search = FilterComposer(
      filter,
      of: context.app.id,
      by: sort,
      after: position,
      indexes: indexes.filter {
        $0.state == .ready && (readsAppMetadata || $0.document != .appMetadata)
      }
    )
    let most = search.isCovered ? FilterLimits.candidates : FilterLimits.scanned
    let found = try await context.read(search.count(upTo: most)).first ?? 0
    guard search.isCovered || found <= most else { throw search.notIndexed }
    return (search, search.isCovered && found <= most ? most : nil)
  }
}

extension Filter {
  /// Parses a filter, by the grammar at `parse`.
  ///
  /// - Throws: `.invalidFilter` with the place.
  package init(_ text: String) throws(Failure) {
    do throws(FilterError) {
      self = try Filter.parse(text)
    } catch {
      throw .invalidFilter(error)
    }
  }
}

extension Failure {
  /// The app already has an index on that path, or one that is being removed.
  package static let indexExists = Failure("index_exists", .conflict)
    .titled("The app already has an index on that path.")
    .remedied("Use the existing index: dossier index list.")
  package static let tooManyIndexes = Failure("index_limit", .conflict)
    .titled("The app has the maximum number of indexes.")
    .remedied("Remove an unused index.")
  package static let invalidFilter = Failure("filter_invalid", .invalid)
    .titled("The filter has a syntax error.")
    .remedied("Correct the filter at the byte in position.")
  package static let notIndexed = Failure("not_indexed", .invalid)
    .titled("The app has too many users for a filter without a term on an indexed path.")
    .remedied(
      "Add an index on a path in missing: dossier index create. Or add a term on one of the paths "
        + "in indexed to each branch of an or. Terms with != or under not do not count."
    )

  /// Returns the error for a filter with a syntax error: the place, and the rule.
  package static func invalidFilter(_ error: FilterError) -> Failure {
    .invalidFilter(
      "At byte \(error.position): \(error.detail)",
      members: [
        ("position", .number(JSONNumber(error.position))), ("rule", .string(error.rule.rawValue)),
      ]
    )
  }

  /// Returns the error for a filter of which a branch uses none of the indexed paths.
  ///
  /// - Parameters:
  ///   - paths: the indexed paths.
  ///   - missing: the paths of the filter that an index could cover.
  /// - Returns: the error, which names the index to add.
  package static func notIndexed(_ paths: [String], missing: [String]) -> Failure {
    let advice =
      missing.isEmpty
      ? "Add a term on one of these: \(paths.joined(separator: ", "))."
      : "Add an index on \(missing.joined(separator: " or ")), such as: dossier index create."
    return .notIndexed(
      "A search without an index reads at most \(FilterLimits.scanned) users. \(advice)",
      members: [
        ("indexed", .array(paths.map(JSON.string))), ("missing", .array(missing.map(JSON.string))),
      ]
    )
  }
}
