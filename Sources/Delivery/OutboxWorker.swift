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
  private let source: Source
  private let tell: @EventLoop (Event) -> Void
  private var underWay = 0
  private var database: Database { dependencies.database }
  private var mailer: MailQueue { dependencies[MailQueue.self] }
  private var sleeper: Task<Void, Never>?
  private var isAwake = false

  /// Handles a row that is not a mail.
  package typealias Handler =
    @EventLoop (DueRow, RequestContext) async throws(Failure) -> HandledRow

  /// Queues rows about what other statements have written; returns whether there were any.
  package typealias Source = @EventLoop (RequestContext) async throws(Failure) -> Bool

  package enum HandledRow {
    /// The handler has deleted the row.
    case replaced
    case finished
  }

  /// Delivery events for the metrics.
  package enum Event: Sendable {
    case sent
    case lost
    case waiting(OutboxState)
  }

  /// The most concurrent deliveries; all of them finish before their claims expire.
  private static let most = 6
  /// The pauses before further attempts; the last one repeats.
  private static let pauses = [2, 20, 60, 300, 900, 1_800, 3_600].map(Duration.seconds)

  /// The pause before the worker looks for rows again.
  private static var nap: Duration { .milliseconds(Int.random(in: 3_000...6_000)) }

  /// - Parameters:
  ///   - dependencies: the dependencies of the worker.
  ///   - relay: the mail relay; nil without one.
  ///   - handlers: the handlers of other rows, by kind.
  ///   - source: queues further rows, every few seconds.
  ///   - tell: receives delivery events.
  package init(
    _ dependencies: Dependencies,
    _ relay: MailRelay?,
    _ handlers: [String: Handler],
    _ source: @escaping Source = { _ in false },
    tell: @escaping @EventLoop (Event) -> Void = { _ in }
  ) {
    self.dependencies = dependencies
    self.relay = relay
    self.handlers = handlers
    self.source = source
    self.tell = tell
  }

  package func start() {
    mailer.onQueued = { [unowned self] in wake() }
    mailer.onLost = { [unowned self] in tell(.lost) }
    EventLoop.task { [self] in
      while true {
        if await !takeSome() { await rest() }
      }
    }
    EventLoop.task { [self] in
      while true {
        await collect()
        await EventLoop.sleep(for: Self.nap)
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

  /// Claims due mails; returns whether there may be more to claim now.
  private func takeSome() async -> Bool {
    let room = Self.most - underWay
    guard room > 0, database.isReady else { return false }
    isAwake = false
    guard let due = try? await database.write(OutboxQueries.claim, room) else { return false }
    for mail in due.sorted(by: { $0.id.text < $1.id.text }) {
      underWay += 1
      EventLoop.task { [self] in
        await deliver(mail)
        underWay -= 1
        wake()
      }
    }
    return due.count == room && underWay < Self.most
  }

  /// Waits until this process queues a mail, or for 3 to 6 seconds.
  private func rest() async {
    guard !isAwake else {
      isAwake = false
      return
    }
    let sleeper = EventLoop.task {
      await EventLoop.sleep(for: Self.nap)
    }
    self.sleeper = sleeper
    await sleeper.value
    self.sleeper = nil
  }

  private func wake() {
    isAwake = true
    sleeper?.cancel()
  }

  /// Queues the rows of the source.
  private func collect() async {
    guard database.isReady else { return }
    do throws(Failure) {
      if try await source(RequestContext(dependencies)) { wake() }
    } catch {
      mailer.report("the logout notices have to wait: \(error)")
    }
  }

  /// Removes expired mails, and reports the state of the queue.
  private func look() async {
    for lost in (try? await database.write(OutboxQueries.expire)) ?? [] {
      mailer.lose("\(lost): its time is up")
    }
    if let state = try? await database.read(OutboxQueries.state).first { tell(.waiting(state)) }
  }

  // MARK: One row

  /// The result of handling a row.
  private enum Outcome {
    /// The row is handled; this statement records it.
    case done(Statement<NoRow, MailID>)
    /// The row was deleted.
    case replaced
    case failed(reason: String, isPassing: Bool)
  }

  private func handle(_ due: DueRow) async -> Outcome {
    if due.isVoid { return .done(OutboxQueries.remove) }
    guard let handler = handlers[due.kind] else { return await send(due) }
    return await handle(due, by: handler)
  }

  private func deliver(_ due: DueRow) async {
    let outcome = await handle(due)
    switch outcome {
    case .replaced: break
    // If this write fails, the row is handled again.
    case .done(let statement): _ = try? await database.write(statement, due.id)
    case .failed(let reason, let isPassing):
      await putOff(due, isPassing ? Self.pause(after: due.attempts) : nil, reason)
    }
  }

  /// Sends a mail.
  private func send(_ due: DueRow) async -> Outcome {
    guard let mail = QueuedMail(due.id, sealed: due.sealed, dependencies.keys.master) else {
      return .failed(reason: "it cannot be opened with this master key", isPassing: false)
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
    do throws(MailError) {
      // A text of many lines may be too long as HTML.
      try await relay.send((try? mail.message.with(html: html)) ?? mail.message)
    } catch {
      return .failed(reason: "\(error)", isPassing: error.isPassing)
    }
    tell(.sent)
    return .done(OutboxQueries.sent)
  }

  private func context(of due: DueRow) -> RequestContext {
    let system = Principal(.system, in: due.app, scopes: .everything)
    return RequestContext(dependencies, principal: system)
  }

  /// Handles a row that is not a mail, such as a request for one.
  private func handle(_ due: DueRow, by handler: Handler) async -> Outcome {
    do throws(Failure) {
      return switch try await handler(due, context(of: due)) {
      case .replaced: .replaced
      case .finished: .done(OutboxQueries.remove)
      }
    } catch {
      return .failed(reason: "\(error)", isPassing: error.type != .internalError)
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
      mailer.lose("\(due.id): \(reason)")
    } else if due.attempts == 1 {
      mailer.report("mail \(due.id) has to wait: \(reason)")
    }
    _ = try? await database.write(OutboxQueries.putOff, due.id, pause, reason)
  }
}

extension MailError {
  /// Whether a later attempt may succeed, by itself or after the operator's action.
  fileprivate var isPassing: Bool {
    switch self {
    case .tryAgain, .overloaded, .misconfigured: true
    case .refused, .notConfigured: false
    }
  }
}
