import EventLoop
import JSON
package import Postgres
package import Runtime

/// How long access tokens of an app may be valid, in seconds.
struct TokenLifetimes {
  /// Those of sessions without a client of OpenID Connect.
  let native: Int
  let client: Int

  var longest: Int { max(native, client) }
}

/// An event that waits for its publication: one of the audit log, or what is only published.
///
/// The latter are changes of own data, and ends of sessions whose users were deleted.
package struct PendingEvent: RowDecodable {
  /// The user, or the app for an event without one.
  let owner: String
  let id: String
  let app: AppID
  /// The order of publication.
  let ordinal: Int
  let at: Timestamp
  let action: String
  /// Nil for the end of a session.
  let actor: String?
  let session: SessionID?
  let device: DeviceID?
  let detail: JSON
  /// Whether the audit log does not have it.
  let isOnlyPublished: Bool

  package init(from row: Row) throws(DatabaseError) {
    (owner, id, app) = (try row.text(0), try row.text(1), AppID(trusted: try row.text(2)))
    (ordinal, session) = (try row.int(ifAny: 3) ?? 0, row.id(ifAny: 4))
    if let what = row.text(ifAny: 5) {
      (at, isOnlyPublished) = (Timestamp(microseconds: ordinal), true)
      if what == "session_end" {
        (action, actor, detail) = (what, nil, try row.json(11))
      } else {
        var members = JSONObject([("what", .string(what))])
        members["version"] = try row.int(ifAny: 6).map { .number(JSONNumber($0)) }
        (action, actor, detail) = ("data_change", "user", .object(members))
      }
    } else {
      (at, isOnlyPublished) = (try row.time(7), false)
      (action, actor, detail) = (try row.text(8), try row.text(9), try row.json(11))
    }
    device = row.id(ifAny: 10)
  }

  var type: EventType? { EventType(action: action, detail) }

  /// The user that the event concerns, also after its events have moved to the app.
  var user: UserID? {
    if let former = detail["former_user"]?.string { return UserID(former) }
    return owner.hasSameBytes(as: app.text) ? nil : UserID(owner)
  }
}

/// A session that has ended and whose end is not published.
package struct EndedSession: RowDecodable {
  let user: UserID
  let id: String
  let device: DeviceID
  let client: String?
  let endedAt: Timestamp
  let reason: String?

  package init(from row: Row) throws(DatabaseError) {
    (user, id, device) = (try row.id(0), try row.text(1), try row.id(2))
    (client, endedAt, reason) = (row.text(ifAny: 3), try row.time(4), row.text(ifAny: 5))
  }
}

/// An event to append to a feed.
struct NewEvent: Sendable {
  let id: String
  let user: UserID?
  let type: EventType
  let at: Timestamp
  let data: JSON

  private init(
    _ id: String, _ user: UserID?, _ type: EventType, _ at: Timestamp, _ data: JSONObject
  ) {
    (self.id, self.user, self.type, self.at) = (id, user, type, at)
    self.data = .object(data)
  }

  /// The members of audit events that published ones have: ids, versions and words of this program.
  private static let details = [
    "reason", "version", "what", "provider", "client_id", "key_id", "purpose", "from", "merge_id",
    "linked_to", "unlinked_from",
  ]

  init(_ row: PendingEvent, _ type: EventType, _ app: App) {
    var data = JSONObject([("app", .string(app.name))])
    data["user_id"] = row.user.map { .string($0.text) }
    data["session_id"] = row.session.map { .string($0.text) }
    data["device_id"] = row.device.map { .string($0.text) }
    data["actor"] = row.actor.map(JSON.string)
    for name in Self.details {
      guard let value = row.detail[name] else { continue }
      if value.number != nil || (value.string?.utf8.count ?? .max) <= 255 { data[name] = value }
    }
    self.init(row.id, row.user, type, row.at, data)
  }

  init(_ session: EndedSession, _ app: App) {
    var data = JSONObject([
      ("app", .string(app.name)), ("user_id", .string(session.user.text)),
      ("session_id", .string(session.id)), ("device_id", .string(session.device.text)),
    ])
    data["client_id"] = session.client.map(JSON.string)
    data["reason"] = session.reason.map(JSON.string)
    self.init(session.id, session.user, .sessionEnded, session.endedAt, data)
  }

  /// Creates the item that verifiers of tokens read about an audit event; nil for one that ends none.
  init?(refusalOf row: PendingEvent, _ lifetimes: TokenLifetimes) {
    var data = JSONObject()
    switch row.type {
    case .userDeleted:
      guard let user = row.user else { return nil }
      data["sub"] = .string(user.text)
      data["before"] = .number(JSONNumber(row.at.seconds + 1))
      data["until"] = .number(JSONNumber(row.at.seconds + lifetimes.longest))
    case .keyRemoved:
      guard let key = row.detail["key_id"] else { return nil }
      data["kid"] = key
    default: return nil
    }
    self.init(row.id, row.user, row.type ?? .userDeleted, row.at, data)
  }

  /// Creates the item of a session, which verifiers refuse until its last token has expired.
  init(refusalOf session: EndedSession, _ lifetimes: TokenLifetimes) {
    let lifetime = session.client == nil ? lifetimes.native : lifetimes.client
    let until = session.endedAt.seconds + lifetime + 1
    self.init(
      session.id, session.user, .sessionEnded, session.endedAt,
      JSONObject([("sid", .string(session.id)), ("until", .number(JSONNumber(until)))]))
  }
}

/// The place of an event in a feed.
package struct EventPlaceInFeed: RowDecodable {
  let id: String
  let position: Int
  package init(from row: Row) throws(DatabaseError) {
    (id, position) = (try row.text(0), try row.int(1))
  }
}

package enum PublisherQueries {
  /// Returns the oldest events that wait, of all shards: those of the log, and what is only published.
  ///
  /// One statement, as a user's events of both tables are then seen at one moment, so that none is
  /// published before an earlier one. Served by `audit_pending` and by a primary key.
  /// - Parameter 1: how many.
  /// - Parameter 2: the apps whose events are left out.
  package static let pending = Statement<PendingEvent, Int, TextArray>(
    "events.pending",
    """
    select user_id, event_id, app_id, ordinal, session_id, what, version, at, action, actor,
      device_id, detail
    from (
      select user_id, event_id, app_id, ordinal, session_id, null::text collate "C" as what,
        null::bigint as version, at, action, actor, device_id, detail
      from audit where pending and app_id <> all ($2::text[])
      union all
      select user_id, event_id, app_id, ordinal, session_id, what, version, null::timestamptz,
        null::text collate "C", null::text collate "C", device_id, detail
      from unpublished_changes where app_id <> all ($2::text[])) waiting
    order by ordinal, event_id limit $1::bigint
    """)

  /// Returns the time of the oldest event of the log that waits, in microseconds; no row if none does.
  package static let oldest = Statement<Int>(
    "events.oldest",
    "select min(ordinal) from audit where pending having min(ordinal) is not null")

  /// Returns the same of the changes that are only published.
  package static let oldestChange = Statement<Int>(
    "events.oldest_change",
    "select min(ordinal) from unpublished_changes having min(ordinal) is not null")

  /// Returns the sessions of an app that have ended since a time and are not published.
  ///
  /// Served by `sessions_unpublished`.
  package static let ended = Statement<EndedSession, AppID, Timestamp, Int>(
    "events.ended_sessions",
    """
    select user_id, session_id, device_id, client_id, ended_at, end_reason from sessions
    where app_id = $1 and ended_at >= $2::timestamptz
      and ended_at is not null and revocation_position is null
    order by ended_at, session_id limit $3::bigint
    """)

  /// Takes or keeps the lease; returns no row if another worker has it for longer than a time.
  ///
  /// - Parameter 3: for how long.
  /// - Parameter 5: that time.
  package static let lease = Statement<Int, String, String, Duration, ServerTime, Duration>(
    "events.lease",
    """
    insert into event_feeds as f (feed_id, holder, leased_until)
    values ($1, $2, $4::timestamptz + $3::interval)
    on conflict (feed_id) do update set holder = excluded.holder,
      leased_until = excluded.leased_until
    where f.holder = excluded.holder or f.leased_until < \(.sum("$4::timestamptz", "$5::interval"))
    returning 1
    """)

  package static let create = Statement<NoRow, String>(
    "events.create_feed", "insert into event_feeds (feed_id) values ($1) on conflict do nothing"
  )

  package static let start = Statement<Timestamp, String>(
    "events.start_of_feed", "select created_at from event_feeds where feed_id = $1"
  )

  /// Locks a feed, and returns its last position.
  package static let lock = Statement<Int, String>(
    "events.lock_feed", "select last_position from event_feeds where feed_id = $1 for update"
  )

  /// Returns those of some events that a feed has.
  package static let present = Statement<EventPlaceInFeed, String, TextArray>(
    "events.present",
    """
    select event_id, position from feed_events
    where feed_id = $1 and event_id = any ($2::text[])
    """)

  /// Appends events at the positions after the last one.
  ///
  /// - Parameters:
  ///   - 2: the last position.
  ///   - 4: the users; an empty text for none.
  package static let append = Statement<
    NoRow, String, Int, TextArray, TextArray, TextArray, TextArray, TextArray
  >(
    "events.append",
    """
    insert into feed_events (feed_id, position, event_id, user_id, type, at, data)
    select f.feed_id, $2::bigint + e.place, e.id, nullif(e.owner, ''), e.type, e.at::timestamptz,
      e.data::jsonb
    from event_feeds f,
      unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
        as e (id, owner, type, at, data, place)
    where f.feed_id = $1
    """)

  package static let advance = Statement<NoRow, String, Int>(
    "events.advance", "update event_feeds set last_position = $2 where feed_id = $1"
  )

  /// Marks events of a user as published.
  package static let settle = Statement<NoRow, String, TextArray>(
    "events.settle", "select settle_events($1, $2::text[])"
  )

  /// Removes changes that are published, of all shards.
  package static let removeChanges = Statement<NoRow, NumberArray, TextArray, TextArray>(
    "events.remove_changes",
    """
    delete from unpublished_changes c
    using unnest($1::bigint[], $2::text[], $3::text[]) as e (ordinal, owner, id)
    where c.ordinal = e.ordinal and c.user_id = e.owner and c.event_id = e.id
    """)

  package static let settleSession = Statement<NoRow, UserID, String, Int>(
    "events.settle_session",
    """
    update sessions set revocation_position = $3
    where user_id = $1 and session_id = $2 and revocation_position is null
    """)

  /// Returns the longest lifetime of access tokens of the clients of an app, in seconds.
  package static let longestToken = Statement<Int, AppID>(
    "events.longest_token",
    """
    select greatest(86400, max((attributes ->> 'token_seconds')::bigint)) from resource_servers
    where app_id = $1
    """)
}
