import EventLoop
import JSON
package import Postgres
import Records
package import Runtime
package import Tenancy

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
    /// The sessions that an API key or a passkey has created.
    case opened(by: IdentityID, sparing: SessionID?)
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
    var key: IdentityID?
    var provider: IdentityProvider?
    switch which {
    case .all: break
    case .one(let session): one = session
    case .others(let session): spared = session
    case .opened(let id, let session): (key, spared) = (id, session)
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

  /// Keeps the ends of a user's sessions that are not published, before the user is deleted.
  package static func keepUnpublishedEnds(of user: UserID, in transaction: Transaction) {
    guard transaction.app.events.all.contains(.sessionEnded) else { return }
    _ = transaction.send(SessionsQueries.keepUnpublishedEnds, user)
  }
}

extension Sessions {
  /// Ends all sessions of an app, or of the users of one issuer.
  ///
  /// It can be repeated after an interruption: ended sessions stay ended.
  /// - Parameters:
  ///   - app: the app.
  ///   - issuer: the operator's name for an issuer, or its `iss`; a removed one is known by its
  ///     `iss`. Nil for all users.
  ///   - context: the context of the request.
  ///   - progress: receives the numbers of users checked and of sessions ended so far.
  /// - Returns: the number of ended sessions.
  /// - Throws: `.notFound` if the issuer is unknown, `.databaseUnavailable`.
  @EventLoop package static func endAll(
    of app: AppID, issuer: String?, _ context: RequestContext,
    _ progress: @EventLoop (_ users: Int, _ sessions: Int) -> Void
  ) async throws(Failure) -> Int {
    var provider: String?
    if let issuer {
      let found = try await context.read(
        SessionsAdministrationQueries.provider, app, issuer, on: .search)
      guard let found = found.first else { throw .notFound }
      provider = found
    }
    let sessions = try await end(of: provider, in: app, "sessions_end", context, progress)
    var detail = JSONObject()
    detail["sessions"] = .number(JSONNumber(sessions))
    detail["issuer"] = issuer.map(JSON.string)
    try await Event("sessions_end", detail: .object(detail)).record(app: app, context)
    return sessions
  }

  /// Ends all sessions of a disabled client, and queues the messages about them.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop fileprivate static func endAll(
    of client: StoredClient, _ context: RequestContext
  ) async throws(Failure) {
    guard client.isDisabled, client.kind != .machine, let app = client.appID else { return }
    _ = try await end(client.id, of: nil, in: app, "client_disabled", context) { _, _ in }
  }

  /// Ends the sessions of the users of an app, and records them.
  ///
  /// - Parameters:
  ///   - client: ends only sessions of this client; nil for all.
  ///   - provider: ends only sessions of users with an identity of this provider; nil for all.
  ///   - app: the app.
  ///   - reason: why they end.
  ///   - context: the context of the request.
  ///   - progress: receives the numbers of users checked and of sessions ended so far.
  /// - Returns: the number of ended sessions.
  /// - Throws: `.databaseUnavailable`.
  private static func end(
    _ client: ClientID? = nil, of provider: String?, in app: AppID, _ reason: String,
    _ context: RequestContext, _ progress: @EventLoop (_ users: Int, _ sessions: Int) -> Void
  ) async throws(Failure) -> Int {
    var cursor: UserID?
    var (users, sessions) = (0, 0)
    repeat {
      let batch = try await context.read(
        SessionsAdministrationQueries.users, app, cursor, on: .exclusive)
      cursor = batch.last
      users += batch.count
      sessions += try await context.transaction { transaction async throws(Failure) in
        let sent = batch.map { user in
          // An exchange of a code runs before this, or finds its session ended.
          _ = transaction.send(SessionsQueries.lockUser, user)
          return transaction.send(
            SessionsAdministrationQueries.end, user, provider, client?.text, reason
          )
        }
        var count = 0
        for (user, sent) in zip(batch, sent) {
          let ended = try await sent.rows()
          recordEnds(ended, of: user, reason, app: app, in: transaction)
          count += ended.count
          // The client may be deleted next.
          if client != nil, !ended.isEmpty {
            try await LogoutNotices.queue(of: user, app: app, in: transaction)
          }
        }
        return count
      }
      progress(users, sessions)
    } while cursor != nil
    return sessions
  }
}

extension ClientRecord {
  /// Changes a client, and ends its sessions if the change disables it.
  ///
  /// It can be repeated after an interruption: the sessions of a disabled client end even if its
  /// version is another by then.
  /// - Returns: the client.
  /// - Throws: as `change`.
  @EventLoop @discardableResult package static func changeEndingSessions(
    _ key: String, of app: AppID?, by patch: RecordPatch,
    if condition: VersionCondition = VersionCondition(), _ context: RequestContext
  ) async throws(Failure) -> StoredClient {
    let client: StoredClient
    do throws(Failure) {
      client = try await change(key, of: app, by: patch, if: condition, context)
    } catch {
      if patch.members["disabled"] == true, error.is(.preconditionFailed) {
        try await Sessions.endAll(of: table.find(key, of: app, context), context)
      }
      throw error
    }
    if patch.members["disabled"] == true { try await Sessions.endAll(of: client, context) }
    return client
  }

  /// Disables a client, ends its sessions, and deletes it with its grants.
  ///
  /// It can be repeated after an interruption: the client stays disabled.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func deleteEndingSessions(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    let client = try await table.find(key, of: app, context)
    if client.kind != .machine, !client.isDisabled {
      let disabling = RecordPatch(JSONObject([("disabled", true)]))
      try await changeEndingSessions(key, of: app, by: disabling, context)
    } else {
      try await Sessions.endAll(of: client, context)
    }
    try await delete(key, of: app, context)
  }
}

package enum SessionsAdministrationQueries {
  /// Returns the identity provider of an issuer; no row if the issuer is unknown.
  static let provider = Statement<String, AppID, String>(
    "sessions.provider_of_issuer",
    """
    select 'jwt:' || issuer from issuers where app_id = $1 and (name = $2 or issuer = $2)
    union all
    (select provider from identity_subjects where app_id = $1 and provider = 'jwt:' || $2::text
      order by subject limit 1)
    limit 1
    """)

  /// Returns the next users, few enough that one transaction does not lock them for long.
  ///
  /// Served by `users_by_app`.
  static let users = Statement<UserID, AppID, UserID?>(
    "sessions.users",
    """
    select user_id from users
    where app_id = $1 and user_id > coalesce($2, '') order by user_id limit 50
    """)

  /// Ends the live sessions of a user and returns them.
  ///
  /// - Parameter 2: ends only those of a user with an identity of this provider; null for all.
  /// - Parameter 3: ends only those of this client; null for all.
  /// - Parameter 4: why they end.
  static let end = Statement<StandingSession, UserID, String?, String?, String>(
    "sessions.end_all",
    """
    update sessions s set ended_at = now(), end_reason = $4
    where s.user_id = $1 and s.ended_at is null and s.expires_at > now()
      and ($3::text is null or s.client_id = $3)
      and ($2::text is null or exists (
        select 1 from identities i where i.user_id = $1 and i.provider = $2))
    returning s.session_id, s.device_id
    """)
}

/// A live session, as its user sees it.
package struct SessionInfo: Listed {
  package let id: SessionID
  package let device: DeviceID
  /// The identity by which it was opened.
  package let provider: IdentityProvider
  package let address: String?
  package let agent: String?
  package let createdAt: Timestamp
  package let refreshedAt: Timestamp
  package let expiresAt: Timestamp

  package var cursor: SessionID { id }

  /// Reads a row of the view `live_sessions`.
  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    device = try row.id(1)
    provider = IdentityProvider(try row.text(2))
    address = row.text(ifAny: 3)
    agent = row.text(ifAny: 4)
    createdAt = try row.time(5)
    refreshedAt = try row.time(6)
    expiresAt = try row.time(7)
  }
}
