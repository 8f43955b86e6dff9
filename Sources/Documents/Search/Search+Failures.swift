package import Runtime
import JSON

extension ErrorType {
  package static let indexExists = ErrorType("index_exists", .conflict)
    .titled("The app already has an index on that path.")
    .remedied("Use the existing index: dossier index list.")
  package static let tooManyIndexes = ErrorType("index_limit", .conflict)
    .titled("The app has the maximum number of indexes.")
    .remedied("Remove an unused index.")
  package static let invalidFilter = ErrorType("filter_invalid", .invalid)
    .titled("The filter has a syntax error.")
    .remedied("Correct the filter at the byte in position.")
  package static let notIndexed = ErrorType("not_indexed", .invalid)
    .titled("The app has too many users for a filter without a term on an indexed path.")
    .remedied(
      "Add an index on a path in missing: dossier index add. Or add a term on one of the paths in "
        + "indexed to each branch of an or. Terms with != or under not do not count."
    )

  package static let searchErrors = [indexExists, tooManyIndexes, invalidFilter, notIndexed]
}

extension Failure {
  /// The app already has an index on that path, or one that is being removed.
  package static let indexExists = Failure(.indexExists)

  package static func tooManyIndexes(limit: Int) -> Failure {
    Failure(.tooManyIndexes, limit: limit)
  }

  /// Returns the error for a filter with a syntax error: the place, and the rule.
  package static func invalidFilter(_ error: FilterError) -> Failure {
    Failure(
      .invalidFilter,
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
      : "Add an index on \(missing.joined(separator: " or ")), such as: dossier index add."
    return Failure(
      .notIndexed,
      "A search without an index reads at most \(FilterLimits.scanned) users. \(advice)",
      members: [
        ("indexed", .array(paths.map(JSON.string))), ("missing", .array(missing.map(JSON.string))),
      ]
    )
  }
}
