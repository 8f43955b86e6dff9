package import Runtime

/// When a delivery is tried again, and what the failures of a receiver mean.
package enum WebhookSchedule {
  /// The pauses before the attempts, from the second one on.
  package static let pauses = [
    5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
  ].map(Duration.seconds)
  /// The most attempts of a delivery.
  package static let mostAttempts = pauses.count + 1
  /// The failures in a row after which only one delivery tries the receiver.
  package static let failuresOfFailing = 20
  /// How long a receiver may fail before its webhook is disabled.
  package static let patience = Duration.seconds(5 * 86_400)
  /// The longest pause between two deliveries that try a failing receiver.
  static let longestProbePause = Duration.seconds(7_200)
  /// The pause of a receiver that has too many calls and names no pause.
  static let usualPause = Duration.seconds(5)

  /// The result of an attempt.
  package enum Outcome: Sendable, Equatable {
    case delivered
    /// The receiver wants no more calls.
    case gone
    /// It failed.
    ///
    /// With a pause, no delivery begins before it is over.
    case failed(pause: Duration?)
  }

  /// Returns the outcome of an answer.
  ///
  /// - Source: Standard Webhooks 1.0.
  package static func outcome(status: Int, retryAfter: Duration?) -> Outcome {
    switch status {
    case 200...299: .delivered
    case 410: .gone
    case 429, 502, 504: .failed(pause: retryAfter ?? usualPause)
    default: .failed(pause: retryAfter)
    }
  }

  /// Returns the pause before the next attempt; nil after the last attempt.
  ///
  /// - Parameters:
  ///   - attempts: the attempts so far.
  ///   - retryAfter: the pause that the receiver asks for.
  ///   - jitter: from 0 to 1; adds at most a quarter, so that receivers do not get all at once.
  /// - Returns: the pause.
  package static func pause(
    after attempts: Int, retryAfter: Duration? = nil, jitter: Double = .random(in: 0...1)
  ) -> Duration? {
    guard attempts < mostAttempts else { return nil }
    let pause = pauses[max(attempts, 1) - 1]
    return max(pause + pause / 4 * jitter, retryAfter ?? .zero)
  }

  /// Returns the pause before one delivery tries a failing receiver again.
  ///
  /// - Parameter failures: the failures in a row, at least `failuresOfFailing`.
  /// - Returns: the pause.
  package static func probePause(after failures: Int) -> Duration {
    let index = min(max(0, failures - failuresOfFailing), pauses.count - 1)
    return min(pauses[index], longestProbePause)
  }

  /// Returns whether a webhook is disabled at a failure.
  package static func isOver(failures: Int, since start: Timestamp, at time: Timestamp) -> Bool {
    failures >= failuresOfFailing
      && time.microseconds - start.microseconds > patience.components.seconds * 1_000_000
  }
}
