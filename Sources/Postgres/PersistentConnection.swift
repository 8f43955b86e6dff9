import EventLoop

/// A connection that is opened again whenever it is lost.
@EventLoop final class PersistentConnection {
  private let settings: ConnectionSettings
  private let watch: ConnectionWatch
  private(set) var connection: Connection?
  private(set) var isIdle = true
  private var isStopped = false
  /// Why there is no connection; nil while there is one, and before the first attempt has failed.
  private(set) var failure: DatabaseError?
  var hasFailed: Bool { failure != nil }
  private var attempts = 0
  private var retry: Timer?
  var onOpen: (@EventLoop (Connection) -> Void)?
  /// Called when the connection is lost, and when one could not be made.
  var onLoss: (@EventLoop () -> Void)?
  var onChange: (@EventLoop () -> Void)?

  /// - Parameters:
  ///   - settings: the settings of each connection.
  ///   - timeout: the time after which the server ends a statement.
  ///   - guardian: the guard that detects a silent server.
  ///   - decides: whether the server counts as silent when it is silent here.
  init(
    _ settings: ConnectionSettings,
    timeout: Duration,
    _ guardian: SilenceGuard,
    decides: Bool = false
  ) {
    self.settings = settings
    watch = ConnectionWatch(
      suspicion: guardian.suspicion,
      limit: guardian.limit(for: timeout),
      onSuspicion: { guardian.probe?() },
      onSilence: { if decides { guardian.serverIsSilent($0) } }
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

  private func connect() {
    EventLoop.task { [self] in
      do throws(DatabaseError) {
        let connection = try await Connection.open(settings, watch: watch)
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
    onLoss?()
    onChange?()
    let ceiling = min(2_000, 25 << min(attempts, 7))
    retry = Timer(after: .milliseconds(Int.random(in: ceiling / 2...ceiling))) { [weak self] in
      self?.connect()
    }
  }
}
