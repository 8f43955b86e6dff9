package import EventLoop
package import JSON
package import Postgres

/// An audit event.
///
/// It describes the action and the user. The context of the request gives the actor and the origin.
package struct Event {
  private let action: String
  private let user: UserID?
  private let detail: JSON

  /// - Parameters:
  ///   - action: login, login_failure, session_end, link, unlink, password_change … as the docs
  ///     list them.
  ///   - user: the user it concerns; nil for an event of the app.
  ///   - detail: more facts; no secrets, no email addresses.
  package init(_ action: String, of user: UserID? = nil, detail: JSON = [:]) {
    self.action = action
    self.user = user
    self.detail = detail
  }

  /// Records the event in the transaction of the action.
  ///
  /// - Parameters:
  ///   - transaction: the transaction.
  ///   - app: the app of the event; nil for the app of the request.
  ///   - principal: the actor; nil for the principal of the request. An event of another user names
  ///     no user and no session.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func record(
    in transaction: Transaction,
    app: AppID? = nil,
    by principal: Principal? = nil,
    _ context: RequestContext
  ) async throws(Failure) {
    let app = app ?? context.app.id
    let isOfOther = context.principal.user != nil && user != nil && user != context.principal.user
    let principal = principal ?? (isOfOther ? .anyone : context.principal)
    _ = try await transaction.run(
      EventQueries.record,
      user?.text ?? app.text,
      EventID(),
      app,
      action,
      principal.name,
      principal.session,
      principal.device,
      context.address.text,
      context.agent,
      TextBytes(detail.serialized())
    )
  }

  /// Records an event in a transaction of its own.
  @EventLoop package func record(by principal: Principal? = nil, _ context: RequestContext)
    async throws(Failure)
  {
    try await context.transaction { (transaction) async throws(Failure) in
      try await record(in: transaction, by: principal, context)
    }
  }
}

/// The event of a change of user data, which the changing statement passes to `record_change`.
package struct DataChange: Bindable {
  private let json: JSON

  /// Returns nil for a user's own change in an app that does not record these.
  @EventLoop package init?(of what: String, _ context: RequestContext) {
    let principal = context.principal
    if principal.session != nil, !context.app.eventSettings.recordsOwnChanges { return nil }
    json = [
      "what": .string(what), "actor": .string(principal.name),
      "session": principal.session.map { .string($0.text) } ?? .null,
      "address": context.address.text.map(JSON.string) ?? .null,
      "agent": context.agent.map(JSON.string) ?? .null,
    ]
  }

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    TextBytes(json.serialized()).appendText(to: &bytes)
  }
}

package enum EventQueries {
  static let record = Statement<
    NoRow, String, EventID, AppID, String, String, SessionID?, DeviceID?, String?, String?,
    TextBytes
  >(
    "events.record",
    """
    select record_event($1, $3, $4, $5, $6, $7, $8::inet, $9, $10::jsonb, $2)
    """
  )

  /// Records a change that takes several statements, in their transaction.
  package static let recordChange = Statement<NoRow, UserID, AppID, DataChange?>(
    "events.record_change",
    "select record_change($1, $2, $3::jsonb)"
  )

  package static let all: [any PreparedStatement] = [record, recordChange]
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
    _ action: String,
    _ statement: @EventLoop (Transaction) async throws(Failure) -> Found?,
    recording fact: @EventLoop (Found) -> (app: AppID, detail: JSON)
  ) async throws(Failure) {
    try await transaction { transaction async throws(Failure) in
      guard let found = try await statement(transaction) else { throw .notFound }
      let (app, detail) = fact(found)
      try await Event(action, detail: detail).record(in: transaction, app: app, self)
    }
  }
}
