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

  var importFaults: [Fault] { type == .invalid ? faults : [importFault] }

  var importFault: Fault {
    switch self {
    case .identityTaken:
      Fault(
        "",
        "identity_taken",
        "Another user has just been given this identity. Import the line again."
      )
    case .documentTooLarge:
      Fault("", "document_size", "The document is too large in the form that the database stores.")
    default:
      Fault("", "refused", "The database refuses the row\(report.map { ": \($0)" } ?? ".")")
    }
  }
}
