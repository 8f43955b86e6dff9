import CLinux
import Glibc

/// Hardening of processes that hold secrets and client data, so that a crash reveals none.
package enum ProcessHardening {
  /// Disables core files, memory access by other processes of the same user, and crash reports.
  ///
  /// Swift's runtime prints a report that contains strings from memory. It takes two seconds, in
  /// which the socket has no worker. Its handlers are removed, so the process ends at once. The
  /// message in the supervisor's capture has the source location.
  package static func keep() {
    // A core_pattern that pipes to a program ignores the limit, but not the dumpable flag.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = CLinux_hide_memory()
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
      signal(number, SIG_DFL)
    }
    // A client or a reader of the log that goes away must not end the process.
    signal(SIGPIPE, SIG_IGN)
  }
}
