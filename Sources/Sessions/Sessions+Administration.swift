package import Runtime
import EventLoop
import JSON
package import Postgres
package import Tenancy

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
      let found = try await context.search(SessionsAdministrationQueries.provider, app, issuer)
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
    of client: ClientRecord, _ context: RequestContext
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
      let batch = try await context.readLatest(SessionsAdministrationQueries.users, app, cursor)
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

extension Clients {
  /// Disables a client, together with other changes, and ends its sessions.
  ///
  /// It can be repeated after an interruption: the sessions of a disabled client end even if its
  /// version is another by then.
  /// - Returns: the client.
  /// - Throws: as `change`.
  @EventLoop @discardableResult package static func disable(
    _ id: ClientID, with others: ClientChange = ClientChange(),
    if condition: VersionCondition = VersionCondition(), _ context: RequestContext
  ) async throws(Failure) -> ClientRecord {
    var disabling = others
    disabling.isDisabled = true
    let client: ClientRecord
    do throws(Failure) {
      client = try await change(id, disabling, if: condition, context)
    } catch {
      if error.type == .preconditionFailed {
        try await Sessions.endAll(of: record(of: id, context), context)
      }
      throw error
    }
    try await Sessions.endAll(of: client, context)
    return client
  }

  /// Disables a client, ends its sessions, and deletes it with its grants.
  ///
  /// It can be repeated after an interruption: the client stays disabled.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ id: ClientID, _ context: RequestContext
  ) async throws(Failure) {
    let client = try await record(of: id, context)
    if client.kind != .machine, !client.isDisabled {
      try await disable(id, context)
    } else {
      try await Sessions.endAll(of: client, context)
    }
    try await delete(id, context)
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

  package static let all: [any PreparedStatement] = [provider, users, end]
}
