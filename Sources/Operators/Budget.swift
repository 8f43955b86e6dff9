internal import Patterns

/// The limit on the work of one call, so that no request blocks the event loop.
///
/// All queries and updates of the call share one budget.
///
/// A step is about one value visited. Four things can take exponential or multiplied time, so all
/// are counted:
/// - paths with numbers in them, which have exponentially many readings
/// - `$all`
/// - array filters
/// - patterns
package struct Budget {
  /// About 100 ms of work.
  package static let defaultSteps = 1_000_000

  /// The number of bytes that one step compares, copies or decodes.
  static let bytesPerStep = 32

  private var steps: Int
  /// The number of bytes of JSON by which the document may still grow.
  private var growth: Int

  package init(steps: Int = defaultSteps, growth: Int = 4_194_304) {
    self.steps = steps
    self.growth = growth
  }

  mutating func spend(_ count: Int) throws(OperatorError) {
    steps -= count
    guard steps >= 0 else {
      throw OperatorError(.maxTimeExpired, "The operation takes too many steps on this document.")
    }
  }

  /// Returns whether a pattern matches.
  mutating func matches(_ pattern: Pattern, _ text: String) throws(OperatorError) -> Bool {
    let isMatch = pattern.matches(text, spending: &steps)
    try spend(0)
    return isMatch
  }

  mutating func grow(by bytes: Int) throws(OperatorError) {
    growth -= bytes
    guard growth >= 0 else {
      throw OperatorError(.documentTooLarge, "The update makes the document too large.")
    }
  }
}

/// The number of regular expressions that one request may still compile.
///
/// Each needs up to about 100 KiB and 2 ms. A request can have them in many places: a
/// query, the stages of a pipeline, the paths of `$pull`, array filters. All parsers of a request
/// share one allowance.
package final class PatternAllowance {
  static let limit = 64

  private var left = limit

  package init() {}

  /// Takes one.
  ///
  /// Returns false if none is left.
  func take() -> Bool {
    guard left > 0 else { return false }
    left -= 1
    return true
  }
}
