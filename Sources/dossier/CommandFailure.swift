import Runtime
import Tenancy
import JSON
import Postgres

/// The reason why a command failed, and the exit status of the process.
struct CommandFailure: Error {
  /// Lines for standard error.
  let reason: String
  let status: ExitStatus

  init(_ reason: String, _ status: ExitStatus) { (self.reason, self.status) = (reason, status) }

  /// Creates the error for a failure of the domain or the API, with the texts of its type.
  ///
  /// - Parameters:
  ///   - failure: the failure.
  ///   - path: the path of the request; nil without one.
  init(_ failure: Failure, at path: String? = nil) {
    var lines = [failure.type.title, failure.explanation]
    for fault in failure.faults.prefix(FieldError.limit) {
      lines.append(
        "\(fault.place.isEmpty ? "" : "\(fault.place): ")\(fault.detail) (\(fault.code))"
      )
    }
    if let offset = failure["offset"] { lines.append("At byte \(offset.text).") }
    if let paths = failure["indexed"]?.array {
      lines.append("Indexed: " + paths.compactMap(\.string).joined(separator: ", "))
    }
    lines += [failure.cause?.serverFault?.remedy, failure.report].compactMap(\.self)
    if let path, failure.type.kind == .notFound { lines.append("Path: \(path)") }
    self.init(lines.map(Table.visible).joined(separator: "\n"), ExitStatus(failure))
  }

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
