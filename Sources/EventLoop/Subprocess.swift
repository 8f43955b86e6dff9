import CLinux
import Glibc

/// A program that is given bytes and answers with bytes, once a run.
///
/// It gets its input as descriptor 0 and no descriptor of this process.
package struct Subprocess: Sendable {
  private let path: String
  private let arguments: [String]
  private let environment: [String: String]

  /// - Parameters:
  ///   - path: of an executable file.
  ///   - arguments: from the second word on.
  ///   - environment: all of it.
  package init(path: String, _ arguments: [String] = [], environment: [String: String] = [:]) {
    self.path = path
    self.arguments = arguments
    self.environment = environment
  }

  /// What a run came to.
  package struct Completion: Sendable {
    package let ending: Ending
    /// From descriptor 1.
    package let output: [UInt8]
    /// The first 512 bytes from descriptor 2.
    package let complaint: [UInt8]
  }

  package enum Ending: Equatable, Sendable {
    case exited(Int32)
    /// By a signal that it did not get from here.
    case killed(Int32)
    /// Killed at the deadline.
    case outOfTime
    /// Killed because it wrote more than was asked for.
    case tooMuchOutput
  }

  /// Runs it and waits until it has ended; for a thread of a `BlockingPool`.
  ///
  /// - Parameters:
  ///   - input: what it may read; it reads a file in memory, so it need not read all.
  ///   - limit: bytes that it may write.
  ///   - deadline: from now, then it is killed; nil for as long as it takes.
  /// - Returns: how it ended; what it has written is there also when it was killed.
  /// - Throws: `EventLoopError` when it cannot be started.
  package func run(
    input: [UInt8] = [],
    limit: Int,
    deadline: Duration?
  ) throws(EventLoopError) -> Completion {
    let end = deadline.map { EventLoop.now() &+ $0.nanoseconds } ?? .max
    let file = try Descriptor(holding: input)
    var output = try Inflow(limit: limit + 1)
    var complaint = try Inflow(limit: 512, isDrainedOn: true)
    let process = try ChildProcess(
      path,
      arguments,
      environment: environment,
      on: [(file.number, 0), (output.farEnd.number, 1), (complaint.farEnd.number, 2)]
    )
    // Its ends are its own now; while these are open, nothing reads as ended.
    output.farEnd.close()
    complaint.farEnd.close()
    guard let life = Descriptor(CLinux_open_process(process.id)) else {
      let code = errno
      Self.end(process)
      throw EventLoopError(call: "pidfd_open", code: code)
    }
    var ending: Ending?
    while ending == nil {
      let now = EventLoop.now()
      let isOver = Self.wait([output.waited, complaint.waited, life.number], end &- min(now, end))
      output.drain()
      complaint.drain()
      if output.bytes.count > limit {
        Self.end(process)
        ending = .tooMuchOutput
      } else if isOver {
        let status = process.end()
        ending = status.signal.map(Ending.killed) ?? .exited(status.code ?? 0)
      } else if now >= end {
        Self.end(process)
        ending = .outOfTime
      }
    }
    return Completion(
      ending: ending ?? .outOfTime,
      output: output.bytes,
      complaint: complaint.bytes
    )
  }

  private static func end(_ process: ChildProcess) {
    process.signal(SIGKILL)
    _ = process.end()
  }

  /// Waits until a descriptor is ready or the time is over; true when the last one is ready.
  private static func wait(_ descriptors: [Int32], _ nanoseconds: UInt64) -> Bool {
    var waits = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = Int32(clamping: nanoseconds / 1_000_000 + 1)
    let count = unsafe poll(&waits, nfds_t(waits.count), milliseconds)
    return count > 0 && waits[waits.count - 1].revents != 0
  }
}
