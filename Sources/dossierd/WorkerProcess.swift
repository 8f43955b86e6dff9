import CLinux
import EventLoop
import Glibc

/// A worker that was started, until its end.
@EventLoop final class WorkerProcess {
  private let process: ChildProcess
  var id: pid_t { process.id }
  /// Where it counts on the board.
  let slot: Int
  /// Which of the supervisor's sockets it accepts on.
  let index: Int
  let startedAt = EventLoop.now()
  /// It accepts connections.
  private(set) var isReady = false
  private let complaint: Complaint
  private let report: Int32
  private var watch: Watch?

  /// The descriptor under which a worker finds the end of a pipe that it closes with a byte in it
  /// when it is ready.
  static let reportInherited: Int32 = 4

  /// Starts one.
  ///
  /// - Parameters:
  ///   - program: path of dossierd.
  ///   - words: its arguments, from the second on.
  ///   - index: of the socket among the supervisor's.
  ///   - socket: listening; it becomes descriptor 0.
  ///   - board: of metrics.
  ///   - slot: on the board.
  ///   - settings: of the file of settings, if there is one.
  ///   - onReady: called once, if it comes to that.
  /// - Throws: `SocketError` when there is no such program, or no descriptor or process left.
  init(
    program: String,
    words: [String],
    index: Int,
    socket: Int32,
    board: MetricsBoard,
    slot: Int,
    settings: SettingsSnapshot?,
    onReady: @escaping @EventLoop (WorkerProcess) -> Void
  ) throws(SocketError) {
    let complaint = try Complaint()
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

  /// How it ended, in words, without anything that may be a client's.
  func ending(_ status: Int32) -> String {
    // It may have got ready and ended before anybody looked.
    takeReport()
    let end = WaitStatus(status).description
    return complaint.words(all: !isReady).map { "\(end): \($0)" } ?? end
  }

  /// Stops looking whether it gets ready.
  func forget() {
    watch?.cancel()
    watch = nil
  }
}
