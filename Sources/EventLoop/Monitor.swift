import Glibc

/// A mutex with a condition, for state that the loop's thread shares with other threads.
///
/// It uses POSIX: `Synchronization.Mutex` has no condition variable, and the thread sanitizer
/// cannot see it.
@safe final class Monitor: Sendable {
  private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private nonisolated(unsafe) let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe pthread_cond_destroy(condition)
    unsafe mutex.deallocate()
    unsafe condition.deallocate()
  }

  func withLock<Result>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Waits for `signal`.
  ///
  /// The caller holds the lock before and after, but not during the wait.
  func wait() { unsafe pthread_cond_wait(condition, mutex) }

  func signal() { unsafe pthread_cond_signal(condition) }
}
