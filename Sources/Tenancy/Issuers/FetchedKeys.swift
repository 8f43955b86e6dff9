import Runtime
import EventLoop
import JSON
import Outbound
import WebTokens

/// The keys that an issuer publishes at a URL, as they were last fetched.
///
/// Concurrent requests share one fetch, so forged tokens cannot start many. After a failed fetch, no
/// new fetch starts during a pause that grows with each failure.
@EventLoop final class FetchedKeys {
  let url: String
  private let source: HTTPSource
  private let owner: CallOwner
  private var last: Set?
  private let fetch = SharedTask<Set, FetchError>()
  private var breaker = CircuitBreaker(after: 1, pauses: .seconds(2)...(.seconds(60)))
  private var failure: FetchError?
  var unknown = UnknownKeyFetches()

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

  init(at url: String, _ source: HTTPSource, for owner: CallOwner) {
    (self.url, self.source, self.owner) = (url, source, owner)
  }

  /// Returns the keys, fetched at or after `atLeast` of the monotonic clock.
  ///
  /// - Throws: `.issuerUnavailable`, at once during a pause; `.overloaded` if too many fetches are
  ///   in progress.
  func keys(of issuer: String, atLeast: UInt64 = 0) async throws(Failure) -> Set {
    let now = EventLoop.now()
    if let last, last.expires > now, last.fetchedAt >= atLeast { return last }
    if breaker.rest(at: now) == .zero {
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
    throw .issuerUnavailable(
      issuer, failure.map { "\($0)" } ?? "", retryAfter: .seconds(breaker.rest().wholeSeconds + 1)
    )
  }

  /// Fetches the keys again, for a token that none of the known ones has signed.
  ///
  /// A token that arrives during a fetch waits for it.
  ///
  /// - Parameters:
  ///   - issuer: the operator's name for the issuer.
  ///   - network: the network of the client that sends the token.
  /// - Returns: nil if it is too early for another fetch.
  /// - Throws: as `keys`.
  func newerKeys(of issuer: String, for network: [UInt8]) async throws(Failure) -> Set? {
    let now = EventLoop.now()
    guard fetch.isUnderWay || unknown.begin(for: network, after: last?.fetchedAt ?? 0, at: now)
    else { return nil }
    do throws(Failure) {
      return try await keys(of: issuer, atLeast: now)
    } catch {
      // The next token meets the outage too, and is not refused as forged.
      unknown.giveBack(network)
      throw error
    }
  }

  private func load() async throws(FetchError) -> Set {
    do throws(FetchError) {
      let document = try await source.fetch(url, for: owner)
      let keys = IssuerKeys(set: try? JSON.parse(document.body))
      let lifetime = min(
        max(document.lifetime ?? Self.usualLifetime, Self.lifetimes.lowerBound),
        Self.lifetimes.upperBound
      )
      let now = EventLoop.now()
      let set = Set(keys: keys, fetchedAt: now, expires: now + lifetime.nanoseconds)
      last = set
      breaker.succeed()
      return set
    } catch {
      // If too many fetches waited, the issuer was not contacted.
      if error != .overloaded { breaker.fail() }
      throw error
    }
  }
}
