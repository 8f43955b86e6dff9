package import EventLoop
package import Events
import JSON
package import Postgres
import Records
package import Runtime
import Tenancy

/// The id of a delivery: its number among those of its webhook, in hexadecimal.
package typealias DeliveryID = ID<Webhooks>

/// The verbs of operators for the deliveries of webhooks.
package enum Webhooks {
  /// The states of deliveries.
  package enum State: String, CaseIterable, Sendable {
    case waiting
    case delivered
    case failed
  }

  /// How long ended deliveries are kept, and others of webhooks that get nothing.
  private static let retention: [(state: State, time: Duration)] = [
    (.delivered, .seconds(7 * 86_400)), (.failed, .seconds(30 * 86_400)),
  ]
  private static let patience = Duration.seconds(30 * 86_400)
  /// The most events that one replay makes deliveries of.
  package static let mostReplayed = 5_000
  /// The waiting deliveries from which on nothing is replayed.
  private static let mostWaiting = 10_000

  /// Returns the webhook with an id.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func find(
    _ key: String, of app: App, _ context: RequestContext
  ) async throws(Failure) -> Webhook {
    try await WebhookRecord.table.find(key, of: app.id, context)
  }

  /// Returns how a receiver answers; nil before the first pass of a worker.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func status(
    of webhook: Webhook, _ context: RequestContext
  ) async throws(Failure) -> WebhookStatus? {
    guard var status = try await context.read(WebhookQueries.status, webhook.key, on: .large).first
    else { return nil }
    let next = try await context.read(
      FeedQueries.page, webhook.app, status.position, Int.max, webhook.typeNames, nil, nil, 1,
      on: .large
    ).first
    status.lag = WebhookLag.seconds(since: [status.oldest, next?.at])
    return status
  }

  /// Returns a page of deliveries, the newest first.
  ///
  /// - Parameters:
  ///   - webhook: the webhook.
  ///   - state: the state; nil for all.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page.
  ///   - context: the context of the request.
  /// - Returns: the deliveries.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func deliveries(
    of webhook: Webhook, in state: State?, after cursor: DeliveryID?, count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Page<ListedDelivery> {
    let found =
      if let state {
        try await context.read(
          WebhookQueries.pageOfState, webhook.key, state.rawValue, cursor, count, on: .large)
      } else {
        try await context.read(WebhookQueries.page, webhook.key, cursor, count, on: .large)
      }
    return Page(found, of: count)
  }

  /// Sends a delivery again now, with the same id of its event.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func retry(
    _ delivery: DeliveryID, of webhook: Webhook, _ context: RequestContext
  ) async throws(Failure) -> ListedDelivery {
    let found = try await context.write(WebhookQueries.retry, webhook.key, delivery, .now).first
    guard let found else { throw .notFound }
    _ = try await context.write(WebhookQueries.revive, webhook.key)
    try await record(
      "webhook_retry", webhook, JSONObject([("delivery_id", .string(delivery.text))]), context)
    return found
  }

  /// Sends a message of the type `webhook.test`, and waits for the answer.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func test(
    _ webhook: Webhook, _ context: RequestContext
  ) async throws(Failure) -> WebhookCalls.Result {
    try await context.webhookCalls.send(
      FeedMessage(type: "webhook.test", of: context.app), to: webhook, isTest: true, context)
  }

  /// The result of a replay.
  package struct Replay: Sendable {
    package let count: Int
    package let next: EventCursor
    package let hasMore: Bool
  }

  /// Makes new deliveries of events that a webhook has got before, with the same ids.
  ///
  /// - Parameters:
  ///   - start: where the events begin.
  ///   - types: the types; nil for those of the webhook.
  ///   - webhook: the webhook.
  ///   - context: the context of the request.
  /// - Returns: the number of deliveries, and where another replay continues.
  /// - Throws: `.cursorInvalid`, `.replayExpired`, `.tooManyRequests`, `.databaseUnavailable`.
  @EventLoop package static func replay(
    from start: EventFeed.Start, types: EventTypes?, to webhook: Webhook, _ context: RequestContext
  ) async throws(Failure) -> Replay {
    if case .time(let time) = start,
      time.microseconds
        < Timestamp.now.later(by: .zero - context.app.eventSettings.feedRetention).microseconds
    {
      throw .replayExpired
    }
    guard try await status(of: webhook, context)?.waiting ?? 0 < mostWaiting else {
      throw .tooManyRequests(retryAfter: .seconds(60))
    }
    var filter = EventFeed.Filter()
    filter.types = types ?? webhook.eventTypes
    var (count, start) = (0, start)
    while true {
      let page: EventFeed.Page
      do throws(Failure) {
        page = try await EventFeed.page(
          of: webhook.app, from: start, filter, count: WebhookWorker.batch, context)
      } catch .cursorExpired {
        throw .replayExpired
      }
      // Later ones become deliveries anyway.
      let (added, position) = try await context.transaction {
        transaction async throws(Failure) in
        guard let locked = try await transaction.run(WebhookQueries.lock, webhook.key).first else {
          return (0, 0)
        }
        let events = page.events.filter { $0.position <= locked.position }
        do throws(DatabaseError) {
          try await add(
            events, to: webhook.key, after: locked, advancingTo: locked.position,
            in: transaction.engine)
        } catch {
          throw Failure(error)
        }
        return (events.count, locked.position)
      }
      count += added
      start = .cursor(page.next)
      let hasMore = page.hasMore && page.next.position < position
      guard hasMore, count < mostReplayed else {
        try await record(
          "webhook_replay", webhook, JSONObject([("count", .number(JSONNumber(count)))]), context)
        return Replay(count: count, next: page.next, hasMore: hasMore)
      }
    }
  }

  @EventLoop private static func record(
    _ action: String, _ webhook: Webhook, _ detail: JSONObject, _ context: RequestContext
  ) async throws(Failure) {
    var members = JSONObject([("webhook_id", .string(webhook.key))])
    for (name, value) in detail { members[String(name)] = value }
    try await Event(action, detail: .object(members)).record(app: context.app.id, context)
  }

  /// Adds deliveries of events, in their order, in a transaction that has locked the progress.
  @EventLoop static func add(
    _ events: [FeedEvent], to webhook: String, after progress: WebhookProgress,
    advancingTo position: Int, in transaction: DatabaseTransaction
  ) async throws(DatabaseError) {
    var last = progress.lastDelivery
    let now = Timestamp.now
    for event in events {
      last += 1
      _ = transaction.send(
        WebhookQueries.add, webhook, id(last), event.id, event.user, event.type, event.at,
        TextBytes(event.data), now)
    }
    let advanced = transaction.send(WebhookQueries.advance, webhook, position, last)
    transaction.sendCommit()
    _ = try await advanced.rows()
  }

  /// Returns the id of the delivery with a number.
  private static func id(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: max(0, 24 - digits.utf8.count)) + digits
  }

  // MARK: Maintenance

  /// Removes old deliveries, and all of deleted webhooks.
  ///
  /// - Throws: the error of the database.
  @EventLoop package static func removeOld(in database: Database) async throws(DatabaseError) {
    let all = Set(try await database.write(WebhookQueries.all))
    for webhook in try await database.write(WebhookQueries.known) {
      let isKept = all.contains(webhook)
      func end(_ time: Duration) -> Timestamp {
        .now.later(by: isKept ? .zero - time : time)
      }
      for (state, time) in retention {
        while try await !database.write(
          WebhookQueries.removeEnded, webhook, state.rawValue, end(time)
        ).isEmpty {}
      }
      while try await !database.write(
        WebhookQueries.removeWaiting, webhook, end(patience)
      ).isEmpty {}
      if !isKept { _ = try await database.write(WebhookQueries.removeProgress, webhook) }
    }
  }
}

/// How a receiver answers.
package struct WebhookStatus: RowDecodable {
  package let position: Int
  package let failures: Int
  package let failingSince: Timestamp?
  package let notBefore: Timestamp?
  package let lastSuccessAt: Timestamp?
  package let lastFailureAt: Timestamp?
  package let lastError: String?
  /// The time of the oldest event that waits.
  package let oldest: Timestamp?
  /// The deliveries that wait, at most 10,000.
  package let waiting: Int
  /// The age of the oldest event that waits, or has no delivery yet.
  package fileprivate(set) var lag = 0

  package init(from row: Row) throws(DatabaseError) {
    (position, failures) = (try row.int(0), try row.int(1))
    (failingSince, notBefore) = (try row.time(ifAny: 2), try row.time(ifAny: 3))
    (lastSuccessAt, lastFailureAt) = (try row.time(ifAny: 4), try row.time(ifAny: 5))
    (lastError, oldest, waiting) = (row.text(ifAny: 6), try row.time(ifAny: 7), try row.int(8))
  }
}

/// A delivery as operators see it.
package struct ListedDelivery: Listed {
  package let id: DeliveryID
  package let event: String
  package let type: String
  package let at: Timestamp
  package let state: String
  package let attempts: Int
  package let dueAt: Timestamp?
  package let attemptedAt: Timestamp?
  package let endedAt: Timestamp?
  package let status: Int?
  package let milliseconds: Int?
  package let error: String?
  package let answer: String?

  package var cursor: DeliveryID { id }

  package init(from row: Row) throws(DatabaseError) {
    (id, event, type) = (try row.id(0), try row.text(1), try row.text(2))
    (at, state, attempts) = (try row.time(3), try row.text(4), try row.int(5))
    (dueAt, attemptedAt) = (try row.time(ifAny: 6), try row.time(ifAny: 7))
    (endedAt, status) = (try row.time(ifAny: 8), try row.int(ifAny: 9))
    (milliseconds, error) = (try row.int(ifAny: 10), row.text(ifAny: 11))
    answer = row.text(ifAny: 12)
  }
}
