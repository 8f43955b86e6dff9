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
  /// It counts its own checks and no time: a host that was suspended stops the supervisor too.
  func watchHeartbeats() {
    guard configuration.stallSeconds > 0 else { return }
    _ = Timer(after: Heartbeat.interval) { [self] in
      let limit = configuration.stallSeconds * Heartbeat.checksInSecond
      for worker in living.values
      where worker.silentChecks(at: board.heartbeats(of: worker.slot)) == limit {
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
