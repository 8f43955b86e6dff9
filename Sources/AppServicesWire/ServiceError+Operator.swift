import Operators

extension ServiceError {
  /// Creates the error of a query, an update or a stage, in MongoDB's form.
  init(_ error: OperatorError) {
    let place = error.path.isEmpty ? error.pointer : error.path
    self = .database("(\(error.code.name)) \(error.detail)\(place.isEmpty ? "" : " At \(place)")")
  }
}
