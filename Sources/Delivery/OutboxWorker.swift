package import Runtime
package import EventLoop
package import Outbound
import Postgres

/// Delivers the queued mail, in each worker.
///
/// One worker at a time handles a mail, which reaches the relay at least once. If a worker dies
/// before it records the relay's reply, another worker sends the mail again with the same
/// `Message-ID`.
@EventLoop package final class OutboxWorker {
  /// Nil if the operator has configured no mail.
  private let relay: MailRelay?
  private let dependencies: Dependencies
  private let handlers: [String: Handler]
  private let sources: [String: Source]
  private let tell: @EventLoop (Event) -> Void
  private var database: Database { dependencies.database }
  private var mailer: MailQueue { dependencies[MailQueue.self] }

  /// Handles a row that is not a mail.
  package typealias Handler =
    @EventLoop (DueRow, RequestContext) async throws(Failure) -> HandledRow

  /// Queues rows about what other statements have written; returns whether there may be more.
  package typealias Source = @EventLoop (RequestContext) async throws(Failure) -> Bool

  package enum HandledRow {
    /// The handler has deleted the row.
    case replaced
    case finished
    /// The receiver did not accept the row, and may later.
    case unreachable(reason: String)
  }

  /// Delivery events for the metrics.
  package enum Event: Sendable {
    case sent
    case abandoned
    case waiting(OutboxState)
  }

  /// The mails for the relay, and the rows for other receivers.
  ///
  /// All rows under way finish before their claims expire.
  private static let lanes: [(hasReceivers: Bool, OutboxLane.Limits)] = [
    (false, .init(ofAll: 6, ofApp: 4, ofReceiver: 6)),
    (true, .init(ofAll: 24, ofApp: 16, ofReceiver: 4)),
  ]
  /// The rows of a page.
  ///
  /// All workers read the oldest ones, and each claims them in another order.
  private static let page = 60
  /// The pauses before further attempts; the last one repeats.
  private static let pauses = [2, 20, 60, 300, 900, 1_800, 3_600].map(Duration.seconds)
  /// The time after which a mail without a valid token is looked at again, and deleted.
  ///
  /// On a distributed database, the mail may be visible before its token, until Citus has settled
  /// the commit.
  private static let doubt = Duration.seconds(90)
  /// The last error of such a mail.
  private static let void = "no valid token"
  /// The shortest pause between two pages of rows.
  fileprivate static let interval = Duration.seconds(3)
  /// The pause before the worker looks for rows again.
  private static var nap: Duration { interval + .milliseconds(Int.random(in: 0...3_000)) }

  /// - Parameters:
  ///   - dependencies: the dependencies of the worker.
  ///   - relay: the mail relay; nil without one.
  ///   - handlers: the handlers of other rows, by kind.
  ///   - sources: queue further rows every few seconds, by the kind of the rows.
  ///   - tell: receives delivery events.
  package init(
    _ dependencies: Dependencies, _ relay: MailRelay?, _ handlers: [String: Handler],
    _ sources: [String: Source] = [:],
    tell: @escaping @EventLoop (Event) -> Void = { _ in }
  ) {
    self.dependencies = dependencies
    self.relay = relay
    self.handlers = handlers
    self.sources = sources
    self.tell = tell
  }

  package func start() {
    let runs = Self.lanes.map { LaneRun(OutboxLane(hasReceivers: $0.hasReceivers, $0.1)) }
    mailer.onQueued = { row in
      for run in runs where run.lane.hasReceivers == (row.receiver != nil) {
        run.lane.add(row)
        run.wake()
      }
    }
    mailer.onAbandoned = { [unowned self] in tell(.abandoned) }
    for run in runs {
      EventLoop.task { [self] in
        while true {
          if await !takeSome(run) { await run.rest(for: Self.nap) }
        }
      }
    }
    EventLoop.task { [self] in
      while true {
        if await !collect() { await EventLoop.sleep(for: Self.nap) }
      }
    }
    EventLoop.task { [self] in
      while true {
        await look()
        await EventLoop.sleep(for: .seconds(Int.random(in: 20...40)))
      }
    }
  }

  // MARK: Queue

  /// A lane and its task.
  @EventLoop private final class LaneRun {
    let lane: OutboxLane
    private var nextPage: UInt64 = 0
    /// Whether a page was full, and no later one has shown that its rows are all.
    private(set) var hasMore = false
    var isAwake = false
    private var sleeper: Task<Void, Never>?

    init(_ lane: OutboxLane) { self.lane = lane }

    /// Whether the pause between two pages is over.
    var isPageDue: Bool { EventLoop.now() >= nextPage }

    func beginPage() { nextPage = EventLoop.now() &+ OutboxWorker.interval.nanoseconds }

    /// - Parameters:
    ///   - isFull: whether the page had as many rows as it may.
    ///   - isPartial: whether the page left out an app or a receiver.
    func endPage(isFull: Bool, isPartial: Bool) { hasMore = isFull || hasMore && isPartial }

    /// Waits until this process queues or finishes a row, or for a time.
    func rest(for time: Duration) async {
      guard !isAwake else {
        isAwake = false
        return
      }
      let sleeper = EventLoop.task { await EventLoop.sleep(for: time) }
      self.sleeper = sleeper
      await sleeper.value
      self.sleeper = nil
    }

    func wake() {
      isAwake = true
      sleeper?.cancel()
    }
  }

  /// A row that this worker has claimed, and whether its token is not valid.
  private typealias ClaimedRow = (queued: QueuedRow, due: DueRow, isVoid: Bool)

  /// Claims due rows; returns whether there may be more to claim now.
  private func takeSome(_ run: LaneRun) async -> Bool {
    let lane = run.lane
    guard lane.hasRoom, database.isReady else { return false }
    run.isAwake = false
    var rows = takeAll(of: lane)
    // Also while there are rows, so that those of other apps and receivers take turns with them.
    if run.isPageDue || lane.count == 0 && run.hasMore {
      await readPage(run)
      rows += takeAll(of: lane)
    }
    guard !rows.isEmpty else { return false }
    // Workers claim in the order of the keys, so that none waits for another in a circle.
    let claimed = await claimed(rows.sorted { $0.id.text < $1.id.text })
    let ids = Set(claimed.map(\.queued.id))
    for row in rows where !ids.contains(row.id) { lane.free(row) }
    for (row, due, isVoid) in claimed {
      EventLoop.task { [self] in
        await deliver(row, due, isVoid: isVoid, lane)
        lane.free(row)
        run.wake()
      }
    }
    return true
  }

  private func takeAll(of lane: OutboxLane) -> [QueuedRow] {
    var rows: [QueuedRow] = []
    while let row = lane.take() { rows.append(row) }
    return rows
  }

  /// Reads a page of due rows that the lane has places for.
  private func readPage(_ run: LaneRun) async {
    run.beginPage()
    let (apps, receivers) = run.lane.leftOut
    let page = try? await database.write(
      OutboxQueries.due, Self.page, run.lane.hasReceivers, TextArray(apps.map(\.text)),
      TextArray(Array(receivers))
    )
    // While the database is away, nothing is due.
    guard let page else { return }
    for row in page.shuffled() { run.lane.add(row) }
    run.endPage(isFull: page.count == Self.page, isPartial: !apps.isEmpty || !receivers.isEmpty)
  }

  /// Claims rows together, or one by one if that fails, as with the node of a user away.
  private func claimed(_ rows: [QueuedRow]) async -> [ClaimedRow] {
    if let claimed = try? await claim(rows) { return claimed }
    var claimed: [ClaimedRow] = []
    for row in rows where database.isReady { claimed += (try? await claim([row])) ?? [] }
    return claimed
  }

  /// Claims rows in one turn; returns those that no other worker has claimed.
  ///
  /// The token of a mail may have become invalid since the mail was queued.
  private func claim(_ rows: [QueuedRow]) async throws(DatabaseError) -> [ClaimedRow] {
    var calls: [PendingQuery] = []
    for row in rows {
      calls.append(PendingQuery(OutboxQueries.claim, row.id, Self.void))
      if let token = row.token { calls.append(token.call(of: MailTokenQueries.find)) }
    }
    var results = try await database.answers(to: calls, on: .exclusive)[...]
    var claimed: [ClaimedRow] = []
    for row in rows {
      let due = try results.removeFirst().decodeFirst(DueRow.self)
      let isVoid = row.token != nil && results.removeFirst().count == 0
      if let due { claimed.append((row, due, isVoid)) }
    }
    return claimed
  }

  /// Queues the rows of the sources; returns whether there may be more.
  private func collect() async -> Bool {
    var hasMore = false
    for (kind, source) in sources where database.isReady {
      do throws(Failure) {
        if try await source(RequestContext(dependencies)) { hasMore = true }
      } catch {
        mailer.report("messages of the kind \(kind) have to wait: \(error)")
      }
    }
    return hasMore
  }

  /// Removes expired mails, and reports the state of the queue.
  private func look() async {
    let expired = (try? await database.write(OutboxQueries.expired)) ?? []
    let calls = expired.sorted().map { PendingQuery(OutboxQueries.expire, $0) }
    for expired in (try? await database.write(calls, returning: ExpiredMail.self)) ?? [] {
      mailer.abandon("\(expired.description): it has expired")
      if let delivery = expired.delivery(dependencies.keys.master) { await record(delivery) }
    }
    if let state = try? await database.write(OutboxQueries.state).first { tell(.waiting(state)) }
  }

  // MARK: One row

  /// The result of handling a row.
  private enum Outcome {
    /// The row is handled, and can be deleted.
    case done
    /// The relay has accepted the mail.
    case sent(QueuedMail, answer: String)
    /// The row was deleted.
    case replaced
    case failed(reason: String, isPassing: Bool)
    case unreachable(reason: String)
  }

  private func deliver(_ row: QueuedRow, _ due: DueRow, isVoid: Bool, _ lane: OutboxLane) async {
    guard !isVoid || due.wasVoid else {
      _ = try? await database.write(OutboxQueries.putOff, due.id, Self.doubt, Self.void)
      return
    }
    switch isVoid ? .done : await handle(due) {
    case .replaced: break
    case .done: await remove(row, due, isVoid: isVoid, lane)
    case .sent(let mail, let answer):
      await remove(row, due, isVoid: false, lane)
      await record(
        MailDelivery(
          mail: mail, app: due.app, user: row.user, kind: due.kind, attempts: due.attempts,
          createdAt: due.createdAt, isAccepted: true, answer: answer))
    case .failed(let reason, let isPassing):
      await putOff(due, isPassing ? Self.pause(after: due.attempts) : nil, reason)
    case .unreachable(let reason):
      lane.fail(row)
      await putOff(due, Self.pause(after: due.attempts), reason)
    }
  }

  /// Deletes a row that is handled.
  private func remove(_ row: QueuedRow, _ due: DueRow, isVoid: Bool, _ lane: OutboxLane) async {
    lane.succeed(row)
    var calls = [PendingQuery(OutboxQueries.remove, due.id)]
    // First, since it is not repeated once the row is deleted.
    if let token = row.token, !isVoid {
      calls.insert(token.call(of: MailTokenQueries.prune), at: 0)
    }
    // If this write fails, the row is handled again.
    _ = try? await database.answers(to: calls, on: .exclusive)
  }

  /// Stores what became of a mail.
  ///
  /// It comes after the deletion of the row, which must not fail with it: the mail would be sent again.
  private func record(_ delivery: MailDelivery) async {
    let call = delivery.call(dependencies.keys.master)
    _ = try? await database.answers(to: [call], on: .exclusive)
  }

  /// Sends a mail.
  private func send(_ due: DueRow) async -> Outcome {
    guard let mail = QueuedMail(due.id, sealed: due.sealed, dependencies.keys.master) else {
      return .failed(reason: "this master key does not decrypt it", isPassing: false)
    }
    guard let relay else {
      return .failed(reason: "\(MailError.notConfigured)", isPassing: true)
    }
    let html: String
    do throws(Failure) {
      html = try await mailer.design.html(of: mail, for: due.app, context(of: due))
    } catch {
      return .failed(reason: "\(error)", isPassing: true)
    }
    let answer: String
    do throws(MailError) {
      // A text of many lines may be too long as HTML.
      answer = try await relay.send((try? mail.message.with(html: html)) ?? mail.message)
    } catch {
      return .failed(reason: "\(error)", isPassing: error.isPassing)
    }
    tell(.sent)
    return .sent(mail, answer: answer)
  }

  private func context(of due: DueRow) -> RequestContext {
    let system = Principal(.system, in: due.app, scopes: .everything)
    return RequestContext(dependencies, principal: system)
  }

  /// Sends a mail, or lets the handler of its kind handle another row.
  private func handle(_ due: DueRow) async -> Outcome {
    guard let handler = handlers[due.kind] else { return await send(due) }
    do throws(Failure) {
      return switch try await handler(due, context(of: due)) {
      case .replaced: .replaced
      case .finished: .done
      case .unreachable(let reason): .unreachable(reason: reason)
      }
    } catch {
      return .failed(reason: "\(error)", isPassing: !error.is(.internalError))
    }
  }

  /// Returns the pause before the next attempt.
  ///
  /// It varies by some seconds, so that the mails for one relay are not retried together.
  private static func pause(after attempts: Int) -> Duration {
    let pause = pauses[min(max(attempts, 1), pauses.count) - 1]
    return pause + pause / 4 * Double.random(in: 0...1)
  }

  private func putOff(_ due: DueRow, _ pause: Duration?, _ reason: String) async {
    if pause == nil {
      mailer.abandon("\(due.id): \(reason)")
    } else if due.attempts == 1 {
      mailer.report("mail \(due.id) has to wait: \(reason)")
    }
    _ = try? await database.write(OutboxQueries.putOff, due.id, pause, reason)
  }
}
