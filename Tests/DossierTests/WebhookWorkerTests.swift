import EventLoop
import Outbound
import Postgres
import Records
import Runtime
import Tenancy
import TestSupport
import Testing

@testable import Webhooks

/// Tests that workers together make each delivery once, in the order of the feed.
@Suite struct WebhookWorkerTests {
  init() { LoopThread.start() }

  private static let events = 1_300
  private static let app = String(repeating: "a", count: 24)
  private static let webhook = String(repeating: "b", count: 24)

  /// An app with a feed, of which a webhook wants two thirds.
  ///
  /// The webhook is disabled, so that no attempt begins.
  private static let rows = """
    insert into apps (app_id, name) values ('\(app)', 'fed');
    insert into webhooks (webhook_id, app_id, secret, attributes) values ('\(webhook)', '\(app)', '',
      '{"url": "https://hooks.invalid/", "types": ["user.*"], "enabled": false}');
    insert into event_feeds (feed_id, last_position) values ('\(app)', \(events));
    insert into feed_events (feed_id, position, event_id, user_id, type, at, data)
    select '\(app)', g, lpad(to_hex(g), 24, '0'), lpad((g % 7)::text, 24, 'e'),
      (array['user.created', 'session.ended', 'user.updated'])[g % 3 + 1],
      now() + interval '1 minute', '{}'
    from generate_series(1, \(events)) g;
    """

  private enum Queries {
    static let deliveries = Statement<Int, String>(
      "test.deliveries",
      """
      select ('x' || right(event_id, 8))::bit(32)::int from webhook_deliveries
      where webhook_id = $1 order by delivery_id
      """)
    static let due = Statement<Int, String>(
      "test.due", "select count(*) from webhook_deliveries where webhook_id = $1 and attempts = 0")
  }

  @EventLoop private static func dependencies(_ database: Database) -> Dependencies {
    let master = MasterKey(Array(repeating: 7, count: 32))
    let catalog = AppCatalog(
      settings: RecordShape([EventSettings.self]), parts: [AppWebhooks.self])
    return Dependencies(
      database: database, keys: Keyring(master: master, database: database),
      calculator: FairPool(name: "webhooks", threads: 1, waiting: 1, patience: .seconds(600)),
      services: [
        Apps(database: database, catalog, fallback: "fed"), WebhookCalls(HTTPSourceSettings()),
      ])
  }

  @Test @EventLoop func `several workers make each delivery once, in order`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let database = try await Database.started(on: name, after: Self.rows)
    defer { database.stop() }
    let dependencies = Self.dependencies(database)
    let app = try await dependencies[Apps.self].app(AppID(trusted: Self.app))
    #expect(app.webhooks.map(\.key) == [Self.webhook])
    #expect(app.events.feed.contains(.userCreated))
    #expect(!app.events.feed.contains(.sessionEnded))
    let workers = (0..<3).map { _ in
      EventLoop.task {
        let worker = WebhookWorker(dependencies) { _ in }
        // Each pass makes some, and only one worker wins.
        while (try? await worker.pass(app.webhooks)) != 0 {}
      }
    }
    for worker in workers { await worker.value }
    let expected = (1...Self.events).filter { $0 % 3 != 1 }
    let found = try await database.write(Queries.deliveries, Self.webhook)
    #expect(found == expected)
    #expect(try await database.write(Queries.due, Self.webhook) == [expected.count])
    let work = try await database.write(WebhookQueries.work, TextArray([Self.webhook]), .now)
    #expect(work.map(\.position) == [Self.events])
    #expect(work.map(\.isDue) == [true])
  }
}
