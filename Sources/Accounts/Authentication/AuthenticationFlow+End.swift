import EventLoop
package import Runtime
import Postgres

extension AuthenticationFlow {
  /// Why a flow takes no code any more.
  package enum End: Sendable {
    case expired
    /// Too many wrong codes were entered.
    case tries
  }

  /// Returns why a flow accepts no more codes; nil if it accepts one.
  ///
  /// A flow that was used up counts as expired.
  /// - Throws: `.databaseUnavailable`.
  package static func end(
    of text: String, _ context: RequestContext
  ) async throws(Failure) -> End? {
    guard let credential = Credential(.flow, text, context.keys.master) else { return .expired }
    let left = try await context.readLatest(
      FlowQueries.tries, credential.part(as: FlowPlace.self), context.app.id,
      credential.owner(as: FlowID.self)
    )
    return left.first.map { $0 > 0 ? nil : .tries } ?? .expired
  }
}

extension FlowQueries {
  /// Returns how many tries a flow has left; no row if it has expired.
  static let tries = Statement<Int, FlowPlace, AppID, FlowID>(
    "flows.tries",
    """
    select tries::bigint from authentication_flows
    where place = $1 and app_id = $2 and flow_id = $3 and expires_at > now()
    """)
}
