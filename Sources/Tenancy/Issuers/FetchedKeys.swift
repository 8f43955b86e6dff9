import Runtime
import EventLoop
import JSON
import Outbound
import WebTokens

/// The keys that an issuer publishes at a URL, as they were last fetched.
///
/// Concurrent requests share one fetch, so forged tokens cannot occupy all threads. After a failed
/// fetch, no new fetch starts during a pause that grows with each failure.
@EventLoop final class FetchedKeys {
  let url: String
  private let source: HTTPSource
  private var last: Set?
  private let fetch = SharedTask<Set, FetchError>()
  /// The number of successive failed fetches.
  private var failures = 0
  private var failure: FetchError?
  private var pauseEnds: UInt64 = 0

  struct Set {
    let keys: IssuerKeys
    let fetchedAt: UInt64
    let expires: UInt64
  }

  /// How long keys are cached: the default if their server does not say, then the bounds.
  private static let usualLifetime = Duration.seconds(600)
  private static let lifetimes = Duration.seconds(60)...Duration.seconds(86_400)
  /// How long expired keys remain in use if a fetch fails.
  private static let graceOfOld: UInt64 = 86_400_000_000_000
  /// The pause after the first failure, and the longest; each pause doubles the previous one.
  private static let pauses: ClosedRange<UInt64> = 2_000_000_000...60_000_000_000

  init(at url: String, _ source: HTTPSource) {
    self.url = url
    self.source = source
  }

  /// Returns the keys, fetched at or after `atLeast` of the monotonic clock.
  ///
  /// - Throws: `.issuerUnavailable`, at once during a pause; `.overloaded` if too many fetches are
  ///   in progress.
  func keys(of issuer: String, atLeast: UInt64 = 0) async throws(Failure) -> Set {
    let now = EventLoop.now()
    if let last, last.expires > now, last.fetchedAt >= atLeast { return last }
    if now >= pauseEnds {
      do throws(FetchError) {
        return try await fetch.begin { [self] () async throws(FetchError) in
          try await load()
        }.value.get()
      } catch .overloaded {
        throw .overloaded(retryAfter: .seconds(1))
      } catch {
        failure = error
      }
    }
    // Old keys are better than none.
    if let last, atLeast == 0, EventLoop.now() < last.expires + Self.graceOfOld { return last }
    let rest = pauseEnds - min(pauseEnds, EventLoop.now())
    throw .issuerUnavailable(
      issuer,
      failure.map { "\($0)" } ?? "",
      retryAfter: .seconds(rest / 1_000_000_000 + 1)
    )
  }

  private func load() async throws(FetchError) -> Set {
    do throws(FetchError) {
      let document = try await source.fetch(url)
      let keys = IssuerKeys(set: try? JSON.parse(document.body))
      let lifetime = min(
        max(document.lifetime ?? Self.usualLifetime, Self.lifetimes.lowerBound),
        Self.lifetimes.upperBound
      )
      let now = EventLoop.now()
      let set = Set(keys: keys, fetchedAt: now, expires: now + lifetime.nanoseconds)
      last = set
      failures = 0
      return set
    } catch {
      // If the pool was full, the issuer was not contacted.
      if error != .overloaded { pause() }
      throw error
    }
  }

  private func pause() {
    failures += 1
    let length = Self.pauses.lowerBound << UInt64(min(failures - 1, 5))
    pauseEnds = EventLoop.now() + min(length, Self.pauses.upperBound)
  }
}
