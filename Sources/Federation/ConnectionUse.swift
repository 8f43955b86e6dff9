package import EventLoop
package import OpenIDClient
import Records
import Runtime

/// The use of a connection by a request, for the log and the metrics.
@EventLoop package final class ConnectionUse: RequestPart {
  /// The name of the connection.
  package private(set) var connection: String
  package private(set) var preset: ProviderPreset
  package private(set) var outcome: Outcome

  /// The result of a sign-in at a service.
  package nonisolated enum Outcome: String, CaseIterable, Sendable {
    case signedIn = "signed_in"
    /// It has created a user.
    case signedUp = "signed_up"
    case linked
    /// A signed-in user has authenticated again.
    case reauthenticated
    /// The user has to take another step: a second factor, or a sign-in to the account with the
    /// same address.
    case pending
    case cancelled
    /// The account, the user or what an app has sent is not accepted.
    case refused
    /// The service has answered with an error, or against a rule.
    case failed
    /// The service does not answer, refuses the app, or this server cannot answer.
    case unavailable

    fileprivate init(_ failure: Failure) {
      self =
        switch failure {
        case .connectionFailed: .failed
        case .additionalFactorRequired: .pending
        case .accountExists where failure["flow"] != nil: .pending
        default:
          switch failure.type.kind {
          case .unavailable, .internal: .unavailable
          default: .refused
          }
        }
    }
  }

  private init(_ connection: Connection, _ outcome: Outcome) {
    (self.connection, preset, self.outcome) = (connection.key, connection.preset, outcome)
  }

  /// Notes the outcome of a sign-in, in place of an earlier one of the same request.
  static func note(_ outcome: Outcome, at connection: Connection, _ context: RequestContext) {
    let new = ConnectionUse(connection, outcome)
    guard let known = context.part(ConnectionUse.self) else { return context.keep(new) }
    (known.connection, known.preset, known.outcome) = (new.connection, new.preset, outcome)
  }

  /// Runs a step of a sign-in, and notes its failure.
  static func noteFailure<Value>(
    at connection: Connection, _ context: RequestContext,
    _ work: @EventLoop () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(Failure) { return try await work() } catch {
      note(Outcome(error), at: connection, context)
      throw error
    }
  }
}

extension RequestContext {
  /// Returns the service of a connection for a sign-in; as `Upstream.provider`.
  func provider(of connection: Connection) async throws(Failure) -> Provider {
    try await ConnectionUse.noteFailure(at: connection, self) { () async throws(Failure) in
      try await upstream.provider(of: connection)
    }
  }
}
