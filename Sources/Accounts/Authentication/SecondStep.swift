import Runtime
import Sessions
import EventLoop

/// The second step of a sign-in: a code, and the credential that its flow has kept.
@EventLoop final class SecondStep {
  let credential: VerifiedCredential
  /// The new recovery codes, once the step has enrolled a factor.
  private(set) var recoveryCodes: [String] = []
  private let flow: FlowID
  private let place: FlowPlace
  private let code: String
  /// Whether the code confirms a new factor.
  private let enrolls: Bool
  private let context: RequestContext

  /// Returns nil for a flow of another purpose.
  init?(
    _ row: FlowRow, of flow: FlowID, at place: FlowPlace, _ code: String, _ context: RequestContext
  ) {
    switch AuthenticationFlow.Purpose(rawValue: row.purpose) {
    case .secondFactor: enrolls = false
    case .enroll: enrolls = true
    default: return nil
    }
    guard let provider = row.provider, let evidence = row.evidence else { return nil }
    credential = VerifiedCredential(
      of: UserID(trusted: place.text), provider: provider, evidence: evidence,
      at: row.authenticatedAt
    )
    (self.flow, self.place, self.code, self.context) = (flow, place, code, context)
  }

  /// Verifies the code, and finishes the flow.
  ///
  /// - Returns: a function that waits, and throws `.invalidCode` if another request has finished it.
  func write(in transaction: Transaction) async throws(Failure) -> Completion {
    let user = credential.user
    if enrolls {
      try SecondFactors.requireOffered(context)
      let factors = try await SecondFactorFlow.lockedFactors(of: user, in: transaction)
      guard let factor = factors.first else { throw .invalidCode }
      recoveryCodes = try await SecondFactors.confirm(factor, by: code, of: user, in: transaction)
    } else {
      try await SecondFactors.use(code, of: user, in: transaction)
    }
    let finished = transaction.send(SecondFactorFlowQueries.finish, place, context.app.id, flow)
    return { () async throws(Failure) in try await finished.rows(undone: .invalidCode) }
  }
}
