import Dossier
import JSON
import Operators

extension Problem {
  /// Why an update by operators is refused, with MongoDB's code, which its clients know.
  ///
  /// `member` is the one of the body that the error's pointer leads into.
  init(of error: OperatorError, in member: String) {
    let filters = "/arrayFilters"
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
