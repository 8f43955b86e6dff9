import Glibc
import Synchronization

/// A gate at which threads of a pool wait until a test opens it.
package final class ThreadGate: Sendable {
  private let isOpen = Mutex(false)

  package init() {}

  package func open() { isOpen.withLock { $0 = true } }
  package func wait() { while !isOpen.withLock({ $0 }) { usleep(1_000) } }
}
