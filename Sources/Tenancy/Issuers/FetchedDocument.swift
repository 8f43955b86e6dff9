package import EventLoop
package import JSON
package import Outbound
package import Runtime

/// A small JSON document that an issuer publishes at a URL, as it was last fetched.
///
/// Concurrent requests share one fetch, so forged tokens cannot start many. After a failed fetch, no
/// new fetch starts during a pause that grows with each failure.
@EventLoop package final class FetchedDocument<Value: Sendable> {
  package let url: String
  private let issuer: String
  private let source: HTTPSource
  private let owner: CallOwner
  private let read: @EventLoop @Sendable (JSON) -> Value?
  private var last: Copy?
  private let fetch = SharedTask<Copy, FetchError>()
  private var breaker = CircuitBreaker(after: 1, pauses: .seconds(2)...(.seconds(60)))
  /// Why the last fetch has failed.
  private var reason = ""

  private struct Copy {
    let value: Value
    let fetchedAt: UInt64
    let expires: UInt64
  }

  /// How long a copy is fresh if its server does not say.
  private static var usualLifetime: Duration { .seconds(600) }
  /// The bounds of the time for which a copy is fresh.
  private let lifetimes: ClosedRange<Duration>
  /// How long an expired copy remains in use if a fetch fails.
  private static var graceOfOld: UInt64 { 86_400_000_000_000 }

  /// - Parameters:
  ///   - url: the URL of the document.
  ///   - issuer: the operator's name for the issuer.
  ///   - app: the app that accepts the issuer.
  ///   - source: what fetches the document.
  ///   - leastLifetime: how long a copy is fresh at least.
  ///   - read: returns the content of the document; nil if it is malformed.
  package init(
    at url: String, of issuer: String, in app: AppID, _ source: HTTPSource,
    leastLifetime: Duration = .seconds(60),
    _ read: @escaping @EventLoop @Sendable (JSON) -> Value?
  ) {
    (self.url, self.issuer, self.source, self.read) = (url, issuer, source, read)
    owner = CallOwner(app: app.text, receiver: issuer)
    lifetimes = leastLifetime...(.seconds(86_400))
  }

  package var isUnderWay: Bool { fetch.isUnderWay }

  /// When the last copy was fetched, by the monotonic clock; 0 without one.
  package var fetchedAt: UInt64 { last?.fetchedAt ?? 0 }

  /// Returns the content, fetched at or after `atLeast` of the monotonic clock.
  ///
  /// An expired copy remains in use for a day while no fetch succeeds.
  /// - Throws: `.issuerUnavailable`, at once during a pause; `.overloaded` if too many fetches are
  ///   in progress.
  package func value(atLeast: UInt64 = 0) async throws(Failure) -> Value {
    let now = EventLoop.now()
    if let last, last.expires > now, last.fetchedAt >= atLeast { return last.value }
    if breaker.rest(at: now) == .zero {
      do throws(FetchError) {
        return try await fetch.begin { [self] () async throws(FetchError) in
          try await load()
        }.value.get().value
      } catch .overloaded {
        throw .overloaded(retryAfter: .seconds(1))
      } catch {
        reason = "\(error)"
      }
    }
    // An old copy is better than none.
    if let last, atLeast == 0, EventLoop.now() < last.expires + Self.graceOfOld {
      return last.value
    }
    throw .issuerUnavailable(
      issuer, reason, retryAfter: .seconds(breaker.rest().wholeSeconds + 1)
    )
  }

  private func load() async throws(FetchError) -> Copy {
    do throws(FetchError) {
      let answer = try await source.fetch(url, for: owner)
      guard let json = try? JSON.parse(answer.body), let value = read(json) else {
        throw .malformed
      }
      let lifetime = min(
        max(answer.lifetime ?? Self.usualLifetime, lifetimes.lowerBound), lifetimes.upperBound
      )
      let now = EventLoop.now()
      let copy = Copy(value: value, fetchedAt: now, expires: now + lifetime.nanoseconds)
      last = copy
      breaker.succeed()
      return copy
    } catch {
      // If too many fetches waited, the issuer was not contacted.
      if error != .overloaded { breaker.fail() }
      throw error
    }
  }
}
