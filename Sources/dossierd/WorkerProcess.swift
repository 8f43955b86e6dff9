import CLinux
import Configuration
import EventLoop
import Glibc

/// A worker process, from its start to its end.
@EventLoop final class WorkerProcess {
  private let process: ChildProcess
  var id: pid_t { process.id }
  /// Its slot on the metrics board.
  let slot: Int
  /// The index of the supervisor's socket on which it accepts.
  let index: Int
  let startedAt = EventLoop.now()
  /// Whether it accepts connections.
  private(set) var isReady = false
  private var silence = Silence()
  private let complaint: CapturedStderr
  private let report: Int32
  private var watch: Watch?

  /// The descriptor of the readiness pipe in a worker.
  ///
  /// When ready, the worker writes a byte and closes it.
  static let reportInherited: Int32 = 4

  /// Starts a worker.
  ///
  /// - Parameters:
  ///   - program: the path of dossierd.
  ///   - words: its arguments after the program name.
  ///   - index: the index of its socket.
  ///   - socket: the listening socket, which becomes descriptor 0.
  ///   - board: the metrics board.
  ///   - slot: its slot on the board.
  ///   - settings: the settings file, if there is one.
  ///   - onReady: called once, if the worker becomes ready.
  /// - Throws: `SocketError` if the program is missing, or no descriptor or process is left.
  init(
    program: String, words: [String], index: Int, socket: Int32, board: MetricsBoard, slot: Int,
    settings: SettingsSnapshot?, onReady: @escaping @EventLoop (WorkerProcess) -> Void
  ) throws(SocketError) {
    let complaint = try CapturedStderr()
    var ends: [Int32] = [-1, -1]
    guard pipe2(&ends, O_CLOEXEC) == 0 else {
      throw SocketError("no worker: \(systemMessage(errno))")
    }
    defer { close(ends[1]) }
    var descriptors: [(Int32, Int32)] = [
      (socket, 0), (complaint.descriptor, 2), (board.descriptor, MetricsBoard.inherited),
      (ends[1], Self.reportInherited),
    ]
    let file = settings?.open()
    if let file { descriptors.append((file, SettingsSnapshot.inherited)) }
    defer { if let file { close(file) } }
    do throws(EventLoopError) {
      process = try ChildProcess(program, words, on: descriptors)
    } catch {
      close(ends[0])
      throw SocketError("no worker: \(error)")
    }
    self.slot = slot
    self.index = index
    self.complaint = complaint
    report = ends[0]
    CLinux_make_nonblocking(report)
    watch = try? Watch(report, for: .read) { [unowned self] _ in
      takeReport()
      watch?.cancel()
      watch = nil
      if isReady { onReady(self) }
    }
  }

  private func takeReport() {
    var byte: UInt8 = 0
    if read(report, &byte, 1) == 1 { isReady = true }
  }

  deinit { close(report) }

  func send(_ signal: Int32) { process.signal(signal) }

  /// Checks whether its loop has stopped.
  ///
  /// - Parameters:
  ///   - heartbeats: the heartbeats of the worker until now.
  ///   - seconds: the time after which a silent worker counts as stopped.
  /// - Returns: whether it has.
  func hasStopped(at heartbeats: UInt64, after seconds: Int) -> Bool {
    silence.hasStopped(at: heartbeats, processorTime: process.processorTime, after: seconds)
  }

  /// Returns how it ended, in words and without client data.
  func ending(_ status: Int32) -> String {
    // It may have become ready and ended before this check.
    takeReport()
    let end = WaitStatus(status).description
    return complaint.words(all: !isReady).map { "\(end): \($0)" } ?? end
  }

  /// Stops waiting for its readiness.
  func forget() {
    watch?.cancel()
    watch = nil
  }
}

/// The limit on the files that a process may open.
enum Descriptors {
  /// Raises the limit for the workers, and logs an error if the hard limit is too low.
  ///
  /// Connections without a descriptor wait. The workers inherit the limit.
  static func raise(for configuration: Configuration) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let needed = rlim_t(configuration.files)
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
    limit.rlim_cur = min(needed, limit.rlim_max)
    setrlimit(resource, &limit)
    getrlimit(resource, &limit)
    guard limit.rlim_cur < needed else { return }
    Log.write(
      "error",
      "only \(limit.rlim_cur) files may be open (ulimit -n, LimitNOFILE), "
        + "and \(configuration.connections) connections need \(needed)"
    )
  }
}
