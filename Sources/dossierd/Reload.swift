import Configuration
import EventLoop
import Glibc

/// The replacement of all workers: the old ones end when every new one is ready, and go on when one
/// does not get there.
@EventLoop final class Reload {
  private unowned let supervisor: Supervisor
  private var starting: Set<pid_t> = []
  private var ready: [WorkerProcess] = []
  private let count: Int
  private let settings: SettingsSnapshot?
  private let answer: @EventLoop (String?) -> Void

  /// - Parameters:
  ///   - supervisor: whose workers are replaced.
  ///   - settings: what the new ones go by.
  ///   - answer: called once, with nil or with why nothing was changed.
  init(
    _ supervisor: Supervisor,
    _ settings: SettingsSnapshot?,
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

  /// Whether it is one of those that are to take a seat.
  func expects(_ worker: WorkerProcess) -> Bool {
    starting.contains(worker.id) || ready.contains { $0 === worker }
  }

  private func isReady(_ worker: WorkerProcess) {
    // One that was given up may get ready before its signal reaches it.
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
    Log.write("error", "the old workers go on: \(reason)")
    // Those that are not ready have accepted nothing.
    for process in starting { kill(process, SIGKILL) }
    for worker in ready { supervisor.retire(worker) }
    answer(reason)
  }
}

extension Supervisor {
  /// Replaces the workers, by the program and the settings as they are now.
  ///
  /// - Parameter answer: called once, with nil or with why the old workers go on.
  func replaceAll(_ answer: @escaping @EventLoop (String?) -> Void) {
    func refuse(_ reason: String) {
      Log.write("error", "the old workers go on: \(reason)")
      answer(reason)
    }
    if isEnding { return refuse("dossierd is ending") }
    if reload != nil { return refuse("they are being replaced already") }
    do throws(SocketError) {
      let snapshot = try Self.snapshot(options)
      // What the file says is for the new program to judge; here counts what it cannot change.
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
