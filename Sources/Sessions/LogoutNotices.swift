import Delivery
package import EventLoop
import IdentitySubjects
import JSON
import Postgres
package import Runtime
import Tenancy

/// Logout notices to OpenID Connect clients whose session has ended.
///
/// Statements that end a session queue nothing: `sessions.notifies` marks the sessions whose client
/// must get a notice.
/// - Source: OpenID Connect Back-Channel Logout 1.0.
@EventLoop package enum LogoutNotices {
  /// The kind of their rows in the outbox.
  package nonisolated static let kind = "logout"
  /// How long delivery is attempted.
  private nonisolated static let deliveryTimeout = Duration.seconds(3_600)

  /// Queues the messages about sessions that have ended.
  ///
  /// A locked user delays the messages about others only for the wait for the lock.
  /// - Returns: whether there may be more to queue.
  /// - Throws: the first failure, such as `.databaseUnavailable`, after the other users.
  package static func collect(_ context: RequestContext) async throws(Failure) -> Bool {
    var seen: Set<UserID> = []
    let all = try await context.read(
      LogoutNoticeQueries.due, LogoutNoticeQueries.page, on: .exclusive)
    var first: Failure?
    for due in all where seen.insert(due.user).inserted {
      do throws(Failure) {
        try await context.transaction { transaction async throws(Failure) in
          try await queue(of: due.user, app: due.app, in: transaction)
        }
      } catch {
        first = first ?? error
      }
    }
    if let first { throw first }
    return all.count == LogoutNoticeQueries.page
  }

  /// Queues the messages about the sessions of a user that have ended.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - app: the app of the user.
  ///   - isDeleted: whether the transaction deletes the user, which ends all others.
  ///   - transaction: the transaction.
  /// - Throws: `.databaseUnavailable`.
  package static func queue(
    of user: UserID, app: AppID, isDeleted: Bool = false, in transaction: Transaction
  ) async throws(Failure) {
    var clients: [ClientID: Client?] = [:]
    for row in try await transaction.run(LogoutNoticeQueries.take, user, isDeleted) {
      guard let ended = row.session else {
        transaction.context.mailer.report(
          "no logout notice about the session \(row.id): its row has no client or no issuer"
        )
        continue
      }
      if clients[ended.client] == nil {
        clients[ended.client] = try await Clients.known(ended.client, of: app, in: transaction)
      }
      // A client that has ended the session itself knows of it.
      guard ended.reason != "revoked_by_client", let client = clients[ended.client] ?? nil,
        let url = client.settings.backchannelLogoutURL
      else { continue }
      let json: JSON = [
        "url": .string(url), "client": .string(client.id.text), "user": .string(user.text),
        "subject": .string(try await client.subject(of: user, in: transaction)),
        "session": .string(ended.session.text), "issuer": .string(ended.issuer),
      ]
      try transaction.queue(json, kind, to: client.id.text, of: app, for: deliveryTimeout)
    }
  }
}

/// A user with ended sessions whose clients must get a message.
struct DueNotices: RowDecodable {
  let user: UserID
  let app: AppID

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    app = try row.id(1)
  }
}

/// A session whose client must get a message.
struct EndedClientSession {
  let session: SessionID
  let client: ClientID
  let issuer: String
  let reason: String
}

/// The row of a session whose client must get a message.
struct EndedSessionRow: RowDecodable {
  let id: SessionID
  /// Nil if a client or an issuer is missing, which only a change by SQL can cause.
  let session: EndedClientSession?

  init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    let (client, issuer): (ClientID?, String?) = (row.id(ifAny: 1), row.text(ifAny: 2))
    guard let client, let issuer else {
      session = nil
      return
    }
    session = EndedClientSession(
      session: id, client: client, issuer: issuer, reason: try row.text(3)
    )
  }
}

package enum LogoutNoticeQueries {
  /// The users that are read at once.
  static let page = 100

  /// Returns users with sessions that have ended, and whose clients must get a message.
  ///
  /// It asks all shards. Served by `sessions_to_notify`.
  static let due = Statement<DueNotices, Int>(
    "logout_notices.due",
    """
    select user_id, app_id from sessions where notifies and ended_at is not null
    order by ended_at limit $1::bigint
    """)

  /// Takes the sessions of a user whose clients must get a message.
  ///
  /// - Parameter 2: whether to take live sessions too.
  static let take = Statement<EndedSessionRow, UserID, Bool>(
    "logout_notices.take",
    """
    update sessions set notifies = false
    where user_id = $1 and notifies
      and (ended_at is not null or $2::boolean and expires_at > now())
    returning session_id, client_id, issuer, coalesce(end_reason, '')
    """)
}
