import Operators

extension ServiceError {
  /// Creates the error of a query, an update or a stage.
  init(_ error: OperatorError) {
    let place = error.path.isEmpty ? error.pointer : error.path
    self = .mongo(error.code.name, error.detail, at: place)
  }

  /// Returns an error in MongoDB's form.
  static func mongo(_ code: String, _ detail: String, at place: String) -> ServiceError {
    database("(\(code)) \(detail)\(place.isEmpty ? "" : " At \(place)")")
  }
}
