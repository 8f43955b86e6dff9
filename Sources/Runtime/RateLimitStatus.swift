/// The state of a rate limit, for the client that used it.
package struct RateLimitStatus: Sendable {
  package let name: String
  /// The number of attempts when none was used for a whole window.
  package let quota: Int
  /// The time in which all of them come back.
  package let window: Duration
  package let remaining: Int
  /// The time until all attempts are back.
  package let reset: Duration

  package init(name: String, quota: Int, window: Duration, remaining: Int, reset: Duration) {
    (self.name, self.quota, self.window) = (name, quota, window)
    (self.remaining, self.reset) = (remaining, reset)
  }
}
