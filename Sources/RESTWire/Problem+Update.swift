import Dossier
import JSON
import Operators

extension Problem {
  /// Why an update by operators is refused, with MongoDB's code, which its clients know.
  ///
  /// Its pointer leads into the member of the body that has that part.
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
