import Dossier
import EventLoop
import HTTP

extension Response {
  /// Tells what the guards of the request have said; nothing when it met none.
  ///
  /// Names are ours and need no escaping. `t` is when all of the quota is there again; when the next
  /// attempt may be made is for `Retry-After` to say.
  /// - Source: draft-ietf-httpapi-ratelimit-headers-09; RFC 9651 section 3.1 (lists).
  mutating func add(_ limits: [RateLimit]) {
    guard !limits.isEmpty else { return }
    let policies = limits.map { "\"\($0.name)\";q=\($0.quota);w=\($0.window.wholeSeconds)" }
    let states = limits.map { "\"\($0.name)\";r=\($0.remaining);t=\($0.reset.wholeSeconds)" }
    add(.rateLimitPolicy, policies.joined(separator: ", "))
    add(.rateLimit, states.joined(separator: ", "))
  }
}
