import CLinux
import Glibc

/// A program that reads bytes and writes bytes.
///
/// Each run starts a new process.
///
/// Its input is descriptor 0. It inherits no other descriptor of this process.
package struct Subprocess: Sendable {
  private let path: String
  private let arguments: [String]
  private let environment: [String: String]

  /// Describes a program.
  ///
  /// - Parameters:
  ///   - path: the path of an executable file.
  ///   - arguments: the arguments after the first, which is the path.
  ///   - environment: the whole environment.
  package init(path: String, _ arguments: [String] = [], environment: [String: String] = [:]) {
    self.path = path
    self.arguments = arguments
    self.environment = environment
  }

  /// The result of a run.
  package struct Completion: Sendable {
    package let ending: Ending
    /// The bytes from descriptor 1.
    package let output: [UInt8]
    /// The first 512 bytes from descriptor 2.
    package let complaint: [UInt8]
  }

  package enum Ending: Equatable, Sendable {
    case exited(Int32)
    /// Killed by a signal that this process did not send.
    case killed(Int32)
    /// Killed at the deadline.
    case outOfTime
    /// Killed because it wrote more than the limit.
    case tooMuchOutput
  }

  /// Runs the program and waits until it has ended.
  ///
  /// Call it on a thread of a `BlockingPool`.
  ///
  /// - Parameters:
  ///   - input: the input, passed as a file in memory, so the program need not read all of it.
  ///   - limit: the number of bytes that the program may write.
  ///   - deadline: the time after which the program is killed; nil for no limit.
  /// - Returns: the result, with the output also if the program was killed.
  /// - Throws: `EventLoopError` if the program cannot be started.
  package func run(
    input: [UInt8] = [], limit: Int, deadline: Duration?
  ) throws(EventLoopError) -> Completion {
    let end = deadline.map { EventLoop.now() &+ $0.nanoseconds } ?? .max
    let file = try Descriptor(holding: input)
    var output = try Inflow(limit: limit + 1)
    var complaint = try Inflow(limit: 512, isDrainedOn: true)
    let process = try ChildProcess(
      path, arguments, environment: environment,
      on: [(file.number, 0), (output.farEnd.number, 1), (complaint.farEnd.number, 2)]
    )
    // The child has its own copies. While these are open, the pipes never report their end.
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
      ending: ending ?? .outOfTime, output: output.bytes, complaint: complaint.bytes
    )
  }

  private static func end(_ process: ChildProcess) {
    process.signal(SIGKILL)
    _ = process.end()
  }

  /// Waits until a descriptor is ready or the time is over; returns true if the last one is ready.
  private static func wait(_ descriptors: [Int32], _ nanoseconds: UInt64) -> Bool {
    var waits = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = Int32(clamping: nanoseconds / 1_000_000 + 1)
    let count = unsafe poll(&waits, nfds_t(waits.count), milliseconds)
    return count > 0 && waits[waits.count - 1].revents != 0
  }
}
