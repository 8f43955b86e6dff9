/// Loads what a cache holds: on first use, at an age, and when an entry is missing.
///
/// Callers at the same time share a load. After a failed load, the cache keeps what it has.
@EventLoop package final class CacheLoader<Fault: Error> {
  private let age: UInt64
  private let clock: @EventLoop () -> UInt64
  private let load: @EventLoop () async throws(Fault) -> Void
  private let task = SharedTask<Void, Fault>()
  /// The number of loads that have begun, and the time of the last.
  private var begun = 0
  private var begunAt: UInt64 = 0
  /// The number of the last successful load, and the time when it began: what it found contains all
  /// earlier changes.
  private var loaded = 0
  private var loadedAt: UInt64 = 0
  /// The shortest time between loads for missing entries, in nanoseconds.
  ///
  /// It limits the loads for requests with made-up names.
  private static var interval: UInt64 { 100_000_000 }

  /// - Parameters:
  ///   - age: the age at which a load begins in the background. At twice that age, requests wait
  ///     for it. With zero, each request waits for a load of its own.
  ///   - clock: a monotonic clock, in nanoseconds.
  ///   - load: fills the cache.
  package init(
    age: Duration, clock: @escaping @EventLoop () -> UInt64 = { EventLoop.now() },
    _ load: @escaping @EventLoop () async throws(Fault) -> Void
  ) {
    (self.age, self.clock, self.load) = (age.nanoseconds, clock, load)
  }

  /// Returns whether the cache may be used without waiting.
  ///
  /// Begins a load if the cache is old.
  package func isFresh() -> Bool {
    guard loaded > 0 else { return false }
    let passed = clock() - loadedAt
    if passed <= age { return true }
    guard passed <= 2 * age else { return false }
    begin()
    return true
  }

  /// Waits for a load if the cache may not be used without one.
  ///
  /// - Throws: the error of the first load.
  package func freshen() async throws(Fault) {
    guard !isFresh() else { return }
    do throws(Fault) {
      if age > 0 { try await begin().value.get() } else { try await reload() }
    } catch {
      if loaded == 0 { throw error }
    }
  }

  /// Returns an entry of the cache.
  ///
  /// If the entry is missing, waits for a load that begins after the call.
  ///
  /// - Parameter entry: reads the entry from the cache.
  /// - Returns: nil if the entry does not exist.
  /// - Throws: the error of that load.
  package func find<Entry>(_ entry: () -> Entry?) async throws(Fault) -> Entry? {
    let before = begun
    try await freshen()
    while true {
      if let found = entry() { return found }
      guard loaded <= before else { return nil }
      let (now, next) = (clock(), begunAt + Self.interval)
      if begun > 0, now < next { await EventLoop.sleep(for: .nanoseconds(Int64(next - now))) }
      // Another caller's load may have ended meanwhile.
      if loaded <= before { try await begin().value.get() }
    }
  }

  /// Waits for a load that begins after the call.
  ///
  /// - Throws: the error of a load.
  package func reload() async throws(Fault) {
    let before = begun
    while loaded <= before { try await begin().value.get() }
  }

  @discardableResult
  private func begin() -> SharedTask<Void, Fault>.Outcome {
    if !task.isUnderWay { (begun, begunAt) = (begun + 1, clock()) }
    return task.begin { [self] () async throws(Fault) in
      let (number, time) = (begun, begunAt)
      try await load()
      (loaded, loadedAt) = (number, time)
    }
  }
}
