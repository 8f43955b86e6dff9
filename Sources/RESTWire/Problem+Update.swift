import Dossier
import HTTP
import JSON
import Operators

extension Problem {
  /// Why an update by operators is refused, with MongoDB's code, which its clients know.
  ///
  /// `member` is the one of the body that the error's pointer leads into.
  init(_ error: OperatorError, in member: String) {
    self.init(type: .updateRefused)
    let filters = "/arrayFilters"
    let pointer =
      error.pointer.hasPrefix(filters)
      ? "/array_filters" + error.pointer.dropFirst(filters.count) : member + error.pointer
    errors = [Fault(pointer, error.code.name, error.detail)]
    extensions = [
      ("operator_code", .number(JSONNumber(error.code.rawValue))),
      ("operator_code_name", .string(error.code.name)), ("path", .string(error.path)),
    ]
  }
}
