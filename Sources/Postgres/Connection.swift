import CPostgres
internal import DequeModule
package import EventLoop

/// One pipelined connection to PostgreSQL, driven by the loop.
///
/// Statements of one turn of the loop are sent together and share one sync. After a failed
/// statement, the server aborts all later ones up to the sync. Aborted statements had no effect and
/// are sent again. So only the caller of the failed one gets an error.
@safe @EventLoop package final class Connection {
  nonisolated(unsafe) let pointer: OpaquePointer
  private let connectionWatch: ConnectionWatch?
  private let observer: StatementObserver?
  private var watch: Watch?
  /// The expected replies, in the order sent.
  var expected = Deque<Expectation>()
  /// The statements that the server has prepared, or will have after the pending messages.
  private var prepared: Set<UInt> = []
  private var isSyncDue = false
  /// The failure since the last sync; the server aborts all statements after it.
  private var abortion: DatabaseError?
  private var watchdog: Timer?
  /// The time of the server's last message, or of the first request when no reply was due.
  private var lastHeard: UInt64 = 0
  private var isOwed = false
  private(set) var failure: DatabaseError?
  /// Called once, when the connection has become unusable.
  var onFailure: (@EventLoop (DatabaseError) -> Void)?

  /// Takes ownership of a connection.
  ///
  /// - Parameters:
  ///   - pointer: a libpq connection, open or opening; freed when it fails or is closed.
  ///   - watch: the limits for the server's silence while a reply is due.
  ///   - observer: observes each statement; nil for none.
  init(_ pointer: OpaquePointer, watch: ConnectionWatch?, observer: StatementObserver?) {
    unsafe self.pointer = pointer
    connectionWatch = watch
    self.observer = observer
  }

  /// The number of statements that wait for their reply.
  package var load: Int { expected.count }

  // MARK: Sending

  func send(_ call: PendingQuery) {
    if let observer { call.observe(observer) }
    guard failure == nil else { return call.fail(failure ?? closed) }
    guard unsafe PQenterPipelineMode(pointer) == 1 else {
      return call.fail(lastError)
    }
    if call.composed == nil, prepared.insert(call.name.address).inserted {
      guard unsafe PQsendPrepare(pointer, call.name.cString, call.sql.cString, 0, nil) == 1 else {
        prepared.remove(call.name.address)
        return fail(call, lastError)
      }
      expected.append(.prepared(call))
    }
    let (pointer, name, composed) = unsafe (pointer, call.name.cString, call.composed)
    let sent = unsafe call.parameters.withPointers { values, count in
      if let composed {
        unsafe PQsendQueryParams(pointer, composed, count, nil, values, nil, nil, 0)
      } else {
        unsafe PQsendQueryPrepared(pointer, name, count, values, nil, nil, 0)
      }
    }
    // Keep the expectation of `prepared`; the server replies to it even if this send failed.
    guard sent == 1 else { return fail(call, lastError) }
    expected.append(.result(call))
    scheduleSync()
  }

  /// Fails a call that could not be sent, and also the connection if libpq has closed it.
  ///
  /// Another connection may soon reuse its descriptor.
  private func fail(_ call: PendingQuery, _ error: DatabaseError) {
    call.fail(error)
    if unsafe PQstatus(pointer) == CONNECTION_BAD || PQsocket(pointer) < 0 { fail(error) }
  }

  private func scheduleSync() {
    guard !isSyncDue else { return }
    isSyncDue = true
    EventLoop.atEndOfTurn { [self] in sync() }
  }

  /// Ends the current batch, and so the range that a failure aborts.
  private func sync() {
    guard failure == nil, isSyncDue else { return }
    isSyncDue = false
    guard unsafe PQpipelineSync(pointer) == 1 else { return fail(lastError) }
    expected.append(.sync)
    if !isOwed {
      isOwed = true
      lastHeard = EventLoop.now()
    }
    if watchdog == nil, let connectionWatch { startWatchdog(connectionWatch.suspicion) }
    flush()
  }

  /// Writes pending bytes, now or when the socket accepts more.
  func flush() {
    switch unsafe PQflush(pointer) {
    case 0: listen(for: .read)
    case 1: listen(for: .readOrWrite)
    default: fail(lastError)
    }
  }

  private func listen(for interest: Readiness) {
    do throws(EventLoopError) {
      if let watch { return try watch.change(to: interest) }
      watch = try Watch(unsafe PQsocket(pointer), for: interest) { [unowned self] in act($0) }
    } catch {
      fail(DatabaseError(.connectionFailure, error.description))
    }
  }

  /// Sends and receives what the socket is ready for.
  ///
  /// The call keeps the connection alive, which a failure may release.
  private func act(_ readiness: Readiness) {
    if readiness.overlaps(.write) { flush() }
    if readiness.overlaps(.readOrHangUp) { receive() }
  }

  /// Starts to listen on a new connection.
  func start() { listen(for: .read) }

  // MARK: Receiving

  private func receive() {
    guard failure == nil else { return }
    guard unsafe PQconsumeInput(pointer) == 1 else { return fail(lastError) }
    lastHeard = EventLoop.now()
    var again: [PendingQuery] = []
    while failure == nil, let expectation = expected.first, unsafe PQisBusy(pointer) == 0 {
      if let result = unsafe PQgetResult(pointer) {
        unsafe settle(expectation, with: ResultSet(result), &again)
      } else {
        settle(expectation, with: nil, &again)
      }
    }
    if failure == nil, unsafe PQstatus(pointer) == CONNECTION_BAD { fail(lastError) }
    if expected.isEmpty { isOwed = false }
    // Each in its own batch, since other aborted statements may fail too.
    for call in again {
      call.attempts += 1
      guard call.attempts < 3 else {
        call.fail(DatabaseError(.laneFull, "aborted with others' statements"))
        continue
      }
      send(call)
      sync()
    }
  }

  private func settle(
    _ expectation: Expectation, with result: ResultSet?, _ again: inout [PendingQuery]
  ) {
    switch expectation {
    case .prepared(let call):
      guard let result else { return drop() }
      if let failure = result.failure {
        prepared.remove(call.name.address)
        if !result.isAborted {
          call.preparationFailure = failure
          abortion = failure
        }
      }
    case .result(let call):
      guard let result else { return drop() }
      if result.isAborted {
        if call.group != nil {
          call.fail(abortion ?? DatabaseError(.invalidTransaction, "its transaction has failed"))
        } else if let failure = call.preparationFailure {
          call.fail(failure)
        } else {
          again.append(call)
        }
      } else if let failure = result.failure {
        abortion = failure
        // Another statement's failure aborted its preparation in an earlier batch.
        if call.group == nil, failure.state == SQLState(rawValue: "26000") {
          if !isBeingPrepared(call.name) { prepared.remove(call.name.address) }
          again.append(call)
        } else {
          call.fail(failure)
          if failure.isConnectionLost { fail(failure) }
        }
      } else {
        call.complete(result)
      }
    case .sync:
      // The result of a sync. A nil before it belongs to the statement already completed.
      if let result, unsafe PQresultStatus(result.pointer) == PGRES_PIPELINE_SYNC {
        expected.removeFirst()
        abortion = nil
      } else if result == nil {
        fail(DatabaseError(.connectionFailure, "the pipeline lost its place"))
      }
    case .plain(let call):
      guard let result else {
        expected.removeFirst()
        return call.complete()
      }
      call.append(result)
    }
  }

  private func drop() { expected.removeFirst() }

  /// Returns whether another aborted call prepares the statement again; preparing it twice fails.
  private func isBeingPrepared(_ name: StaticString) -> Bool {
    expected.contains { expectation in
      if case .prepared(let call) = expectation { call.name.address == name.address } else { false }
    }
  }

  // MARK: Ending

  /// Closes the connection; pending calls fail.
  package func close() { fail(closed) }

  private var closed: DatabaseError {
    DatabaseError(.connectionFailure, "the connection is closed")
  }

  var lastError: DatabaseError {
    let message = unsafe String(cString: PQerrorMessage(pointer)).trimmed
    return DatabaseError(.connectionFailure, message)
  }

  func fail(_ error: DatabaseError) {
    guard failure == nil else { return }
    let error = error.isConnectionLost ? error : DatabaseError(.connectionFailure, error.message)
    failure = error
    watch?.cancel()
    watch = nil
    watchdog?.cancel()
    unsafe PQfinish(pointer)
    let owed = expected
    expected.removeAll()
    for expectation in owed { expectation.fail(with: error) }
    onFailure?(error)
    onFailure = nil
  }

  /// Starts the timer that detects a server, or network, that stopped without notice.
  private func startWatchdog(_ delay: Duration) {
    watchdog = Timer(after: delay) { [weak self] in self?.lookWhetherSilent() }
  }

  private func lookWhetherSilent() {
    watchdog = nil
    guard let connectionWatch, failure == nil, isOwed else { return }
    let (suspicion, limit) = (connectionWatch.suspicion, connectionWatch.limit)
    let silence = Duration.nanoseconds(Int64(clamping: EventLoop.now() &- lastHeard))
    guard silence >= suspicion else { return startWatchdog(suspicion - silence) }
    guard silence < limit else {
      let error = DatabaseError(.connectionFailure, "no answer within \(limit)")
      fail(error)
      return connectionWatch.onSilence(error)
    }
    startWatchdog(limit - silence)
    connectionWatch.onSuspicion()
  }

  /// Returns the oldest statement if the server has been silent for this time.
  func stuckCall(for time: Duration) -> PendingQuery? {
    guard isOwed, EventLoop.now() &- lastHeard >= time.nanoseconds else { return nil }
    for case .result(let call) in expected { return call }
    return nil
  }

  /// Fails the connection if the server has been silent for this time, or if no reply is due.
  func giveUp(ifSilentFor time: Duration, _ error: DatabaseError) {
    if isOwed, EventLoop.now() &- lastHeard < time.nanoseconds { return }
    fail(error)
  }
}

/// Limits for the server's silence on a connection while a reply is due.
struct ConnectionWatch {
  /// The time after which `onSuspicion` is called.
  let suspicion: Duration
  /// The time after which the connection fails.
  let limit: Duration
  let onSuspicion: @EventLoop () -> Void
  let onSilence: @EventLoop (DatabaseError) -> Void
}
