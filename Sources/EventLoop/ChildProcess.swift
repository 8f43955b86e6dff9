package import CLinux
import Glibc

/// Another program as a process of its own, a child of this one.
///
/// It begins with all signals as the system has them, none blocked.
package struct ChildProcess: Sendable {
  package let id: pid_t

  /// Starts it.
  ///
  /// - Parameters:
  ///   - path: of an executable file.
  ///   - arguments: from the second word on; the first is the path.
  ///   - environment: nil for that of this process.
  ///   - descriptors: which of this process it gets as which of its own. Below the highest of its own
  ///     it keeps what else is open here and not to be closed for programs; above there is nothing.
  /// - Throws: `EventLoopError` when there is no such program, or no process left.
  package init(
    _ path: String,
    _ arguments: [String] = [],
    environment: [String: String]? = nil,
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

  /// As C has a list of strings; each is to be freed.
  private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    unsafe texts.map { unsafe strdup($0) } + [nil]
  }

  /// Sends it a signal; not after its end was taken.
  package func signal(_ number: Int32) { kill(id, number) }

  /// Holds up the caller until it has ended, and takes its end.
  package func end() -> WaitStatus {
    var status: Int32 = 0
    while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
    return WaitStatus(status)
  }

  /// Takes its end; nil while it runs.
  package func endIfOver() -> WaitStatus? {
    var status: Int32 = 0
    return unsafe waitpid(id, &status, WNOHANG) == id ? WaitStatus(status) : nil
  }
}

/// How a process ended, as a shell's user would say it.
package struct WaitStatus: CustomStringConvertible, Sendable {
  /// What it ended with; nil when a signal ended it.
  package let code: Int32?
  /// What ended it, when it did not end by itself.
  package let signal: Int32?

  /// - Parameter status: as `waitpid` tells it.
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
