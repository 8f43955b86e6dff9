import Glibc

/// A mutex with a condition: what the loop's thread shares with others.
///
/// Of POSIX and not `Synchronization.Mutex`, which has no condition variable and which the thread
/// sanitizer cannot see.
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

  /// Waits for `signal`; the lock is held before and after, and may have been lost between.
  func wait() { unsafe pthread_cond_wait(condition, mutex) }

  func signal() { unsafe pthread_cond_signal(condition) }
}
