import Encoding
import EventLoop
import JSON
import Postgres
import Records
import Runtime
import Tenancy
import TestSupport
import Testing

@testable import Events

/// Cursors of feeds, and the removal of old events.
@Suite struct EventFeedTests {
  init() { LoopThread.start() }

  private static let rows = """
    insert into apps (app_id, name, settings) values
      (repeat('a', 24), 'fed', '{"event_feed": true, "event_feed_days": 2, "revocation_feed": true}'),
      (repeat('b', 24), 'other', '{"event_feed": true}');
    insert into event_feeds (feed_id, last_position)
    values (repeat('a', 24), 6), (repeat('a', 24) || 'r', 2), (repeat('c', 24), 1);
    insert into feed_events (feed_id, position, event_id, user_id, type, at, data)
    select repeat('a', 24), n, lpad(n::text, 24, '0'), repeat(n::text, 24), type,
      now() - interval '1 day' * days, '{"version": 1}'
    from (values (1, 'user.created', 5), (2, 'user.updated', 3), (3, 'session.ended', 1),
      (4, 'user.updated', 4), (5, 'user.deleted', 1), (6, 'user.created', 0)) as e (n, type, days);
    insert into feed_events (feed_id, position, event_id, type, at, data)
    select repeat('a', 24) || 'r', n, lpad(n::text, 24, '0'), 'session.ended', now() - interval '3 days',
      jsonb_build_object('sid', n, 'until', extract(epoch from now())::bigint + n * 1000 - 1500)
    from generate_series(1, 2) n;
    insert into feed_events (feed_id, position, event_id, type, at, data)
    values (repeat('c', 24), 1, repeat('1', 24), 'user.created', now(), '{}');
    """

  @EventLoop private func open() async throws -> (RequestContext, Database) {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let database = try await Database.started(on: name, after: Self.rows)
    let master = MasterKey(Array(repeating: 7, count: 32))
    let catalog = AppCatalog(settings: RecordShape([EventSettings.self]), parts: [])
    let dependencies = Dependencies(
      database: database, keys: Keyring(master: master, database: database),
      calculator: FairPool(name: "feed", threads: 1, waiting: 1, patience: .seconds(600)),
      services: [Apps(database: database, catalog, fallback: "default")])
    return (RequestContext(dependencies), database)
  }

  private static let feed = String(repeating: "a", count: 24)

  @EventLoop private func positions(
    _ context: RequestContext, from start: EventFeed.Start,
    _ filter: EventFeed.Filter = EventFeed.Filter(), count: Int = 100
  ) async throws -> [Int] {
    try await EventFeed.page(of: Self.feed, from: start, filter, count: count, context)
      .events.map(\.position)
  }

  @Test @EventLoop func `a page begins where it is asked to, and continues at its cursor`()
    async throws
  {
    let (context, database) = try await open()
    defer { database.stop() }
    #expect(try await positions(context, from: .oldest) == [1, 2, 3, 4, 5, 6])
    #expect(try await positions(context, from: .now) == [])
    let yesterday = Timestamp(microseconds: Timestamp.now.microseconds - 90_000_000_000)
    #expect(try await positions(context, from: .time(yesterday)) == [3, 4, 5, 6])
    let future = Timestamp(microseconds: Timestamp.now.microseconds + 90_000_000_000)
    #expect(try await positions(context, from: .time(future)) == [])
    let page = try await EventFeed.page(of: Self.feed, from: .oldest, count: 2, context)
    #expect(page.hasMore)
    let cursor = try #require(EventCursor(page.next.text(context), of: Self.feed, context))
    #expect(try await positions(context, from: .cursor(cursor), count: 2) == [3, 4])
    var filter = EventFeed.Filter()
    filter.types = EventTypes(EventType.userCreated)
    #expect(try await positions(context, from: .oldest, filter) == [1, 6])
    filter.user = UserID(String(repeating: "6", count: 24))
    #expect(try await positions(context, from: .oldest, filter) == [6])
    filter.types = EventTypes(EventType.userMerged)
    let empty = try await EventFeed.page(of: Self.feed, from: .oldest, filter, count: 9, context)
    #expect(empty.next.position == 6 && !empty.hasMore && empty.events.isEmpty)
  }

  @Test @EventLoop func `a cursor with flipped bits, of another app or from the future is refused`()
    async throws
  {
    let (context, database) = try await open()
    defer { database.stop() }
    let text = EventCursor(3, of: Self.feed).text(context)
    #expect(EventCursor(text, of: Self.feed, context)?.position == 3)
    let bytes = try #require([UInt8](base64URL: text))
    for index in bytes.indices {
      for bit in 0..<8 {
        var flipped = bytes
        flipped[index] ^= 1 << bit
        #expect(EventCursor(flipped.base64URL, of: Self.feed, context) == nil)
      }
    }
    let others = ["", "x", "-1", "6", text + "A", String(text.dropLast()), text + text, "é"]
    for other in others { #expect(EventCursor(other, of: Self.feed, context) == nil, "\(other)") }
    #expect(EventCursor(text, of: String(repeating: "b", count: 24), context) == nil)
    #expect(EventCursor(text, of: Self.feed + "r", context) == nil)
    let negative = EventCursor(-1, of: Self.feed).text(context)
    #expect(EventCursor(negative, of: Self.feed, context) == nil)
    do throws(Failure) {
      let future = EventCursor(7, of: Self.feed)
      _ = try await EventFeed.page(of: Self.feed, from: .cursor(future), count: 9, context)
      Issue.record("the cursor is above the last position")
    } catch {
      #expect(error.is(.cursorInvalid))
    }
  }

  @Test @EventLoop
  func `old events are removed up to the first young one, and then cursors expire`()
    async throws
  {
    let (context, database) = try await open()
    defer { database.stop() }
    let apps = try await context.apps.all()
    // Two old events, and the feed of a deleted app.
    #expect(try await FeedMaintenance.run(apps, in: database) == 3)
    #expect(try await FeedMaintenance.run(apps, in: database) == 0)
    #expect(try await positions(context, from: .oldest) == [3, 4, 5, 6])
    #expect(
      try await positions(context, from: .cursor(EventCursor(2, of: Self.feed))) == [3, 4, 5, 6])
    do throws(Failure) {
      _ = try await EventFeed.page(
        of: Self.feed, from: .cursor(EventCursor(1, of: Self.feed)), count: 9, context)
      Issue.record("the cursor has not expired")
    } catch {
      #expect(error.is(.cursorExpired))
      let oldest = error.members.first { $0.name == "oldest_cursor" }?.value.string ?? ""
      #expect(EventCursor(oldest, of: Self.feed, context)?.position == 2)
    }
  }

  @Test @EventLoop func `what verifiers may forget is left out`() async throws {
    let (context, database) = try await open()
    defer { database.stop() }
    var filter = EventFeed.Filter()
    filter.validAt = Timestamp.now.seconds
    let page = try await EventFeed.page(
      of: EventFeed.revocations(of: AppID(trusted: Self.feed)), from: .oldest, filter, count: 9,
      context)
    #expect(page.events.map(\.position) == [2])
    #expect(page.next.position == 2)
  }
}
