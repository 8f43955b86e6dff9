package import EventLoop
package import Postgres
package import Runtime
import Sessions

/// A live session of a user, as the account page lists it.
package struct AccountSession: RowDecodable {
  package let id: SessionID
  let device: DeviceID
  /// The device of the pages at which a client got it; nil for a sign-in of the user.
  let browser: DeviceID?
  /// The name of the client whose session it is; nil for a sign-in of the user.
  package let client: String?
  package let address: String?
  package let agent: String?
  package let createdAt: Timestamp
  let refreshedAt: Timestamp
  /// Whether support sees the account in it.
  package let isOfSupport: Bool
  /// The sessions that clients got from this one.
  package fileprivate(set) var ofClients: [AccountSession] = []

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    device = try row.id(1)
    browser = row.id(ifAny: 2)
    client = row.text(ifAny: 3)
    address = row.text(ifAny: 4)
    agent = row.text(ifAny: 5)
    createdAt = try row.time(6)
    refreshedAt = try row.time(7)
    isOfSupport = try row.text(8) == "support"
  }

  /// The last refresh of the session, or of a client's session in its browser.
  package var usedAt: Timestamp {
    let times = [refreshedAt.microseconds] + ofClients.map(\.refreshedAt.microseconds)
    return Timestamp(microseconds: times.max() ?? 0)
  }
}

/// The sessions of the user of a request.
@EventLoop package enum AccountSessions {
  /// How many sessions are listed.
  private nonisolated static let most = 300

  /// Returns the caller's live sessions, the newest first, each with those that clients got from it.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [AccountSession] {
    var batch = ReadBatch()
    let read = addList(of: user, to: &batch, context)
    return try read(await context.read(batch))
  }

  /// Adds the same read to a batch; it throws as `list` does.
  package static func addList(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<[AccountSession]> {
    let place = batch.add(AccountSessionQueries.list, user, context.principal, most)
    return { (results) throws(Failure) in
      grouped(try Found<AccountSession>.items(results.rows(place)).orGone(context))
    }
  }

  /// Puts the sessions that clients got from others below these.
  private static func grouped(_ all: [AccountSession]) -> [AccountSession] {
    let known = Set(all.filter { $0.browser == nil }.map(\.device))
    func isBelow(_ session: AccountSession) -> Bool { session.browser.map(known.contains) ?? false }
    let below = Dictionary(grouping: all.filter(isBelow), by: \.browser)
    return all.filter { !isBelow($0) }.map { session in
      var session = session
      session.ofClients = session.browser == nil ? below[session.device] ?? [] : []
      return session
    }
  }

  /// Ends a session of the caller, and those that clients got in its browser.
  ///
  /// - Parameters:
  ///   - session: the session; nothing happens if it is not the user's.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func end(
    _ session: SessionID, by user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let ending = UserSessions.Ending(session, sessions: true, refreshTokens: true)
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      try await UserSessions.end(ending, of: user, in: transaction)
    }
  }
}

package enum AccountSessionQueries {
  /// Returns at least one row if the session of the caller is live.
  ///
  /// Served by `sessions_live`: ids sort by time.
  static let list = Statement<Found<AccountSession>, UserID, Principal, Int>(
    "account_sessions.list",
    """
    select s.session_id, s.device_id, s.browser_id, coalesce(n.name, s.client_id), host(s.address), s.agent,
      s.created_at, s.refreshed_at, s.style
    from users c
    left join lateral (
      select s.session_id, s.app_id, s.device_id, s.browser_id, s.client_id, s.address, s.agent,
        s.created_at, s.refreshed_at, s.style
      from sessions s
      where s.user_id = $1 and s.ended_at is null and s.expires_at > now()
      order by s.session_id desc limit $3::bigint
    ) s on true
    left join clients n on n.client_id = s.client_id and n.app_id = s.app_id
    where \(.isAuthorized)
    order by s.session_id desc
    """)
}
