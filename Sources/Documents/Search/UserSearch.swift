package import Accounts
import EventLoop
import JSON
import Postgres
package import Runtime

/// Finds users by their profiles and documents.
package enum UserSearch {
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
  @EventLoop package static func page(
    of filter: Filter, after cursor: UserID?, count: Int, _ context: RequestContext
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
    let found = try await context.read(search.count(upTo: most)).first ?? 0
    guard search.isCovered || found <= most else { throw search.notIndexed }
    let candidates = search.isCovered && found <= most ? most : nil
    return Page(try await context.read(search.page(of: count, candidates: candidates)), of: count)
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
