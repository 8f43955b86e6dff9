import Accounts
import Encoding
import EventLoop
import Imaging
package import JSON
import Postgres
package import Runtime
import Sessions
import Tenancy

/// The deletion of a user, as the ledger of erasures has it: ids and a time, no personal data.
///
/// A ledger is a file with one JSON object a line. It is kept beside the backups, since a restored
/// database has the users again who were deleted after the backup.
package struct Erasure: Sendable, Equatable {
  package let user: UserID
  /// The event of the deletion in the audit log.
  package let event: EventID
  /// When the user was deleted, as RFC 3339 has it.
  package let at: String
  /// The actor of the deletion.
  package let actor: String

  /// Reads an event of the audit log; nil for other events, and for users who were merged.
  package init?(event: JSON) {
    guard event["action"]?.string == "user_delete", event["detail"]?["linked_to"] == nil else {
      return nil
    }
    self.init(event["user_id"], event["id"], event["at"], event["actor"])
  }

  /// Parses a line of a ledger; nil for other bytes.
  package init?(line: [UInt8]) {
    guard line.count <= Self.longestLine, let json = try? JSON.parse(line),
      let members = json.object, members.count == 4
    else { return nil }
    self.init(members["user_id"], members["event_id"], members["at"], members["actor"])
  }

  /// The greatest number of bytes of a line.
  package static let longestLine = 1_024

  private init?(_ user: JSON?, _ event: JSON?, _ at: JSON?, _ actor: JSON?) {
    guard let user = user?.string.flatMap({ UserID($0) }),
      let event = event?.string.flatMap({ EventID($0) }),
      let at = at?.string, CalendarTime(at) != nil,
      let actor = actor?.string, (1...200).contains(actor.utf8.count),
      !actor.hasControlCharacters
    else { return nil }
    (self.user, self.event, self.at, self.actor) = (user, event, at, actor)
  }

  /// The line of the ledger, with its end.
  package var line: [UInt8] {
    let json: JSON = [
      "user_id": .string(user.text), "event_id": .string(event.text), "at": .string(at),
      "actor": .string(actor),
    ]
    return json.serialized() + [UInt8(ascii: "\n")]
  }

  /// The result of a replay of a line.
  package enum Outcome: String, CaseIterable, Sendable {
    /// The user was there again, and is deleted.
    case erased
    /// The user is not there.
    case absent
    /// The database has the deletion, so the user was created again after it.
    case createdAgain = "created_again"
    /// The user is an administrator of the console.
    case administrator
  }

  /// Deletes the user again, if the user is there and the database does not know the deletion.
  ///
  /// The user gets no email: the deletion was reported when it was made.
  /// - Parameter context: a context of the operator.
  /// - Returns: what was done.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func replay(_ context: RequestContext) async throws(Failure) -> Outcome {
    let found = try await context.read(ErasureQueries.app, user, event)
    guard let app = found.first else { return .absent }
    guard app.name == nil else { return .createdAgain }
    guard app.id != AppID.operators.text else { return .administrator }
    let id = AppID(trusted: app.id)
    // An import that takes the id moves the events of the former user to the app.
    guard try await context.read(ErasureQueries.moved, id, event).isEmpty else {
      return .createdAgain
    }
    let there = RequestContext(
      context.dependencies, app: try await context.apps.app(id),
      principal: Principal(operator: context.principal.person, in: id), agent: context.agent)
    var isThere = true
    let picture = try await there.transaction { transaction async throws(Failure) -> String? in
      _ = transaction.send(SessionsQueries.lockUser, user)
      isThere = try await !transaction.run(ErasureQueries.app, user, event).isEmpty
      guard isThere else { return nil }
      let facts = JSONObject([
        ("reason", .string("replay")), ("erased_at", .string(at)), ("erased_by", .string(actor)),
      ])
      return try await Users.remove(user, recording: facts, in: transaction)
    }
    if isThere { await Users.forgetEvents(of: user, there) }
    await there.pictures.shelf.forget(picture)
    return isThere ? .erased : .absent
  }
}

package enum ErasureQueries {
  /// Returns the app of a user, and the event of the deletion if the database has it.
  ///
  /// Served by the primary keys.
  static let app = Statement<NamedID, UserID, EventID>(
    "erasures.app",
    """
    select app_id, (select event_id from audit where user_id = $1 and event_id = $2)
    from users where user_id = $1
    """)

  /// Returns an event that was moved to the app.
  ///
  /// Served by the primary key.
  static let moved = Statement<EventID, AppID, EventID>(
    "erasures.moved", "select event_id from audit where user_id = $1 and event_id = $2")
}
