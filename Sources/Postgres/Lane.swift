internal import DequeModule
import EventLoop

/// Connections that are lent to one caller at a time.
@EventLoop final class Lane {
  private let patience: Duration
  private let waitingRoom: Int
  private var connections: [PersistentConnection] = []
  private var free: [Connection] = []
  private var waiting = Deque<Waiter>()
  private(set) var lent = 0

  /// - Parameters:
  ///   - settings: for each connection.
  ///   - silence: as for `Connection`.
  ///   - size: connections; one is made at once, the others when they are first needed.
  ///   - waitingRoom: callers that may wait; one more is refused.
  ///   - patience: how long a caller waits.
  init(
    _ settings: ConnectionSettings,
    silence: Duration,
    size: Int,
    waitingRoom: Int,
    patience: Duration
  ) {
    self.patience = patience
    self.waitingRoom = waitingRoom
    for _ in 0..<size {
      let connection = PersistentConnection(settings, silence: silence)
      connections.append(connection)
      connection.onOpen = { [weak self] opened in self?.offer(opened) }
    }
  }

  func start() { connections.first?.start() }

  func stop() {
    for connection in connections { connection.stop() }
    free.removeAll()
  }

  var waiters: Int { waiting.count }
  var isConnected: Bool { connections.contains { $0.connection != nil } }
  private var isHopeless: Bool { !isConnected && connections.contains { $0.hasFailed } }
  /// Why the last connection that is missing could not be made.
  var failure: DatabaseError? { connections.lazy.compactMap(\.failure).first }
  /// Called when a connection has come or gone.
  var onChange: (@EventLoop () -> Void)? {
    didSet { for connection in connections { connection.onChange = onChange } }
  }

  /// Runs `body` with a connection that is nobody else's meanwhile.
  ///
  /// - Throws: `.laneFull` when none came free in time; `.connectionFailure` at once while the
  ///   server is away.
  func withConnection<Result>(
    _ body: @EventLoop (Connection) async throws(DatabaseError) -> Result
  ) async throws(DatabaseError) -> Result {
    let connection = if let free = takeFree() { free } else { try await borrow() }
    lent += 1
    defer { giveBack(connection) }
    return try await body(connection)
  }

  /// Runs one statement with a connection that is nobody else's meanwhile.
  func answer(to call: StatementCall) async throws(DatabaseError) -> ResultSet {
    let connection = if let free = takeFree() { free } else { try await borrow() }
    lent += 1
    defer { giveBack(connection) }
    return try await call.run(on: connection)
  }

  private func giveBack(_ connection: Connection) {
    lent -= 1
    offer(connection)
  }

  private func takeFree() -> Connection? {
    while let connection = free.popLast() {
      if connection.failure == nil { return connection }
    }
    return nil
  }

  /// Waits for a connection.
  private func borrow() async throws(DatabaseError) -> Connection {
    guard !isHopeless else { throw .away(failure) }
    connections.first { $0.isIdle }?.start()
    guard waiting.count < waitingRoom else {
      throw DatabaseError(.laneFull, "\(waitingRoom) callers wait already")
    }
    let waiter = Waiter(patience: patience) { [weak self] in
      let reason = self?.failure.map { "; of those missing: \($0.message)" } ?? ""
      return "no connection came free\(reason)"
    }
    waiting.append(waiter)
    return try await waiter.wait()
  }

  private func offer(_ connection: Connection) {
    guard connection.failure == nil else { return }
    while let waiter = waiting.popFirst() {
      if waiter.resume(.success(connection)) { return }
    }
    free.append(connection)
  }
}

/// A caller in the queue of a lane.
@safe @EventLoop private final class Waiter {
  typealias Answer = Result<Connection, DatabaseError>
  private var continuation: UnsafeContinuation<Answer, Never>?
  private var timer: Timer?
  private let patience: Duration
  private let reason: @EventLoop () -> String

  /// - Parameters:
  ///   - patience: how long it waits.
  ///   - reason: why it waited for nothing.
  init(patience: Duration, reason: @escaping @EventLoop () -> String) {
    self.patience = patience
    self.reason = reason
  }

  func wait() async throws(DatabaseError) -> Connection {
    try await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Answer, Never>) in
      unsafe self.continuation = continuation
      timer = Timer(after: patience) { [self] in
        _ = resume(.failure(DatabaseError(.laneFull, "\(reason()), for \(patience)")))
      }
    }.get()
  }

  /// Returns false when the caller has gone already.
  func resume(_ answer: Answer) -> Bool {
    guard let continuation = unsafe continuation else { return false }
    unsafe self.continuation = nil
    timer?.cancel()
    unsafe continuation.resume(returning: answer)
    return true
  }
}

/// One connection that is made anew whenever it is lost.
@EventLoop final class PersistentConnection {
  private let settings: ConnectionSettings
  private let silence: Duration
  private(set) var connection: Connection?
  private(set) var isIdle = true
  private var isStopped = false
  /// Why there is no connection; nil while there is one, and before the first attempt has failed.
  private(set) var failure: DatabaseError?
  var hasFailed: Bool { failure != nil }
  private var attempts = 0
  private var retry: Timer?
  var onOpen: (@EventLoop (Connection) -> Void)?
  var onChange: (@EventLoop () -> Void)?

  init(_ settings: ConnectionSettings, silence: Duration) {
    self.settings = settings
    self.silence = silence
  }

  func start() {
    guard isIdle else { return }
    isIdle = false
    connect()
  }

  func stop() {
    isIdle = false
    isStopped = true
    retry?.cancel()
    connection?.onFailure = nil
    connection?.close()
    connection = nil
  }

  private func connect() {
    EventLoop.task { [self] in
      do throws(DatabaseError) {
        let connection = try await Connection.open(settings, silence: silence)
        // It may have been stopped while it connected.
        guard !isStopped else { return connection.close() }
        self.connection = connection
        failure = nil
        attempts = 0
        connection.onFailure = { [weak self] failure in self?.lost(failure) }
        onOpen?(connection)
        onChange?()
      } catch {
        lost(error)
      }
    }
  }

  /// Tries again: soon at first, then at longer and longer times, never all workers in step.
  private func lost(_ failure: DatabaseError) {
    connection = nil
    guard !isStopped else { return }
    self.failure = failure
    attempts += 1
    onChange?()
    let ceiling = min(2_000, 25 << min(attempts, 7))
    retry = Timer(after: .milliseconds(Int.random(in: ceiling / 2...ceiling))) { [weak self] in
      self?.connect()
    }
  }
}
