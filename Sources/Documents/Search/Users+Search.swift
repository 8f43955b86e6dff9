package import Accounts
package import Runtime
import EventLoop
import Postgres

extension Users {
  /// Returns the profiles of the users of an app that match a filter, oldest first.
  ///
  /// Without an index it reads the users one by one, if the app has at most `FilterLimits.scanned`.
  /// - Parameters:
  ///   - filter: the filter.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the profiles.
  /// - Throws: `.notIndexed`, `.insufficientScope`, `.searchTooSlow`, `.overloaded`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func search(
    _ filter: Filter, after cursor: UserID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<Profile> {
    let asksAppMetadata = filter.terms.contains {
      if case .document(.appMetadata, _) = $0.subject { true } else { false }
    }
    let readsAppMetadata = context.principal.scopes.contains(Scopes.readAppMetadata)
    if asksAppMetadata { try context.require(Scopes.readAppMetadata) }
    let indexes = try await context.read(SearchIndexQueries.list, context.app.id)
    let search = FilterComposer(
      filter,
      of: context.app.id,
      after: cursor,
      indexes: indexes.filter {
        $0.state == .ready && (readsAppMetadata || $0.document != .appMetadata)
      }
    )
    let most = search.isCovered ? FilterLimits.candidates : FilterLimits.scanned
    let found = try await context.search(search.count(upTo: most)).first ?? 0
    guard search.isCovered || found <= most else { throw search.notIndexed }
    let candidates = search.isCovered && found <= most ? most : nil
    return Page(try await context.search(search.page(of: count, candidates: candidates)), of: count)
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
