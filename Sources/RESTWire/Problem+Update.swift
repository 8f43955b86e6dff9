import Dossier
import JSON
import Operators

extension Problem {
  /// Creates the problem for a refused update, with MongoDB's error code.
  ///
  /// The pointer begins with the member of the body that contains the part.
  init(of error: OperatorError, in part: UpdatePart) {
    let filters = "/arrayFilters"
    let member =
      switch part {
      case .document: ""
      case .update: "/update"
      case .filter: "/filter"
      }
    let pointer =
      error.pointer.hasPrefix(filters)
      ? "/array_filters" + error.pointer.dropFirst(filters.count) : member + error.pointer
    self = Problem(.updateRefused)
      .at([Fault(pointer, error.code.name, error.detail)])
      .with("operator_code", error.code.rawValue)
      .with("operator_code_name", .string(error.code.name))
      .with("path", .string(error.path))
  }
}
