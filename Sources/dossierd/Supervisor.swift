import Configuration
import EventLoop
import Glibc

/// Keeps the listening sockets open and a worker running on each.
///
/// The sockets outlive the workers: what connects while a worker is being replaced waits in the
/// kernel's queue for the next one.
@EventLoop final class Supervisor {
  private let configuration: Configuration
  private let arguments: [String]
  private let board: MetricsBoard
  private var sockets: [Int32] = []
  private var ownsSockets = false
  private var ownedPaths: [String] = []
  private var workers: [Seat] = []
  /// Workers that were replaced and answer their last requests.
  private var retiring: Set<pid_t> = []
  /// Where each live worker counts.
  private var slots: [pid_t: Int] = [:]
  private var signals: Signals?
  private var isEnding = false

  /// One worker's place: its socket, and who sits there.
  private struct Seat {
    var process: pid_t?
    var startedAt: UInt64 = 0
    var failures = 0
  }

  static func run(_ configuration: Configuration, arguments: [String]) {
    let supervisor = Supervisor(configuration, arguments)
    do {
      try supervisor.start()
    } catch {
      Log.write("error", "\(error)")
      exit(1)
    }
  }

  private init(_ configuration: Configuration, _ arguments: [String]) {
    self.configuration = configuration
    self.arguments = arguments
    board = MetricsBoard()
  }

  private func start() throws {
    signals = try Signals([SIGTERM, SIGINT, SIGHUP, SIGCHLD]) { [self] signal in
      switch signal {
      case SIGCHLD: reap()
      case SIGHUP: replaceAll()
      default: end()
      }
    }
    sockets = SocketName.inherited()
    if sockets.isEmpty {
      ownsSockets = true
      for index in 0..<configuration.workers {
        let name = SocketName(index, configuration)
        sockets.append(try name.listen(configuration))
        if let path = name.path { ownedPaths.append(path) }
      }
    }
    workers = sockets.map { _ in Seat() }
    for index in sockets.indices { seat(index) }
    Log.write("info", "\(sockets.count) workers started")
  }

  // MARK: Workers

  private func seat(_ index: Int) {
    guard !isEnding else { return }
    workers[index].startedAt = EventLoop.now()
    do throws(SocketError) {
      let slot = freeSlot
      let process = try spawn(on: sockets[index], slot: slot)
      workers[index].process = process
      slots[process] = slot
    } catch {
      Log.write("error", error.description)
      workers[index].process = nil
      seatLater(index)
    }
  }

  private var freeSlot: Int {
    let taken = Set(slots.values)
    return (0..<MetricsBoard.slots).first { !taken.contains($0) } ?? 0
  }

  private func spawn(on socket: Int32, slot: Int) throws(SocketError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, socket, 0)
    posix_spawn_file_actions_adddup2(&actions, board.descriptor, MetricsBoard.inherited)
    // The signals that are blocked here must reach the worker.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let words = ["dossierd", "worker", "--slot", String(slot)] + arguments
    let argv = words.map { strdup($0) } + [nil]
    defer { for word in argv { free(word) } }
    var process = pid_t()
    let code = posix_spawn(&process, Self.program, &actions, &attributes, argv, environ)
    guard code == 0 else { throw SocketError("no worker: \(systemMessage(code))") }
    return process
  }

  /// The program's file by the name it was started under, which an upgrade replaces.
  private static let program: String = {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    return count > 0
      ? String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : "dossierd"
  }()

  private func reap() {
    var status: Int32 = 0
    while case let process = waitpid(-1, &status, WNOHANG), process > 0 {
      slots[process] = nil
      if retiring.remove(process) == nil,
        let index = workers.firstIndex(where: { $0.process == process })
      {
        workers[index].process = nil
        if !isEnding {
          Log.write("error", "worker \(process) ended with status \(status); starting another")
          seatLater(index)
        }
      }
    }
    if isEnding, retiring.isEmpty, workers.allSatisfy({ $0.process == nil }) { finish() }
  }

  /// At once when it had lived for a while, else after 0.1 s, 0.2 s … 10 s.
  private func seatLater(_ index: Int) {
    let livedLong = EventLoop.now() - workers[index].startedAt > 10_000_000_000
    workers[index].failures = livedLong ? 0 : workers[index].failures + 1
    let delay = livedLong ? 0 : min(10_000, 50 << min(workers[index].failures, 8))
    _ = Timer(after: .milliseconds(delay)) { [self] in seat(index) }
  }

  private func replaceAll() {
    guard !isEnding else { return }
    Log.write("info", "replacing \(workers.count) workers")
    for index in workers.indices {
      let old = workers[index].process
      workers[index].failures = 0
      seat(index)
      guard let old else { continue }
      retiring.insert(old)
      // The new one accepts before the old one stops to.
      _ = Timer(after: .milliseconds(500)) { kill(old, SIGTERM) }
    }
  }

  // MARK: Ending

  private func end() {
    guard !isEnding else { return }
    isEnding = true
    Log.write("info", "ending")
    // What has connected is still accepted by the workers; nobody else can.
    // systemd's sockets live on, for the dossierd that it starts next.
    if !ownsSockets { sockets = [] }
    for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    for process in workers.compactMap(\.process) { kill(process, SIGTERM) }
    _ = Timer(after: configuration.drain + .seconds(2)) { [self] in
      for process in workers.compactMap(\.process) + retiring { kill(process, SIGKILL) }
    }
    reap()
  }

  private func finish() {
    for path in ownedPaths { unlink(path) }
    Log.write("info", "ended")
    exit(0)
  }
}
