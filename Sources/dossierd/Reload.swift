import Configuration
import EventLoop
import Glibc

/// The replacement of all workers.
///
/// The old ones end when every new one is ready. If a new one fails, the old ones continue.
@EventLoop final class Reload {
  private unowned let supervisor: Supervisor
  private var starting: Set<pid_t> = []
  private var ready: [WorkerProcess] = []
  private let count: Int
  private let settings: SettingsSnapshot?
  private let answer: @EventLoop (String?) -> Void

  /// Prepares a replacement.
  ///
  /// - Parameters:
  ///   - supervisor: the supervisor of the workers.
  ///   - settings: the settings of the new workers.
  ///   - answer: called once, with nil or the reason why nothing changed.
  init(
    _ supervisor: Supervisor, _ settings: SettingsSnapshot?,
    _ answer: @escaping @EventLoop (String?) -> Void
  ) {
    self.supervisor = supervisor
    self.settings = settings
    self.answer = answer
    count = supervisor.sockets.count
  }

  func start() {
    Log.write("info", "replacing \(count) workers")
    do throws(SocketError) {
      for index in 0..<count {
        let worker = try supervisor.startWorker(index, settings, isReload: true) { [self] in
          isReady($0)
        }
        starting.insert(worker.id)
      }
    } catch {
      giveUp(error.description)
    }
  }

  /// Forgets a worker that ended, and returns whether it was one of the replacements.
  ///
  /// The system may give its process id to another program.
  func forget(_ worker: WorkerProcess) -> Bool {
    starting.remove(worker.id) != nil || ready.contains { $0 === worker }
  }

  private func isReady(_ worker: WorkerProcess) {
    // A worker that was given up may become ready before its signal arrives.
    guard starting.remove(worker.id) != nil else { return }
    ready.append(worker)
    guard ready.count == count else { return }
    supervisor.reload = nil
    supervisor.take(ready, settings)
    Log.write("info", "\(count) workers replaced")
    answer(nil)
  }

  func giveUp(_ reason: String) {
    guard supervisor.reload === self else { return }
    supervisor.reload = nil
    supervisor.tellRefused(reason)
    // Workers that are not ready have accepted nothing.
    for process in starting { kill(process, SIGKILL) }
    for worker in ready { supervisor.retire(worker) }
    answer(reason)
  }
}

extension Supervisor {
  /// Reports why a reload has changed nothing, in the log and in `systemctl status`.
  fileprivate func tellRefused(_ reason: String) {
    let line = "the old workers keep running: \(reason)"
    Log.write("error", line)
    tell(status: line)
  }

  /// Replaces the workers, with the current program and settings.
  ///
  /// - Parameter answer: called once, with nil or the reason why the old workers continue.
  func replaceAll(_ answer: @escaping @EventLoop (String?) -> Void) {
    func refuse(_ reason: String) {
      tellRefused(reason)
      answer(reason)
    }
    if isEnding { return refuse("dossierd is ending") }
    if reload != nil { return refuse("another reload is in progress") }
    do throws(SocketError) {
      let snapshot = try Self.snapshot(options)
      // The new program validates the file. This check is only for changes that a reload cannot
      // apply.
      let fixed = options.values(snapshot?.file).needingRestart(since: settings)
      if !fixed.isEmpty {
        return refuse(fixed.joined(separator: "; ") + ": that needs a restart")
      }
      let reload = Reload(self, snapshot, answer)
      self.reload = reload
      reload.start()
    } catch {
      refuse(error.description)
    }
  }
}
