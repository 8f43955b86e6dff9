import Encoding
package import EventLoop
import Events
import JSON
import Postgres
import Records
package import Runtime
import Tenancy

/// Sends the events of apps to their webhooks, in each worker.
///
/// A pass makes deliveries of what feeds have after the position of a webhook, and claims those that
/// are due. Several workers may run at once, and each may end at any statement: a position is
/// compared under a lock, and an attempt without a result counts as lost after half a minute.
@EventLoop package final class WebhookWorker {
  private let dependencies: Dependencies
  private let calls: WebhookCalls
  private let report: @EventLoop (Report) -> Void
  /// The attempts under way of each app and webhook.
  private var underWay: [String: Int] = [:]
  private var taken = 0
  /// The users from which on a webhook is next, so that each user has its turn.
  private var nextUsers: [String: String] = [:]
  private let passes = FeedPasses()
  private var nextMeasurement: UInt64 = 0

  private var database: Database { dependencies.database }

  /// A report for the metrics.
  package enum Report: Sendable {
    case delivered
    case failed
    case disabled(String)
    /// The lags of enabled webhooks, some time after those before.
    case lags([WebhookLag])
    /// Deliveries have to wait.
    case outage(String)
  }

  /// How many events become deliveries in one transaction.
  nonisolated static let batch = 500
  /// The time after which an attempt without a result counts as lost.
  nonisolated static let claim = Duration.seconds(30)
  /// The pause between two measurements of the lags.
  private static let measured = Duration.seconds(10)

  package init(_ dependencies: Dependencies, report: @escaping @EventLoop (Report) -> Void) {
    (self.dependencies, self.report) = (dependencies, report)
    calls = dependencies[WebhookCalls.self]
  }

  // MARK: Loop

  package func start() {
    passes.start { [self] () async throws(Failure) in
      let webhooks = await webhooks()
      guard !webhooks.isEmpty else {
        report(.lags([]))
        return nil
      }
      guard database.isReady else { throw .databaseUnavailable }
      let count = try await pass(webhooks)
      try await measure(webhooks)
      return count
    } outage: { [report] in
      report(.outage("\($0)"))
    }
  }

  /// Ends the pause, since there may be new events or free places.
  package func wake() { passes.wake() }

  private func webhooks() async -> [Webhook] {
    let apps = (try? await dependencies[Apps.self].all()) ?? []
    return apps.flatMap(\.webhooks).filter(\.isEnabled)
  }

  private func run<Value>(
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async throws(Failure) -> Value {
    do throws(DatabaseError) { return try await body() } catch { throw Failure(error) }
  }

  /// Reports the lags, if the last report is some time ago.
  private func measure(_ webhooks: [Webhook]) async throws(Failure) {
    guard EventLoop.now() >= nextMeasurement else { return }
    nextMeasurement = EventLoop.now() &+ Self.measured.nanoseconds
    report(
      .lags(
        try await run { () async throws(DatabaseError) in
          try await WebhookLag.all(of: webhooks, database)
        }))
  }

  // MARK: One pass

  /// Makes deliveries and begins attempts.
  ///
  /// - Returns: how many of both.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult package func pass(_ webhooks: [Webhook]) async throws(Failure) -> Int {
    let ids = TextArray(webhooks.map(\.key))
    let feeds = TextArray(Array(Set(webhooks.map(\.app))).sorted())
    let (work, ends) = try await run { () async throws(DatabaseError) in
      // Before the positions: what these count, the feeds have.
      let work = try await database.write(WebhookQueries.work, ids, .now)
      return (work, try await database.write(FeedQueries.lasts, feeds))
    }
    let positions = Dictionary(work.map { ($0.webhook, $0.position) }) { first, _ in first }
    let last = Dictionary(ends.map { ($0.feed, $0.last) }) { first, _ in first }
    var due = Set(work.filter(\.isDue).map(\.webhook))
    var (count, outage): (Int, Failure?) = (0, nil)
    for webhook in webhooks.shuffled() {
      do throws(Failure) {
        guard let position = positions[webhook.key] else {
          try await begin(webhook)
          count += 1
          continue
        }
        guard let end = last[webhook.app], end > position else { continue }
        count += 1
        if try await add(to: webhook, after: position, upTo: end) > 0 { due.insert(webhook.key) }
      } catch {
        outage = error
      }
    }
    // An app with fewer attempts under way is first.
    let candidates = webhooks.shuffled().filter { due.contains($0.key) }
      .sorted { underWay[$0.app] ?? 0 < underWay[$1.app] ?? 0 }
    for webhook in candidates {
      let room = room(for: webhook, among: candidates.count)
      guard room > 0 else { continue }
      do throws(Failure) { count += try await begin(upTo: room, of: webhook) } catch {
        outage = error
      }
    }
    if let outage { throw outage }
    return count
  }

  /// Returns how many attempts of a webhook may begin now.
  private func room(for webhook: Webhook, among count: Int) -> Int {
    // The last places are for apps without an attempt, so that slow receivers of others delay none.
    let isIdle = underWay[webhook.app] == nil
    let free = max(0, WebhookCalls.most - taken - (isIdle ? 0 : WebhookCalls.reserve))
    let ofApp =
      isIdle && WebhookCalls.most - taken <= WebhookCalls.reserve
      ? 1 : WebhookCalls.mostOfApp - (underWay[webhook.app] ?? 0)
    let own = WebhookCalls.mostOfWebhook - (underWay[webhook.key] ?? 0)
    return min(own, ofApp, max(min(free, 1), free / max(count, 1)))
  }

  /// Stores the position of a new webhook: it gets the events since its creation.
  private func begin(_ webhook: Webhook) async throws(Failure) {
    let created = Timestamp(stored: webhook.created) ?? .now
    try await run { () async throws(DatabaseError) in
      let position = try await EventFeed.position(of: webhook.app, before: created, in: database)
      _ = try await database.write(WebhookQueries.begin, webhook.key, position)
    }
  }

  /// Makes deliveries of the events after a position; returns their number.
  private func add(
    to webhook: Webhook, after position: Int, upTo last: Int
  ) async throws(Failure) -> Int {
    try await run { () async throws(DatabaseError) in
      let (events, next) = try await EventFeed.batch(
        of: webhook.app, after: position, upTo: last, webhook.eventTypes, count: Self.batch,
        in: database)
      return try await database.transaction { (transaction) async throws(DatabaseError) in
        let locked = try await transaction.send(WebhookQueries.lock, webhook.key).rows()
        // Another worker may have added them.
        guard let locked = locked.first, locked.position == position else { return 0 }
        try await Webhooks.add(
          events, to: webhook.key, after: locked, advancingTo: next, in: transaction)
        return events.count
      }
    }
  }

  // MARK: Attempts

  /// Claims deliveries and begins their attempts; returns their number.
  private func begin(upTo room: Int, of webhook: Webhook) async throws(Failure) -> Int {
    let context = context(of: webhook)
    // Its URL and keys may have changed since the apps were read.
    guard
      let webhook = try await run({ () async throws(DatabaseError) in
        try await database.write(
          WebhookRecord.table.statements.show, webhook.app, webhook.key
        ).first
      }), webhook.isEnabled
    else { return 0 }
    let now = Timestamp.now
    let until = now.later(by: Self.claim)
    let claimed = try await run { () async throws(DatabaseError) in
      try await database.transaction { (transaction) async throws(DatabaseError) in
        let locked = try await transaction.send(WebhookQueries.lock, webhook.key).rows()
        guard let progress = locked.first, progress.notBefore?.microseconds ?? 0 <= now.microseconds
        else { return [ClaimedDelivery]() }
        let isFailing = progress.failures >= WebhookSchedule.failuresOfFailing
        let most = isFailing ? 1 : WebhookCalls.mostOfWebhook
        let underWay = try await transaction.send(WebhookQueries.underWay, webhook.key, now).rows()
        let count = min(room, most - (underWay.first ?? 0))
        guard count > 0 else { return [] }
        let due = try await due(of: webhook, at: now, upTo: count, in: transaction)
        let sent = due.map {
          transaction.send(WebhookQueries.claim, webhook.key, $0.id, now, until)
        }
        if isFailing { _ = transaction.send(WebhookQueries.hold, webhook.key, until) }
        var claimed: [ClaimedDelivery] = []
        for one in sent { claimed += try await one.rows() }
        return claimed
      }
    }
    for delivery in claimed {
      take(webhook, 1)
      EventLoop.task { [self] in
        await attempt(delivery, webhook, context)
        take(webhook, -1)
        wake()
      }
    }
    return claimed.count
  }

  /// Returns deliveries that may be sent, of the users whose turn it is.
  private func due(
    of webhook: Webhook, at now: Timestamp, upTo count: Int, in transaction: DatabaseTransaction
  ) async throws(DatabaseError) -> [DueDelivery] {
    let start = nextUsers[webhook.key] ?? ""
    var due = try await transaction.send(
      WebhookQueries.due, webhook.key, now, count, start
    ).rows()
    if due.count < count, !start.isEmpty {
      let others = try await transaction.send(
        WebhookQueries.due, webhook.key, now, count - due.count, ""
      ).rows()
      due += others.filter { $0.user < start }
    }
    // No id is between a user's and the same with a further digit.
    nextUsers[webhook.key] = due.last.map { "\($0.user)0" }
    return due
  }

  private func take(_ webhook: Webhook, _ count: Int) {
    taken += count
    for key in [webhook.app, webhook.key] {
      let sum = (underWay[key] ?? 0) + count
      underWay[key] = sum == 0 ? nil : sum
    }
  }

  private func context(of webhook: Webhook) -> RequestContext {
    let system = Principal(.system, in: AppID(trusted: webhook.app), scopes: .everything)
    return RequestContext(dependencies, principal: system)
  }

  private func attempt(
    _ delivery: ClaimedDelivery, _ webhook: Webhook, _ context: RequestContext
  ) async {
    let message = FeedMessage(
      event: delivery.event, type: delivery.type, at: delivery.at, data: delivery.data)
    do throws(Failure) {
      let result = try await calls.send(message, to: webhook, context)
      try await record(result, of: delivery, webhook, context)
    } catch {
      // The attempt counts as lost.
      report(.outage("\(error)"))
    }
  }

  /// Records the result of an attempt.
  private func record(
    _ result: WebhookCalls.Result, of delivery: ClaimedDelivery, _ webhook: Webhook,
    _ context: RequestContext
  ) async throws(Failure) {
    let now = Timestamp.now
    let (state, due): (String, Timestamp)
    switch result.outcome {
    case .delivered: (state, due) = ("delivered", now)
    case .gone: (state, due) = ("failed", now)
    case .failed(let pause):
      let next = WebhookSchedule.pause(after: delivery.attempts, retryAfter: pause)
      (state, due) = next.map { ("waiting", now.later(by: $0)) } ?? ("failed", now)
    }
    let recorded = PendingQuery(
      WebhookQueries.record, webhook.key, delivery.id, delivery.attempts, state, due,
      state == "waiting" ? nil : now, result.status, result.error, result.answer,
      Int(result.duration.nanoseconds / 1_000_000))
    if result.outcome == .delivered {
      report(.delivered)
      let minute = now.later(by: .seconds(-60))
      let succeeded = PendingQuery(
        WebhookQueries.succeed, webhook.key, now, minute, WebhookSchedule.failuresOfFailing)
      _ = try await run { () async throws(DatabaseError) in
        try await database.answers(to: [recorded, succeeded], on: .exclusive)
      }
      return
    }
    report(.failed)
    let error = result.status.map { "status \($0)" } ?? result.error ?? ""
    let failed = PendingQuery(WebhookQueries.fail, webhook.key, now, error)
    let failures = try await run { () async throws(DatabaseError) in
      let results = try await database.answers(to: [recorded, failed], on: .exclusive)
      return try results[1].decodeFirst(WebhookFailures.self)
    }
    // Without progress, the webhook was deleted.
    guard let failures else { return }
    if result.outcome == .gone {
      return try await disable(webhook, "its receiver has answered 410", context)
    }
    if WebhookSchedule.isOver(failures: failures.count, since: failures.since, at: now) {
      return try await disable(webhook, "its receiver has failed for 5 days", context)
    }
    var pause: Duration?
    if case .failed(let asked) = result.outcome { pause = asked }
    if failures.count >= WebhookSchedule.failuresOfFailing {
      pause = max(pause ?? .zero, WebhookSchedule.probePause(after: failures.count))
    }
    var calls: [PendingQuery] = []
    if let pause {
      calls.append(PendingQuery(WebhookQueries.hold, webhook.key, now.later(by: pause)))
    }
    if failures.count >= WebhookSchedule.failuresOfFailing, failures.noticeDueAt == nil {
      let first = failures.since.later(by: WebhookNotices.patience)
      calls.append(PendingQuery(WebhookNoticeQueries.plan, webhook.key, first))
    }
    guard !calls.isEmpty else { return }
    _ = try await run { () async throws(DatabaseError) in
      try await database.answers(to: calls, on: .exclusive)
    }
  }

  private func disable(
    _ webhook: Webhook, _ reason: String, _ context: RequestContext
  ) async throws(Failure) {
    // Before, so that the email is not lost if this worker dies.
    _ = try await run { () async throws(DatabaseError) in
      try await database.write(WebhookNoticeQueries.disable, webhook.key, .now)
    }
    let patch = RecordPatch(JSONObject([("enabled", false)]))
    do throws(Failure) {
      _ = try await WebhookRecord.table.change(
        webhook.key, of: AppID(trusted: webhook.app), by: patch, if: VersionCondition(), context)
    } catch .notFound {
      return
    }
    report(.disabled("webhook \(webhook.key) is disabled: \(reason)"))
  }
}
