/// What one call may cost, so that no request holds the loop: all that it looks for and changes takes
/// from one.
///
/// A step is about one value looked at. Paths with numbers in them can be read in exponentially
/// many ways, `$all` and array filters multiply, and a pattern can backtrack: all are counted here.
package struct Budget {
  /// About 100 ms of work.
  package static let defaultSteps = 1_000_000

  /// As many bytes are compared, copied or decoded in a step.
  static let bytesPerStep = 32

  private var steps: Int
  /// How much longer the document may become, in bytes of JSON.
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

  mutating func grow(by bytes: Int) throws(OperatorError) {
    growth -= bytes
    guard growth >= 0 else {
      throw OperatorError(.documentTooLarge, "The update makes the document too large.")
    }
  }
}
