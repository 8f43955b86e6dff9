import Accounts
package import EventLoop
package import JSON
import Postgres
package import Runtime
import RateLimiting
import Tenancy

/// The permission of a user for one link, which a browser shows in place of the access token.
///
/// A page asks for it with the access token, and then opens a URL with it. So the URL has no token. A
/// stranger can send such a URL, so the user must confirm the link there.
@EventLoop package enum LinkTicket {
  /// The user reads a page meanwhile.
  private nonisolated static let lifetime = Duration.seconds(300)

  /// Returns a new ticket, which can be used once, within five minutes.
  ///
  /// - Parameters:
  ///   - content: what the ticket keeps for its use.
  ///   - user: the user of the session.
  ///   - context: the context of the request.
  /// - Returns: the ticket, encrypted.
  /// - Throws: `.tooManyRequests`, `.databaseUnavailable`.
  package static func issue(
    _ content: JSONObject, to user: UserID, _ context: RequestContext
  ) async throws(Failure) -> String {
    try await RateLimits.countChange(of: user, context)
    let flow = FlowID()
    _ = try await context.write(
      LinkTicketQueries.issue, FlowPlace(of: user), context.app.id, flow, lifetime)
    let ticket = JSONObject([
      ("flow", .string(flow.text)), ("user", .string(user.text)), ("content", .object(content)),
    ])
    return try context.keys.master.sealedText(ticket, as: name(context), for: lifetime)
  }

  /// Returns what a ticket keeps, and does not use it up; nil if it is forged or expired.
  package static func content(of text: String, _ context: RequestContext) -> JSONObject? {
    opened(text, context)?["content"]?.object
  }

  /// Uses a ticket up.
  ///
  /// - Returns: what it has kept; nil if it is forged, used or expired.
  /// - Throws: `.databaseUnavailable`.
  package static func use(
    _ text: String, _ context: RequestContext
  ) async throws(Failure) -> JSONObject? {
    guard let ticket = opened(text, context),
      let flow = ticket["flow"]?.string.flatMap({ FlowID($0) }),
      let user = ticket["user"]?.string.flatMap({ UserID($0) })
    else { return nil }
    let used = try await context.write(
      LinkTicketQueries.use, FlowPlace(of: user), context.app.id, flow)
    return used.isEmpty ? nil : ticket["content"]?.object
  }

  private static func opened(_ text: String, _ context: RequestContext) -> JSON? {
    guard let (ticket, hasExpired) = context.keys.master.openedText(text, as: name(context)),
      !hasExpired
    else { return nil }
    return ticket
  }

  private static func name(_ context: RequestContext) -> String { "link ticket \(context.app.id)" }
}

package enum LinkTicketQueries {
  static let issue = Statement<NoRow, FlowPlace, AppID, FlowID, Duration>(
    "link_tickets.issue",
    """
    insert into authentication_flows (place, app_id, flow_id, purpose, tries, expires_at)
    values ($1, $2, $3, 'link', 1, now() + $4::interval)
    """)

  /// Deletes a ticket; returns no row if it was used or has expired.
  static let use = Statement<FlowID, FlowPlace, AppID, FlowID>(
    "link_tickets.use",
    """
    delete from authentication_flows
    where place = $1 and app_id = $2 and flow_id = $3 and purpose = 'link' and email_key is null
      and expires_at > now()
    returning flow_id
    """)
}
