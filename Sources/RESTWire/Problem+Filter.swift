import Dossier
import JSON

extension Problem {
  /// What is wrong with a filter, and where.
  init(of error: FilterError) {
    self = Problem(.filterInvalid, "At byte \(error.position): \(error.detail)")
      .with("position", error.position)
      .with("rule", .string(error.rule.rawValue))
  }
}
