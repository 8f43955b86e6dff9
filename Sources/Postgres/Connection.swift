import CPostgres
internal import DequeModule
package import EventLoop
import Glibc

/// One pipelined connection to PostgreSQL, driven by the loop.
///
/// Statements of one turn of the loop are sent together and share one sync. After a failed
/// statement, the server aborts all later ones up to the sync. Aborted statements had no effect and
/// are sent again. So only the caller of the failed one gets an error.
@safe @EventLoop package final class Connection {
  nonisolated(unsafe) let pointer: OpaquePointer
  private let connectionWatch: ConnectionWatch?
  private let observer: StatementObserver?
  private let preparesStatements: Bool
  private var watch: Watch?
  /// The expected replies, in the order sent.
  var expected = Deque<Expectation>()
  /// The statements that the server has prepared, or will have after the pending messages.
  private var prepared: Set<UInt> = []
  /// The number of failed preparations of each statement.
  ///
  /// A pooler keeps the name of a failed preparation, so the next one takes another name.
  private var failedPreparations: [UInt: Int] = [:]
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
  ///   - settings: tell whether to prepare statements, and the observer of each statement.
  init(_ pointer: OpaquePointer, watch: ConnectionWatch?, _ settings: ConnectionSettings) {
    unsafe self.pointer = pointer
    connectionWatch = watch
    observer = settings.observer
    preparesStatements = settings.preparesStatements
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
    let isPrepared = preparesStatements && call.composed == nil
    let newName = failedPreparations.isEmpty ? nil : newName(of: call.name)
    if isPrepared, prepared.insert(call.name.address).inserted {
      let sent =
        if let newName {
          unsafe PQsendPrepare(pointer, newName, call.sql.cString, 0, nil)
        } else {
          unsafe PQsendPrepare(pointer, call.name.cString, call.sql.cString, 0, nil)
        }
      guard sent == 1 else {
        prepared.remove(call.name.address)
        return fail(call, lastError)
      }
      expected.append(.prepared(call))
    }
    let (pointer, name, sql) = unsafe (pointer, call.name.cString, call.sql.cString)
    let composed = call.composed
    let sent = unsafe call.parameters.withPointers { values, count in
      if isPrepared, let newName {
        unsafe PQsendQueryPrepared(pointer, newName, count, values, nil, nil, 0)
      } else if isPrepared {
        unsafe PQsendQueryPrepared(pointer, name, count, values, nil, nil, 0)
      } else if let composed {
        unsafe PQsendQueryParams(pointer, composed, count, nil, values, nil, nil, 0)
      } else {
        unsafe PQsendQueryParams(pointer, sql, count, nil, values, nil, nil, 0)
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
        forgetPreparation(of: call.name)
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
          if !isBeingPrepared(call.name) { forgetPreparation(of: call.name) }
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

  /// Lets the next call of a statement prepare it again.
  private func forgetPreparation(of name: StaticString) {
    guard prepared.remove(name.address) != nil else { return }
    failedPreparations[name.address, default: 0] += 1
  }

  /// Returns the name of a statement after failed preparations; nil if none has failed.
  private func newName(of name: StaticString) -> String? {
    failedPreparations[name.address].map { "\(name) \($0)" }
  }

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

extension Connection {
  /// Connects without blocking the loop.
  ///
  /// - Throws: `.connectionFailure` with libpq's message, also if `settings.timeout` has passed.
  package static func open(_ settings: ConnectionSettings) async throws(DatabaseError) -> Connection
  {
    try await open(settings, watch: nil)
  }

  static func open(
    _ settings: ConnectionSettings, watch: ConnectionWatch?
  ) async throws(DatabaseError) -> Connection {
    let hosts = ConnectionHosts(settings.conninfo).overrides
    // Each host has its own share, so a late timer of one takes no time from the next.
    let share = settings.timeout / max(1, hosts.count)
    var failures: [DatabaseError] = []
    for host in hosts {
      do throws(DatabaseError) {
        return try await open(settings, host: host, within: share, watch: watch)
      } catch {
        failures.append(error)
      }
    }
    guard let last = failures.last else {
      throw DatabaseError(.connectionFailure, "the connection string names no host")
    }
    guard failures.count > 1 else { throw last }
    throw DatabaseError(last.state, failures.map(\.message).joined(separator: "\n"))
  }

  private static func open(
    _ settings: ConnectionSettings, host: [(String, String)], within timeout: Duration,
    watch: ConnectionWatch?
  ) async throws(DatabaseError) -> Connection {
    guard let pointer = unsafe begin(settings, host) else {
      throw DatabaseError(.connectionFailure, "libpq is out of memory")
    }
    let connection = unsafe Connection(pointer, watch: watch, settings)
    do throws(DatabaseError) {
      try await connection.finishOpening(within: timeout)
    } catch {
      connection.fail(error)
      // PgBouncer's error for the startup parameters that each connection sets.
      guard !error.message.contains("unsupported startup parameter") else {
        throw DatabaseError(
          .connectionFailure,
          "\(error.message) (for PgBouncer, set `pooler`; otherwise name PostgreSQL itself)"
        )
      }
      throw error
    }
    connection.start()
    return connection
  }

  private static func begin(
    _ settings: ConnectionSettings, _ host: [(String, String)]
  ) -> OpaquePointer? {
    // The connection string overrides the keywords before it. Those after it override it.
    var words = [
      // Detect a dead host, so that no connection to it stays open for hours.
      ("tcp_user_timeout", "3000"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
      ("keepalives_count", "2"),
      ("dbname", settings.conninfo), ("application_name", settings.applicationName),
      ("client_encoding", "UTF8"),
    ]
    words += host
    if !settings.parameters.isEmpty { words.append(("options", settings.options)) }
    let keys = unsafe words.map { unsafe strdup($0.0) }
    let values = unsafe words.map { unsafe strdup($0.1) }
    defer { unsafe (keys + values).forEach { unsafe free($0) } }
    // The `dbname` may be a whole connection string.
    return unsafe PQconnectStartParams(
      keys.map { unsafe UnsafePointer($0) } + [nil],
      values.map { unsafe UnsafePointer($0) } + [nil], 1
    )
  }

  private func finishOpening(within timeout: Duration) async throws(DatabaseError) {
    guard unsafe PQstatus(pointer) != CONNECTION_BAD else { throw lastError }
    let timeout = connectTimeout ?? timeout
    let deadline = EventLoop.now() + timeout.nanoseconds
    var interest = Readiness.write
    while true {
      let now = EventLoop.now()
      // The socket may change with each step.
      guard deadline > now,
        await isReady(
          unsafe PQsocket(pointer), for: interest, within: .nanoseconds(Int64(deadline - now))
        )
      else {
        throw DatabaseError(.connectionFailure, "no connection within \(timeout)")
      }
      switch unsafe PQconnectPoll(pointer) {
      case PGRES_POLLING_READING: interest = .read
      case PGRES_POLLING_WRITING: interest = .write
      case PGRES_POLLING_OK:
        guard unsafe PQsetnonblocking(pointer, 1) == 0 else { throw lastError }
        // libpq would print warnings to standard error, in the middle of the log.
        unsafe PQsetNoticeProcessor(pointer, { _, _ in }, nil)
        return
      default: throw lastError
      }
    }
  }

  /// The `connect_timeout` of the connection string; nil without one.
  ///
  /// libpq observes it only in its own loop.
  private var connectTimeout: Duration? {
    guard let options = unsafe PQconninfo(pointer) else { return nil }
    defer { unsafe PQconninfoFree(options) }
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if unsafe strcmp(keyword, "connect_timeout") == 0, let value = unsafe option.pointee.val,
        let seconds = unsafe Int(String(cString: value)), (1...86_400).contains(seconds)
      {
        return .seconds(seconds)
      }
      unsafe option += 1
    }
    return nil
  }

  private func isReady(
    _ descriptor: Int32, for interest: Readiness, within delay: Duration
  ) async -> Bool {
    var watch: Watch?
    var timer: Timer?
    let isReady = await unsafe withUnsafeContinuation {
      (continuation: UnsafeContinuation<Bool, Never>) in
      var isWaiting = true
      func settle(_ outcome: Bool) {
        guard isWaiting else { return }
        isWaiting = false
        unsafe continuation.resume(returning: outcome)
      }
      watch = try? Watch(descriptor, for: interest) { _ in settle(true) }
      timer = Timer(after: delay) { settle(false) }
      if watch == nil { settle(false) }
    }
    watch?.cancel()
    timer?.cancel()
    return isReady
  }
}
