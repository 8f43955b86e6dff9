import Dossier
import JSON

extension Problem {
  /// Creates the problem for a filter with a syntax error.
  init(of error: FilterError) {
    self = Problem(.filterInvalid, "At byte \(error.position): \(error.detail)")
      .with("position", error.position)
      .with("rule", .string(error.rule.rawValue))
  }
}
