import Accounts
import Documents
import Runtime

extension Failure {
  /// Whether the failure concerns one row, so that other rows can still be written.
  var isOfOneRow: Bool {
    switch self {
    case .databaseUnavailable, .overloaded, .preconditionFailed: false
    default: true
    }
  }

  var importFaults: [FieldError] { type == .invalid ? faults : [importFault] }

  var importFault: FieldError {
    switch self {
    case .identityTaken:
      FieldError(
        "", "identity_taken",
        "Another user has just been given this identity. Import the line again."
      )
    case .documentTooLarge:
      FieldError(
        "", "document_size", "The document is too large in the form that the database stores."
      )
    default:
      FieldError("", "refused", "The database refuses the row\(report.map { ": \($0)" } ?? ".")")
    }
  }
}
