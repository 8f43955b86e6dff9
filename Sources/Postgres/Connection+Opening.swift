import CPostgres
import Glibc
import EventLoop

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
    let connection = unsafe Connection(pointer, watch: watch, observer: settings.observer)
    do throws(DatabaseError) {
      try await connection.finishOpening(within: timeout)
    } catch {
      connection.fail(error)
      // PgBouncer's error for the startup parameters that each connection sets.
      guard !error.message.contains("unsupported startup parameter") else {
        throw DatabaseError(
          .connectionFailure,
          "\(error.message) (PgBouncer is not supported: name PostgreSQL itself)"
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

  // MARK: SQL that is not prepared, for tools

  /// Runs one or several statements by the simple protocol.
  ///
  /// Use it only on a connection without other users; no prepared statement may be in progress.
  /// - Returns: one result for each statement.
  /// - Throws: the failure of the first failed statement. The earlier ones have run, unless the
  ///   text has no transaction of its own. Then the server runs the whole text as one transaction.
  @discardableResult
  package func script(_ sql: String) async throws(DatabaseError) -> [TextResult] {
    try await plain { unsafe PQsendQuery(pointer, sql) }.map(\.text)
  }

  /// Runs one statement with parameters as text.
  ///
  /// Use it only on a connection without other users; no prepared statement may be in progress.
  @discardableResult
  package func query(
    _ sql: String, _ parameters: [String?] = []
  ) async throws(DatabaseError) -> TextResult {
    let results = try await plain {
      unsafe Parameters(parameters).withPointers { values, count in
        unsafe PQsendQueryParams(pointer, sql, count, nil, values, nil, nil, 0)
      }
    }
    return results.last?.text ?? TextResult(columns: [], rows: [], tag: "")
  }

  private func plain(_ send: () -> Int32) async throws(DatabaseError) -> [ResultSet] {
    try await unsafe withUnsafeContinuation {
      (continuation: UnsafeContinuation<Result<[ResultSet], DatabaseError>, Never>) in
      if let failure { return unsafe continuation.resume(returning: .failure(failure)) }
      precondition(expected.isEmpty, "plain SQL on a connection in use")
      guard unsafe PQexitPipelineMode(pointer) == 1, send() == 1 else {
        return unsafe continuation.resume(returning: .failure(lastError))
      }
      expected.append(.plain(unsafe PlainCall(continuation)))
      flush()
    }.get()
  }
}
