import CLinux
import Glibc

/// What a process does that holds secrets and data of clients, so that its death shows none of them.
enum Secrecy {
  /// No core file, no look into its memory by others of the same user, and no report of a crash.
  ///
  /// Swift's runtime prints a report that has strings from memory in it, and takes two seconds over
  /// it, in which the socket has nobody. Its handlers go, so that the process ends at once; where it
  /// was is in the message that the supervisor keeps.
  static func keep() {
    // A core_pattern that is a program does not heed the limit, but whether a process is dumpable.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = CLinux_hide_memory()
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
      signal(number, SIG_DFL)
    }
  }
}
