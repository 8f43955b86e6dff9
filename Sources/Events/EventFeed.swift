package import EventLoop
import JSON
package import Postgres
package import Runtime
import Tenancy

/// Reads the feeds of an app.
package enum EventFeed {
  /// The longest lifetime that an access token may have.
  nonisolated static let longestToken = Duration.seconds(30 * 86_400)
  /// The most positions that a page looks at for events that match a filter.
  package nonisolated static let scanned = 10_000
  /// The most events on a page.
  package static let most = 1_000

  /// The id of the feed with what verifiers of tokens must refuse.
  package static func revocations(of app: AppID) -> String { "\(app.text)r" }

  /// Where a page begins.
  package enum Start: Sendable {
    case cursor(EventCursor)
    case now
    case oldest
    case time(Timestamp)
  }

  /// The conditions of a page.
  package struct Filter: Sendable {
    /// Nil for all types.
    package var types: EventTypes?
    package var user: UserID?
    /// Leaves out what verifiers may forget at this second.
    package var validAt: Int?

    package init() {}
  }

  package struct Page: Sendable {
    package let events: [FeedEvent]
    package let next: EventCursor
    package let hasMore: Bool
  }

  /// Returns events of a feed, in their order.
  ///
  /// `next` of an empty page is the newest position that it has looked at.
  /// - Parameters:
  ///   - feed: the id of the feed.
  ///   - start: where the page begins.
  ///   - filter: the conditions.
  ///   - count: from 1 to `most`.
  ///   - context: the context of the request.
  /// - Returns: the page.
  /// - Throws: `.cursorInvalid`, `.cursorExpired`, `.databaseUnavailable`.
  @EventLoop package static func page(
    of feed: String, from start: Start, _ filter: Filter = Filter(), count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Page {
    // Before the events: what it counts, they show.
    let (since, last) = try await position(of: start, in: feed, context)
    // A poll without news, which is frequent, needs no more.
    guard since < last else {
      return Page(events: [], next: EventCursor(since, of: feed), hasMore: false)
    }
    let names = filter.types.map { TextArray($0.names) }
    let end =
      filter.types == nil && filter.user == nil && filter.validAt == nil
      ? Int.max : since + scanned
    let events = try await context.read(
      FeedQueries.page, feed, since, end, names, filter.user?.text, filter.validAt, count,
      on: .large)
    let next =
      events.count == count
      ? events.last?.position ?? since : max(events.last?.position ?? since, min(end, last))
    return Page(
      events: events, next: EventCursor(next, of: feed), hasMore: next < last)
  }
}

extension EventFeed {
  /// Returns the position after which a page or a stream begins, and the last one of the feed.
  ///
  /// - Throws: `.cursorInvalid`, `.cursorExpired`, `.databaseUnavailable`.
  @EventLoop package static func position(
    of start: Start, in feed: String, _ context: RequestContext
  ) async throws(Failure) -> (since: Int, last: Int) {
    let ends = try await context.read(FeedQueries.ends, feed, on: .large).first
    let (last, oldest) = (ends?.last ?? 0, ends?.firstKept ?? 1)
    switch start {
    case .now: return (last, last)
    case .oldest: return (oldest - 1, last)
    case .time(let time):
      let first = try await context.read(FeedQueries.since, feed, time, on: .large).first
      return (first.map { $0 - 1 } ?? last, last)
    case .cursor(let cursor):
      guard cursor.position <= last else { throw .cursorInvalid }
      guard cursor.position >= oldest - 1 else {
        throw .cursorExpired(oldest: EventCursor(oldest - 1, of: feed).text(context))
      }
      return (cursor.position, last)
    }
  }
}

/// An event of a feed.
package struct FeedEvent: RowDecodable {
  package let position: Int
  package let id: String
  package let type: String
  package let at: Timestamp
  /// The members as JSON.
  package let data: [UInt8]
  /// The id of the user; empty for an event without one.
  package let user: String

  package init(from row: Row) throws(DatabaseError) {
    (position, id, type) = (try row.int(0), try row.text(1), try row.text(2))
    (at, data, user) = (try row.time(3), try row.bytes(4), try row.text(5))
  }
}

/// A position in a feed, which clients keep as an opaque text.
///
/// It does not tell how many events there are.
package struct EventCursor: Sendable {
  package let position: Int
  private let feed: String

  package init(_ position: Int, of feed: String) { (self.position, self.feed) = (position, feed) }

  /// Parses the text of a cursor of a feed; nil for any other text.
  package init?(_ text: String, of feed: String, _ master: MasterKey) {
    guard
      let position = MarkedCursor.numbers(of: text, for: Self.purpose(feed), count: 1, master)?[0],
      position >= 0
    else { return nil }
    self.init(position, of: feed)
  }

  package func text(_ master: MasterKey) -> String {
    MarkedCursor.text(of: [position], for: Self.purpose(feed), master)
  }

  @EventLoop package init?(_ text: String, of feed: String, _ context: RequestContext) {
    self.init(text, of: feed, context.keys.master)
  }

  @EventLoop package func text(_ context: RequestContext) -> String { text(context.keys.master) }

  private static func purpose(_ feed: String) -> String { "feed \(feed)" }
}

extension Failure {
  package static let cursorExpired = Failure("cursor_expired", .gone)
    .titled("Events after the cursor were removed.")
    .remedied("Read all users again, then continue with the cursor in oldest_cursor.")
  package static let feedDisabled = Failure("feed_disabled", .conflict)
    .titled("The app does not publish these events.")
    .remedied(
      "Enable it: dossier app set --app NAME event_feed=true or revocation_feed=true. "
        + "Workers know it after about 10 seconds.")

  static func cursorExpired(oldest: String) -> Failure {
    .cursorExpired(
      "Events are kept for event_feed_days.", members: [("oldest_cursor", .string(oldest))])
  }
}

/// The last position of a feed, and the first one that it has an event at.
package struct FeedEnds: RowDecodable {
  package let last: Int
  private let oldest: Int?

  /// The position of the oldest event, or that of the next one without any.
  package var firstKept: Int { oldest ?? last + 1 }

  package init(from row: Row) throws(DatabaseError) {
    (last, oldest) = (try row.int(0), try row.int(ifAny: 1))
  }
}

package enum FeedQueries {
  /// Served by the primary keys.
  package static let ends = Statement<FeedEnds, String>(
    "feeds.ends",
    """
    select f.last_position,
      (select min(e.position) from feed_events e where e.feed_id = $1)
    from event_feeds f where f.feed_id = $1
    """)

  /// Returns the last positions of some feeds, of all shards.
  package static let lasts = Statement<FeedPosition, TextArray>(
    "feeds.lasts", "select feed_id, last_position from event_feeds where feed_id = any ($1::text[])"
  )

  /// Returns the first position of an event since a time; no row without one.
  ///
  /// Served by `feed_events_by_time`.
  package static let since = Statement<Int, String, Timestamp>(
    "feeds.since",
    """
    select min(position) from feed_events where feed_id = $1 and at >= $2::timestamptz
    having min(position) is not null
    """)

  /// Returns the events after a position, up to another one.
  ///
  /// Served by the primary key.
  /// - Parameter 4: the types; null for all.
  /// - Parameter 5: the user; null for all.
  /// - Parameter 6: leaves out what ends before this second; null for nothing.
  package static let page = Statement<
    FeedEvent, String, Int, Int, TextArray?, String?, Int?, Int
  >(
    "feeds.page",
    """
    select position, event_id, type, at, data::text, coalesce(user_id, '') from feed_events
    where feed_id = $1 and position > $2::bigint and position <= $3::bigint
      and ($4::text[] is null or type = any ($4::text[]))
      and ($5::text is null or user_id = $5)
      and ($6::bigint is null or coalesce((data ->> 'until')::bigint, $6::bigint) >= $6::bigint)
    order by position limit $7::bigint
    """)

  /// Returns all feeds.
  package static let all = Statement<String>("feeds.all", "select feed_id from event_feeds")

  /// Returns the last of the oldest events that are older than a time; no row without one.
  ///
  /// Served by the primary key. Positions follow commits, so a younger event may precede an older one;
  /// only what precedes the first young one is removed.
  package static let old = Statement<Int, String, Timestamp>(
    "feeds.old",
    """
    select max(position) from (
      select position, bool_and(at < $2::timestamptz) over (order by position) as is_old from (
        select position, at from feed_events where feed_id = $1 order by position limit 1000) f) e
    where is_old having max(position) is not null
    """)

  /// Removes the events at the thousand positions up to one, of which `old` has seen all.
  ///
  /// Served by the primary key.
  package static let remove = Statement<Int, String, Int>(
    "feeds.remove",
    """
    delete from feed_events
    where feed_id = $1 and position <= $2::bigint and position > $2::bigint - 1000
    returning 1
    """
  )

  package static let removeFeed = Statement<Int, String>(
    "feeds.remove_feed", "delete from event_feeds where feed_id = $1 returning 1"
  )
}

extension Timestamp {
  /// The time that is this much earlier.
  package func earlier(by time: Duration) -> Timestamp {
    Timestamp(microseconds: microseconds - time.wholeSeconds * 1_000_000)
  }
}
