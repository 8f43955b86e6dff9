package import Tenancy
import EventLoop
import JSON
import Postgres
package import Runtime

/// Ends sessions, and records it.
extension Sessions {
  /// Ends the caller's session.
  ///
  /// The next request with any of its tokens is refused.
  ///
  /// - Throws: `.sessionEnded` if the session has already ended, `.databaseUnavailable`.
  package static func logout(
    _ user: UserID, next: NextActive = .mostRecent, _ context: RequestContext
  ) async throws(Failure) {
    let session = try context.principal.session.orGone(context)
    try await context.transaction { transaction async throws(Failure) in
      // A client that exchanges a code now runs before this, or finds the session ended.
      _ = transaction.send(SessionsQueries.lockUser, user)
      if next == .none { try await Devices.deactivate(user, in: transaction) }
      let ended = try await end(.one(session), of: user, "logout", in: transaction)
      guard !ended.isEmpty else { throw context.gone }
    }
  }

  /// Ends a session in the name of its user.
  package static func end(
    _ session: SessionID, of user: UserID, _ reason: String, _ context: RequestContext
  ) async throws(Failure) {
    let principal = Principal.user(of: context.app.id)
    _ = try await context.transaction { transaction async throws(Failure) in
      try await end(.one(session), of: user, reason, by: principal, in: transaction)
    }
  }

  /// Which sessions of a user end.
  package enum Ending {
    case all
    case one(SessionID)
    case others(than: SessionID?)
    /// The sessions that an API key has created.
    case opened(by: APIKeyID)
    /// The sessions in which the user has signed in by a provider, or by an address.
    case signedIn(by: IdentityProvider, sparing: SessionID?)
  }

  /// Ends sessions of a user in the transaction that causes it, and records them.
  ///
  /// The end of all sessions also removes the user from devices, except from that of the spared
  /// session. A blocked user stays on them, as an administrator can undo a block.
  /// - Parameters:
  ///   - which: the sessions.
  ///   - user: the user.
  ///   - reason: why they end.
  ///   - principal: the actor; nil for the principal of the request.
  ///   - transaction: the transaction.
  /// - Returns: the sessions that were not ended before.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult package static func end(
    _ which: Ending, of user: UserID, _ reason: String, by principal: Principal? = nil,
    in transaction: Transaction
  ) async throws(Failure) -> [SessionID] {
    var one: SessionID?
    var spared: SessionID?
    var key: APIKeyID?
    var provider: IdentityProvider?
    switch which {
    case .all: break
    case .one(let session): one = session
    case .others(let session): spared = session
    case .opened(let id): key = id
    case .signedIn(let name, let session): (provider, spared) = (name, session)
    }
    // Sessions are locked before places, as when a device forgets a user.
    let ending = transaction.send(SessionsQueries.end, user, one, spared, reason, key, provider)
    let leaving =
      one == nil && key == nil && provider == nil && reason != "blocked"
      ? transaction.send(SessionsQueries.leaveDevices, user, spared) : nil
    let ended = try await ending.rows()
    let principal = principal ?? transaction.principal
    for device in try await leaving?.rows() ?? [] {
      let place = EventPlace(session: nil, device: device)
      Event("device_remove", of: user, at: place)
        .record(in: transaction, by: principal)
    }
    recordEnds(ended, of: user, reason, by: principal, in: transaction)
    return ended.map(\.session)
  }

  /// Sends the events of sessions that the transaction has ended.
  package static func recordEnds(
    _ ended: [StandingSession], of user: UserID, _ reason: String, app: AppID? = nil,
    by principal: Principal? = nil, in transaction: Transaction
  ) {
    for session in ended {
      let place = EventPlace(session: session.session, device: session.device)
      Event("session_end", of: user, at: place, detail: ["reason": .string(reason)])
        .record(in: transaction, app: app, by: principal ?? transaction.principal)
    }
  }
}
