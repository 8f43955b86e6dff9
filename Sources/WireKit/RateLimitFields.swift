import Runtime
import EventLoop
import HTTP

extension Response {
  /// Adds the state of the rate limits that the request met; adds nothing without any.
  ///
  /// The names are constants and need no escaping. `t` is the time until the whole quota is
  /// available again. `Retry-After` reports when the next attempt may be made.
  /// - Source: draft-ietf-httpapi-ratelimit-headers-09; RFC 9651 section 3.1 (lists).
  mutating func add(_ limits: [RateLimit]) {
    guard !limits.isEmpty else { return }
    let policies = limits.map { "\"\($0.name)\";q=\($0.quota);w=\($0.window.wholeSeconds)" }
    let states = limits.map { "\"\($0.name)\";r=\($0.remaining);t=\($0.reset.wholeSeconds)" }
    add(.rateLimitPolicy, policies.joined(separator: ", "))
    add(.rateLimit, states.joined(separator: ", "))
  }
}
