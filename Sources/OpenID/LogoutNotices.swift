package import Delivery
package import EventLoop
import JSON
package import Outbound
package import Postgres
package import Runtime
import Sessions

/// Tells clients, from server to server, that a session of theirs has ended.
///
/// - Source: OpenID Connect Back-Channel Logout 1.0.
@EventLoop package enum LogoutNotices {
  /// The kind of their rows in the outbox.
  package nonisolated static let kind = "logout"
  /// How long delivery is attempted.
  private nonisolated static let patience = Duration.seconds(3_600)

  /// Queues a message for each session whose client wants to know of its end.
  static func queue(
    _ sessions: [ToldSession],
    of user: UserID,
    by issuer: String,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    var foreign: String?
    for told in sessions {
      if told.knowsForeignIDs, foreign == nil {
        foreign = try await ForeignIDs.id(of: user, context)
      }
      let id = MailID()
      let json: JSON = [
        "url": .string(told.url), "client": .string(told.client.text),
        "user": .string(user.text),
        "subject": .string(told.knowsForeignIDs ? foreign ?? user.text : user.text),
        "session": .string(told.session.text),
        "issuer": .string(issuer),
      ]
      let sealed: [UInt8]
      do {
        sealed = try context.keys.master.sealed(json.serialized(), as: QueuedMail.name(id))
      } catch {
        throw .internalError("a message cannot be sealed")
      }
      _ = try await transaction.run(
        OutboxQueries.add,
        id,
        context.app.id,
        kind,
        BinaryBytes(sealed),
        patience
      )
    }
    if !sessions.isEmpty { context.wakeDelivery() }
  }

  /// Sends a queued message.
  ///
  /// - Throws: `.clientUnreachable` if the client has not accepted it, and may later.
  package static func send(
    _ due: DueRow,
    _ context: RequestContext
  ) async throws(Failure) -> OutboxWorker.HandledRow {
    guard
      let opened = try? context.keys.master.opened(due.sealed, as: QueuedMail.name(due.id)),
      let json = try? JSON.parse(opened), let url = json["url"]?.string,
      let client = json["client"]?.string.flatMap({ ClientID($0) }),
      let user = json["user"]?.string.flatMap({ UserID($0) }),
      let subject = json["subject"]?.string,
      let session = json["session"]?.string.flatMap({ SessionID($0) }),
      let issuer = json["issuer"]?.string
    else { throw .internalError("it cannot be opened with this master key") }
    let token = try await TokenIssue.logoutToken(
      of: session,
      user,
      known: subject,
      for: client,
      by: issuer,
      app: due.app,
      context
    )
    let source = context.dependencies[LogoutSender.self].source
    do throws(FetchError) {
      // A token has no character that a form encodes.
      try await source.post("logout_token=\(token)", to: url)
    } catch {
      // The client has read the message, and will not accept it later either.
      if case .status(400) = error { return .finished }
      throw .clientUnreachable("\(error)")
    }
    return .finished
  }
}

/// Sends messages to clients.
@EventLoop package final class LogoutSender: DomainService {
  let source: HTTPSource

  package init(_ source: HTTPSource) { self.source = source }
}

/// A live session of a client that wants to know of its end.
struct ToldSession: RowDecodable {
  let session: SessionID
  let client: ClientID
  let url: String
  /// Whether the client knows users by their foreign ids.
  let knowsForeignIDs: Bool

  init(from row: Row) throws(DatabaseError) {
    session = SessionID(trusted: try row.text(0))
    client = ClientID(trusted: try row.text(1))
    url = try row.text(2)
    knowsForeignIDs = try row.bool(3)
  }
}

package enum LogoutNoticeQueries {
  /// Returns the live sessions below one of the pages whose client has a URL for messages.
  static let told = Statement<ToldSession, UserID, String>(
    "logout_notices.told",
    """
    select s.session_id, s.client_id, c.settings ->> 'backchannel_logout_url',
      c.settings ->> 'claims_profile' is not distinct from 'auth0'
    from sessions s join clients c on c.client_id = s.client_id and c.disabled_at is null
    where s.user_id = $1 and s.parent_id = $2 and s.ended_at is null and s.expires_at > now()
      and c.settings ->> 'backchannel_logout_url' <> ''
    """
  )

  package static let all: [any PreparedStatement] = [told]
}
