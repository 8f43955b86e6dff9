import CLinux
import Glibc

/// Signals as events of the loop.
///
/// A process with other threads must `block` the signals before it starts them. The kernel delivers
/// a signal to any thread that does not block it.
@EventLoop package final class Signals {
  private let descriptor: Int32
  private var watch: Watch?

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - signals: the signals, such as `[SIGTERM, SIGHUP]`; several of one kind may arrive as
  ///     one.
  ///   - body: called on the loop with the signal's number.
  /// - Throws: `EventLoopError` if no descriptor is left.
  package init(_ signals: [Int32], _ body: @escaping @EventLoop (Int32) -> Void)
    throws(EventLoopError)
  {
    var set = Self.blocked(signals)
    descriptor = unsafe signalfd(-1, &set, Int32(SFD_NONBLOCK | SFD_CLOEXEC))
    guard descriptor >= 0 else { throw EventLoopError(call: "signalfd", code: errno) }
    let descriptor = descriptor
    watch = try Watch(descriptor, for: .read) { _ in
      var information = signalfd_siginfo()
      let size = MemoryLayout<signalfd_siginfo>.size
      while unsafe read(descriptor, &information, size) == size {
        body(Int32(information.ssi_signo))
      }
    }
  }

  /// Blocks signals in the calling thread and in all threads that it starts later.
  package static func block(_ signals: [Int32]) { _ = blocked(signals) }

  private static func blocked(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    return set
  }

  /// Stops listening; the signals stay blocked.
  package func cancel() {
    watch?.cancel()
    watch = nil
    close(descriptor)
  }
}
