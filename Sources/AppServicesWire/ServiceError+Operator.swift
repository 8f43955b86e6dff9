import Operators

extension ServiceError {
  /// What a query, an update or a stage cannot do, as MongoDB would have told it.
  init(_ error: OperatorError) {
    let place = error.path.isEmpty ? error.pointer : error.path
    self = .database("(\(error.code.name)) \(error.detail)\(place.isEmpty ? "" : " At \(place)")")
  }
}
