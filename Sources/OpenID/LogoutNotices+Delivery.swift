package import Delivery
package import EventLoop
import JSON
package import Outbound
package import Runtime
package import Sessions

extension LogoutNotices {
  /// Sends a queued message.
  ///
  /// - Throws: `.internalError` if the message cannot be read, `.databaseUnavailable`.
  package static func send(
    _ due: DueRow, _ context: RequestContext
  ) async throws(Failure) -> OutboxWorker.HandledRow {
    guard
      let json = context.keys.master.openedJSON(due.sealed, as: QueuedMail.name(due.id)),
      let url = json["url"]?.string,
      let client = json["client"]?.string.flatMap({ ClientID($0) }),
      let user = json["user"]?.string.flatMap({ UserID($0) }),
      let subject = json["subject"]?.string,
      let session = json["session"]?.string.flatMap({ SessionID($0) }),
      let issuer = json["issuer"]?.string
    else { throw .internalError(reason: "it cannot be opened with this master key") }
    let token = try await TokenIssue.logoutToken(
      of: session, user, known: subject, for: client, by: issuer, app: due.app, context
    )
    let source = context.dependencies[LogoutSender.self].source
    let owner = CallOwner(app: due.app.text, receiver: client.text)
    do throws(FetchError) {
      // A token has no character that a form encodes.
      try await source.post("logout_token=\(token)", to: url, for: owner)
    } catch {
      // The client has read the message, and will not accept it later either.
      if case .status(400) = error { return .finished }
      return .unreachable(reason: "backchannel_logout_url did not accept it: \(error)")
    }
    return .finished
  }
}

/// Sends messages to clients.
@EventLoop package final class LogoutSender: DomainService {
  let source: HTTPSource

  package init(_ source: HTTPSource) { self.source = source }
}
