import Dossier

/// The reason why a command failed, and the exit status of the process.
struct CommandFailure: Error {
  /// Lines for standard error.
  let reason: String
  let status: ExitStatus

  init(_ reason: String, _ status: ExitStatus) { (self.reason, self.status) = (reason, status) }

  /// Creates the error for a database or a master key that the workers could not use.
  init(_ fault: ReadinessCheck.Fault) {
    switch fault.check {
    case .database:
      self.init("PostgreSQL cannot be reached: \(fault.reason)", .cannotConnect)
    case .masterKey: self.init(fault.description, .configuration)
    case .pooler, .readOnly, .schema, .grants, .app, .writes:
      self.init(fault.description, .notReady)
    }
  }
}
