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
    .titled("The filter has no term on an indexed path.")
    .remedied(
      "Add a term on one of the paths in indexed to each branch of an or. Terms with != or "
        + "under not do not count. Or add an index with dossier index add."
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
  package static func notIndexed(_ paths: [String]) -> Failure {
    Failure(.notIndexed, members: [("indexed", .array(paths.map(JSON.string)))])
  }
}
