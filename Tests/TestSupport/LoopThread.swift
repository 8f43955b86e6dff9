import EventLoop
import Glibc

/// The event loop of a test process, on its own thread.
package enum LoopThread {
  private static let started: Void = {
    var thread = pthread_t()
    let code = pthread_create(
      &thread,
      nil,
      { _ in
        EventLoop.reactor.run()
        return nil
      },
      nil
    )
    precondition(code == 0, "no thread for the event loop")
  }()

  /// Starts the loop once.
  package static func start() { _ = started }
}
