import Configuration
import EventLoop
import Glibc

/// Heartbeats: each worker counts on the metrics board while its loop turns.
///
/// A worker whose loop has stopped accepts connections all the same, by its socket's queue. Its
/// clients would wait until nginx gives up.
enum Heartbeat {
  /// The time between two heartbeats, and between two checks.
  static let interval = Duration.milliseconds(500)
  static let checksInSecond = 2
}

/// The silence of a worker since its last heartbeat.
///
/// A worker that gets no processor, since many other processes want one, is silent too. So time alone
/// does not count: a frozen loop uses no processor at all, and an endless one uses much.
struct Silence {
  private var heartbeats: UInt64 = 0
  /// The processor time of the worker at the last heartbeat and at the last check, in nanoseconds.
  private var timeAtHeartbeat: UInt64 = 0
  private var timeAtCheck: UInt64 = 0
  /// The checks in a row that found neither a heartbeat nor the use of a processor.
  private var idleChecks = 0

  /// Checks whether the loop has stopped.
  ///
  /// - Parameters:
  ///   - heartbeats: the heartbeats until now; 0 before the first one.
  ///   - time: the processor time of the worker until now, in nanoseconds.
  ///   - seconds: how long the loop may be frozen, or use a processor without a heartbeat.
  /// - Returns: whether it has.
  mutating func hasStopped(
    at heartbeats: UInt64, processorTime time: UInt64, after seconds: Int
  ) -> Bool {
    defer { timeAtCheck = time }
    guard heartbeats > 0, heartbeats == self.heartbeats else {
      (self.heartbeats, timeAtHeartbeat, idleChecks) = (heartbeats, time, 0)
      return false
    }
    idleChecks = time == timeAtCheck ? idleChecks + 1 : 0
    return idleChecks >= seconds * Heartbeat.checksInSecond
      || time - min(time, timeAtHeartbeat) >= UInt64(seconds) * 1_000_000_000
  }
}

extension Worker {
  func beginHeartbeats() {
    EventLoop.task { [metrics] in
      while true {
        metrics.beat()
        await EventLoop.sleep(for: Heartbeat.interval)
      }
    }
  }
}

extension Supervisor {
  /// Kills each worker whose loop has stopped, so that nginx asks another one at once.
  ///
  /// It counts its own checks: a host that was suspended stops the supervisor too.
  func watchHeartbeats() {
    guard configuration.stallSeconds > 0 else { return }
    _ = Timer(after: Heartbeat.interval) { [self] in
      for worker in living.values
      where worker.hasStopped(
        at: board.heartbeats(of: worker.slot), after: configuration.stallSeconds
      ) {
        Log.write(
          "error",
          "worker \(worker.id) has not responded for \(configuration.stallSeconds) s, and is killed"
        )
        worker.send(SIGKILL)
      }
      watchHeartbeats()
    }
  }
}
