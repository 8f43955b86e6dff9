import CLinux
import Configuration
import EventLoop
import Glibc

/// Keeps the listening sockets open and a worker running on each.
///
/// The sockets outlive the workers. Connections made while a worker is replaced wait in the
/// kernel's queue for the next one. If workers cannot start, the supervisor closes them, so that
/// nginx asks another worker.
@EventLoop final class Supervisor {
  let options: ConfigurationOptions
  /// The settings at the start.
  let settings: SettingValues
  /// The settings file of the current workers.
  private var snapshot: SettingsSnapshot?
  let configuration: Configuration
  let board = MetricsBoard()
  private var ownsSockets = false
  var sockets: [ListeningSocket] = []
  private var seats: [WorkerSlot] = []
  /// All running workers: current ones, replacements that are not ready, and replaced ones that
  /// finish their last requests.
  private(set) var living: [pid_t: WorkerProcess] = [:]
  var reload: Reload?
  private var signals: Signals?
  private var control: ControlSocket?
  private let manager = ServiceManager()
  private var isStarted = false
  private(set) var isEnding = false
  private var exitStatus: Int32 = 0

  /// The place of a socket's current worker.
  private struct WorkerSlot {
    var worker: WorkerProcess?
    var failures = 0
    /// Closes connections until the next worker starts.
    var refusal: Watch?
  }

  /// Starts the supervisor.
  ///
  /// - Parameters:
  ///   - configuration: the settings in force.
  ///   - options: the source of the settings.
  ///   - given: the sockets created by systemd. If empty, the supervisor creates them.
  static func run(
    _ configuration: Configuration, _ options: ConfigurationOptions, given: [ListeningSocket]
  ) {
    ProcessHardening.keep()
    do {
      try Supervisor(configuration, options).start(given)
    } catch {
      Log.write("error", "\(error)")
      exit(1)
    }
  }

  private init(_ configuration: Configuration, _ options: ConfigurationOptions) throws {
    self.configuration = configuration
    self.options = options
    snapshot = try Self.snapshot(options)
    settings = options.values(snapshot?.file)
  }

  /// Returns the current settings file, if there is one.
  static func snapshot(_ options: ConfigurationOptions) throws(SocketError) -> SettingsSnapshot? {
    guard let path = options.config else { return nil }
    return try SettingsSnapshot(path)
  }

  private func start(_ given: [ListeningSocket]) throws {
    signals = try Signals([SIGTERM, SIGINT, SIGHUP, SIGCHLD]) { [self] signal in
      switch signal {
      case SIGCHLD: reap()
      case SIGHUP: replaceAll { _ in }
      default: end()
      }
    }
    sockets = given
    if sockets.isEmpty {
      ownsSockets = true
      for index in 0..<configuration.workers {
        sockets.append(try SocketName(index, configuration).listen(configuration))
      }
    }
    Descriptors.raise(for: configuration)
    do throws(SocketError) {
      control = try ControlSocket { [self] answer in replaceAll(answer) }
    } catch {
      // Another user may have taken the name. That must not prevent serving, and SIGHUP still
      // works.
      Log.write("error", error.description)
    }
    seats = sockets.map { _ in WorkerSlot() }
    for index in sockets.indices { seat(index) }
    watchHeartbeats()
    Log.write("info", "\(sockets.count) workers started")
  }

  // MARK: Workers

  private func seat(_ index: Int) {
    admit(index)
    guard !isEnding, seats[index].worker == nil else { return }
    do throws(SocketError) {
      seats[index].worker = try startWorker(index, snapshot) { [self] _ in tellStarted() }
    } catch {
      Log.write("error", error.description)
      seatLater(index, after: nil)
    }
  }

  /// Starts a worker that is not yet current.
  ///
  /// - Parameters:
  ///   - index: the index of its socket.
  ///   - settings: the settings file of the worker.
  ///   - isReload: whether it must be ready before it accepts, since the old worker still serves.
  ///   - onReady: called once, if the worker becomes ready.
  /// - Returns: the worker, which still needs a seat.
  /// - Throws: `SocketError` if it cannot be started.
  func startWorker(
    _ index: Int, _ settings: SettingsSnapshot?, isReload: Bool = false,
    onReady: @escaping @EventLoop (WorkerProcess) -> Void
  ) throws(SocketError) -> WorkerProcess {
    let taken = Set(living.values.map(\.slot))
    let slot = (0..<MetricsBoard.slots).first { !taken.contains($0) } ?? 0
    let worker = try WorkerProcess(
      program: OwnProgram.path,
      words: ["worker", "--slot", String(slot)] + (isReload ? ["--when-ready"] : [])
        // Chosen by the socket, since metrics slots change with each reload.
        + (index == 0 ? ["--maintenance"] : []) + options.arguments(hasSnapshot: settings != nil),
      index: index,
      socket: sockets[index].descriptor,
      board: board,
      slot: slot,
      settings: settings,
      onReady: onReady
    )
    living[worker.id] = worker
    return worker
  }

  /// Makes new workers current.
  ///
  /// The old ones finish the requests that they accepted, and end.
  func take(_ workers: [WorkerProcess], _ settings: SettingsSnapshot?) {
    snapshot = settings
    for worker in workers {
      let old = seats[worker.index].worker
      admit(worker.index)
      seats[worker.index] = WorkerSlot(worker: worker)
      if let old { retire(old) }
    }
    tellStarted()
    tell(status: "\(workers.count) workers replaced")
  }

  /// Shows a line in `systemctl status`.
  func tell(status: String) {
    manager.tell("STATUS=" + status.split(whereSeparator: \.isNewline).joined(separator: "; "))
  }

  /// Reports the start as complete once every socket has a ready worker.
  private func tellStarted() {
    guard !isStarted, seats.allSatisfy({ $0.worker?.isReady == true }) else { return }
    isStarted = true
    manager.tell("READY=1")
  }

  /// Lets a worker finish the requests that it accepted.
  ///
  /// It ends by itself at its deadline, or is killed.
  func retire(_ worker: WorkerProcess) {
    worker.send(SIGTERM)
    _ = Timer(after: configuration.drain + .seconds(2)) { [self] in
      guard living[worker.id] === worker else { return }
      Log.write("error", "worker \(worker.id) did not end in time, and is killed")
      worker.send(SIGKILL)
    }
  }

  private func reap() {
    var status: Int32 = 0
    while case let process = waitpid(-1, &status, WNOHANG), process > 0 {
      guard let worker = living.removeValue(forKey: process) else { continue }
      worker.forget()
      board.clear(worker.slot)
      ended(worker, status)
    }
    if isEnding, living.isEmpty { finish() }
  }

  private func ended(_ worker: WorkerProcess, _ status: Int32) {
    if let reload, reload.forget(worker) {
      reload.giveUp("worker \(worker.id) ended: \(worker.ending(status))")
    } else if seats[worker.index].worker === worker {
      seats[worker.index].worker = nil
      if isEnding { return }
      let ending = worker.ending(status)
      // The database rejects the settings, so a restart does not help.
      if !isStarted, WaitStatus(status).code == Run.unusable {
        Log.write("error", "no worker can start: \(ending)")
        return end(with: Run.unusable)
      }
      let delay = seatLater(worker.index, after: worker)
      let when = delay == 0 ? "" : " in \(delay) ms"
      Log.write("error", "worker \(worker.id) ended: \(ending); starting another\(when)")
    } else if status != 0, WaitStatus(status).signal != SIGKILL {
      Log.write("error", "worker \(worker.id), to be replaced, ended: \(worker.ending(status))")
    }
  }

  /// Replaces a worker after a delay.
  ///
  /// The first replacement starts at once. Repeated failures increase the delay.
  ///
  /// After a worker that was ready, the delay is at most a second, since clients have no worker
  /// meanwhile.
  @discardableResult
  private func seatLater(_ index: Int, after worker: WorkerProcess?) -> Int {
    if let worker, EventLoop.now() - worker.startedAt > 10_000_000_000 { seats[index].failures = 0 }
    let failures = seats[index].failures
    seats[index].failures += 1
    let longest = worker?.isReady == true ? 1_000 : 10_000
    let delay = failures == 0 ? 0 : min(longest, 100 << min(failures - 1, 8))
    if delay > 0, worker?.isReady != true { refuse(index) }
    _ = Timer(after: .milliseconds(delay)) { [self] in seat(index) }
    return delay
  }

  /// Closes the connections to a socket until its next worker starts.
  ///
  /// The last worker could not start. So the next one may not, and nginx would wait.
  private func refuse(_ index: Int) {
    let socket = sockets[index].descriptor
    admit(index)
    seats[index].refusal = try? Watch(socket, for: .read) { _ in
      let connection = accept4(socket, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
      if connection >= 0 { close(connection) }
    }
  }

  /// Leaves the connections to a socket to its worker.
  private func admit(_ index: Int) {
    seats[index].refusal?.cancel()
    seats[index].refusal = nil
  }

  // MARK: Ending

  private func end(with status: Int32 = 0) {
    guard !isEnding else {
      // Only the wait of `finish` remains.
      if living.isEmpty { exit(0) }
      return
    }
    exitStatus = status
    isEnding = true
    Log.write("info", "ending")
    manager.tell("STOPPING=1")
    for index in seats.indices { admit(index) }
    reload?.giveUp("dossierd is ending")
    // The workers still accept the connections in the queue. New connections are impossible.
    // systemd's sockets stay open for the next dossierd that it starts.
    if ownsSockets { for socket in sockets { socket.stop() } }
    for worker in living.values { retire(worker) }
    reap()
  }

  private func finish() {
    Log.write("info", "ended")
    guard exitStatus == Run.unusable, !ownsSockets else { exit(exitStatus) }
    _ = Timer(after: .seconds(Run.pause)) { [exitStatus] in exit(exitStatus) }
  }
}
