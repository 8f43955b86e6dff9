package import EventLoop

/// What is left of an allowance, for whoever used it.
package struct RateLimit: Sendable {
  package let name: String
  /// How many there are when none was used for long.
  package let quota: Int
  /// In which all of them come back.
  package let window: Duration
  package let remaining: Int
  /// How long until none is missing.
  package let reset: Duration
}

/// What the guards of one request have said, for its answer.
///
/// A guard notes it here, and every answer tells it: no handler can forget to.
@EventLoop package final class RateLimits {
  package private(set) var all: [RateLimit] = []

  init() {}

  /// Of one name, the last counts.
  func note(_ limit: RateLimit) {
    if let index = all.firstIndex(where: { $0.name == limit.name }) {
      all[index] = limit
    } else {
      all.append(limit)
    }
  }
}
