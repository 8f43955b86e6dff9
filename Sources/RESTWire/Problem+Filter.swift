import Dossier
import HTTP
import JSON

extension Problem {
  /// What is wrong with a filter, and where.
  init(_ error: FilterError) {
    self.init(type: .filterInvalid, detail: "At byte \(error.position): \(error.detail)")
    extensions = [
      ("position", .number(JSONNumber(error.position))), ("rule", .string(error.rule.rawValue)),
    ]
  }
}
