import CLinux
import Glibc

/// A program that is given bytes and answers with bytes, once a run.
///
/// It gets its input as descriptor 0, an empty environment, default signals and no descriptor of
/// this process.
package struct Subprocess: Sendable {
  private let path: String

  /// - Parameter path: of an executable file.
  package init(path: String) { self.path = path }

  /// What a run came to.
  package struct Outcome: Sendable {
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
  ///   - deadline: from now; then it is killed.
  /// - Returns: how it ended; what it has written is there also when it was killed.
  /// - Throws: `EventLoopError` when it cannot be started.
  package func run(
    input: [UInt8],
    limit: Int,
    deadline: Duration
  ) throws(EventLoopError) -> Outcome {
    let end = EventLoop.now() &+ deadline.nanoseconds
    let file = try Descriptor(holding: input)
    var output = try Inflow(limit: limit + 1)
    var complaint = try Inflow(limit: 512)
    let process = try spawn(on: [file.number, output.farEnd.number, complaint.farEnd.number])
    // Its ends are its own now; while these are open, nothing reads as ended.
    output.farEnd.close()
    complaint.farEnd.close()
    guard let life = Descriptor(CLinux_open_process(process)) else {
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
        let status = Self.reap(process)
        let signal = status & 0x7f
        ending = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
      } else if now >= end {
        Self.end(process)
        ending = .outOfTime
      }
    }
    return Outcome(
      ending: ending ?? .outOfTime,
      output: output.bytes,
      complaint: complaint.bytes
    )
  }

  // MARK: The process

  private func spawn(on descriptors: [Int32]) throws(EventLoopError) -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in descriptors.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
    }
    unsafe posix_spawn_file_actions_addclosefrom_np(&actions, Int32(descriptors.count))
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
    unsafe posix_spawnattr_setflags(&attributes, flags)
    let name = unsafe strdup(path)
    defer { unsafe free(name) }
    let words = unsafe [name, nil]
    let nothing: [UnsafeMutablePointer<CChar>?] = unsafe [nil]
    var process = pid_t()
    let code = unsafe posix_spawn(&process, path, &actions, &attributes, words, nothing)
    guard code == 0 else { throw EventLoopError(call: "posix_spawn \(path)", code: code) }
    return process
  }

  private static func end(_ process: pid_t) {
    kill(process, SIGKILL)
    _ = reap(process)
  }

  private static func reap(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
  }

  /// Waits until a descriptor is ready or the time is over; true when the last one is ready.
  private static func wait(_ descriptors: [Int32], _ nanoseconds: UInt64) -> Bool {
    var waits = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
    let count = unsafe poll(&waits, nfds_t(waits.count), milliseconds)
    return count > 0 && waits[waits.count - 1].revents != 0
  }
}
