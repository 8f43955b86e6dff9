import Accounts
import Configuration
import Runtime
import Tenancy
import EventLoop
import Postgres

/// The monitoring of a worker's own state, with log lines for changes, and metrics.
extension Worker {
  /// Starts the database connections.
  func startDatabase() {
    database.start { [metrics] state in
      switch state {
      case .connecting: break
      case .connected: Log.write("info", "the database is connected")
      case .incomplete(let reason):
        Log.write("warning", "the database refuses further connections: \(reason)")
      case .away(let reason): Log.write("error", "the database is unavailable: \(reason)")
      }
      metrics[.databaseUp] = state.isUp ? 1 : 0
    }
  }

  /// Waits until the worker can serve, or until the reason why not is known.
  ///
  /// - Parameter whenReady: whether the worker must be able to serve before it starts. If not, it
  ///   starts and waits for missing parts. It never starts with a master key that is not the
  ///   database's.
  /// - Returns: nil, or the reason why it does not start and its exit status.
  func reasonNotToStart(whenReady: Bool) async -> (String, Int32)? {
    // Waits up to 10 seconds. In that time, a running database accepts even many workers.
    let deadline = EventLoop.now() + 10_000_000_000
    await database.settle()
    var fault = await readiness.fault()
    while whenReady, fault?.check == .database, EventLoop.now() < deadline {
      await EventLoop.sleep(for: .milliseconds(20))
      fault = await readiness.fault()
    }
    guard let fault else { return nil }
    if fault.check == .masterKey { return (fault.description, 78) }
    return whenReady ? ("not ready: \(fault)", 69) : nil
  }

  /// Checks readiness every few seconds, and everything else every second.
  func watch() {
    EventLoop.task { [self] in
      var last: ReadinessCheck.Fault?
      var isFirst = true
      while true {
        let fault = await readiness.fault()
        metrics[.ready] = fault == nil ? 1 : 0
        // The database's state changes were already logged.
        if fault != last, fault?.check != .database, !(isFirst && fault == nil) {
          Log.write(fault == nil ? "info" : "error", fault.map { "not ready: \($0)" } ?? "ready")
        }
        last = fault
        isFirst = false
        for _ in 0..<(fault == nil ? 10 : 2) {
          observe()
          await EventLoop.sleep(for: .seconds(1))
        }
      }
    }
  }

  private func observe() {
    let load = database.load
    metrics[.reads] = load.express
    metrics[.writes] = load.exclusive
    metrics[.writesWaiting] = load.exclusiveWaiting
    metrics[.searches] = load.search
    metrics[.searchesWaiting] = load.searchWaiting
    metrics[.largeReads] = load.large
    metrics[.largeReadsWaiting] = load.largeWaiting
    metrics[.hashing] = passwords.pool.load
  }
}

extension DatabaseState {
  fileprivate var isUp: Bool {
    switch self {
    case .connected, .incomplete: true
    case .connecting, .away: false
    }
  }
}
