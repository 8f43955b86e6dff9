package import Runtime
import EventLoop
import Glibc
import HTTP

extension RateLimitStatus {
  /// The limit of nginx on the requests of one network (`limit_req` in `dossier.conf`).
  ///
  /// Only nginx counts them, so this is the state for a caller who sends no other request.
  package static let ofWebServer = RateLimitStatus(
    name: "requests", quota: 1_000, window: .seconds(10), remaining: 999, reset: .seconds(1)
  )
}

extension Response {
  /// Adds the state of the rate limits that the request met; adds nothing without any.
  ///
  /// The names are constants and need no escaping. `t` is the time until the whole quota is
  /// available again. `Retry-After` reports when the next attempt may be made.
  /// - Source: draft-ietf-httpapi-ratelimit-headers-09; RFC 9651 section 3.1 (lists).
  mutating func add(_ limits: [RateLimitStatus]) {
    guard !limits.isEmpty else { return }
    let policies = limits.map { "\"\($0.name)\";q=\($0.quota);w=\($0.window.wholeSeconds)" }
    let states = limits.map { "\"\($0.name)\";r=\($0.remaining);t=\($0.reset.wholeSeconds)" }
    add(.rateLimitPolicy, policies.joined(separator: ", "))
    add(.rateLimit, states.joined(separator: ", "))
  }

  /// Adds the limit of which least is left, as numbers; the reset is in seconds since 1970.
  ///
  /// After a refusal, the reset is when the next attempt may be made. Otherwise, the whole quota is
  /// available again.
  /// - Parameters:
  ///   - limits: the rate limits that the request met.
  ///   - other: the limit to report if it met none; nil to report none.
  ///   - refusal: the error of the response; nil without one.
  mutating func addCounters(
    of limits: [RateLimitStatus], or other: RateLimitStatus?, after refusal: Failure?
  ) {
    let wait = refusal?.type.kind == .tooMany ? refusal?.retryAfter : nil
    let tightest = limits.min { $0.remaining < $1.remaining } ?? other
    guard let reset = wait ?? tightest?.reset else { return }
    if let tightest { add(.rateLimitQuota, String(tightest.quota)) }
    add(.rateLimitRemaining, String(wait == nil ? tightest?.remaining ?? 0 : 0))
    add(.rateLimitReset, String(time(nil) + reset.wholeSeconds))
  }
}
