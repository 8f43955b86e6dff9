extension Failure {
  /// Whether the failure concerns one row, so that other rows can still be written.
  var isOfOneRow: Bool {
    switch self {
    case .unavailable, .overloaded, .preconditionFailed: false
    default: true
    }
  }

  var faults: [Fault] {
    if case .invalid(let faults) = self { return faults }
    return [importFault]
  }

  var importFault: Fault {
    switch self {
    case .identityTaken: Fault("", "identity_taken", "Another user has just come by this identity.")
    case .documentTooLarge:
      Fault("", "document_size", "A document is too large as the database writes it.")
    case .unforeseen(let reason): Fault("", "refused", "The database refuses the row: \(reason)")
    default: Fault("", "refused", "The database refuses the row.")
    }
  }
}
