package import CLinux
import Glibc

/// A child process that runs another program.
///
/// It starts with the default action for all signals and with none blocked.
package struct ChildProcess: Sendable {
  package let id: pid_t

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - path: the path of an executable file.
  ///   - arguments: the arguments after the first, which is the path.
  ///   - environment: the environment; nil for that of this process.
  ///   - descriptors: the child's descriptors, each with the descriptor of this process that it
  ///     copies. Below the child's highest one, it also inherits other descriptors without
  ///     close-on-exec. Above it, none is open.
  /// - Throws: `EventLoopError` if the program does not exist, or if no process can be created.
  package init(
    _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    on descriptors: [(ours: Int32, its: Int32)]
  ) throws(EventLoopError) {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (ours, its) in descriptors {
      unsafe posix_spawn_file_actions_adddup2(&actions, ours, its)
    }
    let first = (descriptors.map(\.its).max() ?? 2) + 1
    unsafe posix_spawn_file_actions_addclosefrom_np(&actions, max(first, 3))
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
    let words = unsafe Self.strings([path] + arguments)
    let variables = unsafe environment.map {
      unsafe Self.strings($0.map { name, value in "\(name)=\(value)" })
    }
    defer { unsafe (words + (variables ?? [])).forEach { unsafe free($0) } }
    var process = pid_t()
    let code =
      if let variables = unsafe variables {
        unsafe posix_spawn(&process, path, &actions, &attributes, words, variables)
      } else {
        unsafe posix_spawn(&process, path, &actions, &attributes, words, environ)
      }
    guard code == 0 else { throw EventLoopError(call: "posix_spawn \(path)", code: code) }
    id = process
  }

  /// The processor time of the process with all its threads, in nanoseconds; 0 if it has ended.
  ///
  /// A stopped process uses none.
  package var processorTime: UInt64 {
    var clock = clockid_t()
    guard unsafe clock_getcpuclockid(id, &clock) == 0 else { return 0 }
    return EventLoop.nanoseconds(of: clock) ?? 0
  }

  /// Returns a C array of strings.
  ///
  /// The caller frees each string.
  private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    unsafe texts.map { unsafe strdup($0) } + [nil]
  }

  /// Sends the process a signal; invalid after its status has been collected.
  package func signal(_ number: Int32) { kill(id, number) }

  /// Blocks until the process has ended, and collects its status.
  package func end() -> WaitStatus {
    var status: Int32 = 0
    while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
    return WaitStatus(status)
  }
}

/// The exit status of a process, described as in a shell.
package struct WaitStatus: CustomStringConvertible, Sendable {
  /// The exit code; nil if a signal ended the process.
  package let code: Int32?
  /// The signal that ended the process; nil if it exited.
  package let signal: Int32?

  /// Decodes a status.
  ///
  /// - Parameter status: the status from `waitpid`.
  package init(_ status: Int32) {
    let signal = status & 0x7f
    code = signal == 0 ? status >> 8 & 0xff : nil
    self.signal = signal == 0 ? nil : signal
  }

  package var description: String {
    guard let signal else { return "exit \(code ?? 0)" }
    let name = unsafe strsignal(signal).map { unsafe String(cString: $0) }
    return "signal \(signal) (\(name ?? "unknown"))"
  }
}
