/// How many regular expressions one request may still compile.
///
/// Each takes up to about 100 KiB and half a millisecond, and a request has many places for them:
/// a query, the stages of a pipeline, the paths of `$pull`, array filters. All readers of a request
/// share one of these.
package final class PatternAllowance {
  static let limit = 64

  private var left = limit

  package init() {}

  /// Takes one; false when none is left.
  func take() -> Bool {
    guard left > 0 else { return false }
    left -= 1
    return true
  }
}
