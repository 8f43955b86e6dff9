package import EventLoop
package import JSON
package import Postgres

/// An audit event.
///
/// It describes the action and the user. The context of the request gives the actor and the origin.
package struct Event {
  private let action: String
  private let user: UserID?
  private let place: EventPlace?
  private let detail: JSON

  /// - Parameters:
  ///   - action: login, login_failure, session_end, link, unlink, password_change … as the docs
  ///     list them.
  ///   - user: the user it concerns; nil for an event of the app.
  ///   - place: the session and the device it concerns; nil for those of the principal.
  ///   - detail: more facts; no secrets, no email addresses.
  package init(
    _ action: String, of user: UserID? = nil, at place: EventPlace? = nil, detail: JSON = [:]
  ) {
    self.action = action
    self.user = user
    self.place = place
    self.detail = detail
  }

  /// Creates the event of a refused login.
  ///
  /// - Parameters:
  ///   - provider: the kind of the credential.
  ///   - user: the owner of the credential; nil if unknown.
  package init(loginFailureBy provider: String, of user: UserID? = nil) {
    self.init("login_failure", of: user, detail: ["provider": .string(provider)])
  }

  /// Creates the event of a change of user data.
  ///
  /// Returns nil for a user's own change in an app that does not record these.
  @EventLoop package init?(changeOf what: String, of user: UserID, _ context: RequestContext) {
    if context.principal.session != nil, !context.app.eventSettings.recordsOwnChanges { return nil }
    let place = EventPlace(session: context.principal.session, device: nil)
    self.init("data_change", of: user, at: place, detail: ["what": .string(what)])
  }

  /// Sends the insert of the event in the transaction of the action.
  ///
  /// - Parameters:
  ///   - transaction: the transaction.
  ///   - app: the app of the event; nil for the app of the request.
  ///   - principal: the actor; nil for the principal of the request. An event of another user names
  ///     no user and no session.
  @EventLoop package func record(
    in transaction: Transaction, app: AppID? = nil, by principal: Principal? = nil
  ) {
    let context = transaction.context
    let app = app ?? context.app.id
    let isOfOther = context.principal.user != nil && user != nil && user != context.principal.user
    let principal = principal ?? (isOfOther ? .anyone : context.principal)
    let place = place ?? EventPlace(session: principal.session, device: principal.device)
    _ = transaction.send(
      EventQueries.record, user?.text ?? app.text, EventID(), app, action, principal.name,
      place.session, place.device, context.address.text, context.agent,
      TextBytes(detail.serialized())
    )
  }

  /// Records an event in a transaction of its own.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func record(
    app: AppID? = nil, by principal: Principal? = nil, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { record(in: $0, app: app, by: principal) }
  }
}

package enum EventQueries {
  /// Inserts an event; the first parameter is the user, or the app for an event without one.
  package static let record = Statement<
    NoRow, String, EventID, AppID, String, String, SessionID?, DeviceID?, String?, String?,
    TextBytes
  >(
    "events.record",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
    values ($1, $2, $3, $4, $5, $6, $7, $8::inet, $9, $10::jsonb)
    """)

  package static let all: [any PreparedStatement] = [record]
}

/// The session and the device that an event concerns.
package struct EventPlace {
  package let session: SessionID?
  package let device: DeviceID?

  package init(session: SessionID?, device: DeviceID?) {
    self.session = session
    self.device = device
  }
}

extension RequestContext {
  /// Runs a statement, and records an event of its result in the same transaction.
  ///
  /// - Parameters:
  ///   - action: the action of the event.
  ///   - statement: returns what it changed; nil if there is nothing to change.
  ///   - fact: returns the app of the event, and more facts.
  /// - Throws: `.notFound` if `statement` returns nil.
  package func act<Found>(
    _ action: String, _ statement: @EventLoop (Transaction) async throws(Failure) -> Found?,
    recording fact: @EventLoop (Found) -> (app: AppID, detail: JSON)
  ) async throws(Failure) {
    try await transaction { transaction async throws(Failure) in
      guard let found = try await statement(transaction) else { throw .notFound }
      let (app, detail) = fact(found)
      Event(action, detail: detail).record(in: transaction, app: app)
    }
  }
}
