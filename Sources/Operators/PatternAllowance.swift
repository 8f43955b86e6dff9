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
