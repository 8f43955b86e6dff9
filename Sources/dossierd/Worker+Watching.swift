import Configuration
import Dossier
import EventLoop
import Postgres

/// What a worker sees of its own state, and tells in the log when it changes, and in the metrics.
extension Worker {
  /// Starts to connect.
  func startDatabase() {
    database.start { [metrics] state in
      switch state {
      case .connecting: break
      case .connected: Log.write("info", "the database is connected")
      case .incomplete(let reason):
        Log.write("warning", "the database refuses further connections: \(reason)")
      case .away(let reason): Log.write("error", "the database is away: \(reason)")
      }
      metrics[.databaseUp] = state.isUp ? 1 : 0
    }
  }

  /// Waits until a request could be served, or it is known why not.
  ///
  /// - Parameter whenReady: a worker that could serve nothing is not to start. Else it does, and
  ///   waits for what is missing; but never with a master key that is not the database's.
  /// - Returns: nil, or why it does not start, and the status to end with.
  func reasonNotToStart(whenReady: Bool) async -> (String, Int32)? {
    // For 10 seconds, in which a database that is there lets even a crowd of workers in.
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

  /// Looks every few seconds whether a request could be served, and every second at the rest.
  func watch() {
    EventLoop.task { [self] in
      var last: ReadinessCheck.Fault?
      var isFirst = true
      while true {
        let fault = await readiness.fault()
        metrics[.ready] = fault == nil ? 1 : 0
        // Why the database is away has been told.
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
    metrics[.largeValues] = load.large
    metrics[.largeValuesWaiting] = load.largeWaiting
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
