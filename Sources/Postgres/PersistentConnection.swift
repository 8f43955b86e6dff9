import EventLoop

/// A connection that is reopened whenever it is lost.
@EventLoop final class PersistentConnection {
  private let settings: ConnectionSettings
  private let watch: ConnectionWatch
  private(set) var connection: Connection?
  private(set) var isIdle = true
  private var isStopped = false
  /// The error of the last attempt; nil while connected, and before the first failed attempt.
  private(set) var failure: DatabaseError?
  var hasFailed: Bool { failure != nil }
  private var attempts = 0
  private var retry: Timer?
  var onOpen: (@EventLoop (Connection) -> Void)?
  /// Called when the connection is lost, and when an attempt has failed.
  var onLoss: (@EventLoop () -> Void)?
  var onChange: (@EventLoop () -> Void)?

  /// Creates a connection that is not open yet.
  ///
  /// - Parameters:
  ///   - settings: the settings of each connection.
  ///   - timeout: the time after which the server ends a statement.
  ///   - guardian: the guard that detects a silent server.
  ///   - decides: whether silence on this connection means that the server is silent.
  init(
    _ settings: ConnectionSettings, timeout: Duration, _ guardian: SilenceGuard,
    decides: Bool = false
  ) {
    self.settings = settings
    watch = ConnectionWatch(
      suspicion: guardian.suspicion, limit: guardian.limit(for: timeout),
      onSuspicion: { guardian.probe?() }, onSilence: { if decides { guardian.serverIsSilent($0) } }
    )
    guardian.watch(self)
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

  /// Replaces the connection if the oldest statement has waited for this time, for a silent node.
  func renew(ifSilentFor time: Duration, _ nodes: NodeGuard?) {
    guard let connection, let call = connection.stuckCall(for: time),
      let refusal = nodes?.refusal(of: call)
    else { return }
    connection.onFailure = nil
    connection.fail(refusal)
    self.connection = nil
    connect()
  }

  private func connect() {
    EventLoop.task { [self] in
      do throws(DatabaseError) {
        let connection = try await Connection.open(settings, watch: watch)
        // It may have been stopped during the attempt.
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

  /// Schedules the next attempt with a growing, random delay, so that workers do not retry in step.
  private func lost(_ failure: DatabaseError) {
    connection = nil
    guard !isStopped else { return }
    self.failure = failure
    attempts += 1
    onLoss?()
    onChange?()
    let ceiling = min(2_000, 25 << min(attempts, 7))
    retry = Timer(after: .milliseconds(Int.random(in: ceiling / 2...ceiling))) { [weak self] in
      self?.connect()
    }
  }
}
