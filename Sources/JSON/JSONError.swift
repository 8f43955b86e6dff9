/// The position and the reason of a parse error.
package struct JSONError: Error, Equatable {
  package enum Reason: String, CaseIterable, Sendable {
    case empty = "json.empty"
    case syntax = "json.syntax"
    case trailing = "json.trailing"
    case utf8 = "json.utf8"
    case surrogate = "json.surrogate"
    case nul = "json.nul"
    case duplicateKey = "json.duplicate_key"
    case depth = "json.depth"
    case number = "json.number"
  }

  package let reason: Reason
  /// The offset in bytes, from 0.
  package let offset: Int
  /// The location of the value that was being parsed, by RFC 6901.
  package let pointer: String
  /// The violated rule, in one sentence.
  package let detail: String
}

/// Limits for a text.
package struct JSONLimits: Sendable {
  /// The depth of nested arrays and objects.
  package let depth: Int
  /// The largest number in bytes without an exponent, since PostgreSQL stores and returns it so.
  package let numberLength: Int
  /// The same limit for numbers that are written without an exponent.
  package let plainNumberLength: Int

  /// Creates limits.
  ///
  /// Without the last, both lengths of numbers are the same.
  package init(depth: Int, numberLength: Int, plainNumberLength: Int? = nil) {
    self.depth = depth
    self.numberLength = numberLength
    self.plainNumberLength = plainNumberLength ?? numberLength
  }

  /// Depth 64, and numbers of 350 bytes.
  ///
  /// Every double fits with all its distinguishing digits: `-4.9406564584124654e-324` has 343.
  package static let standard = JSONLimits(depth: 64, numberLength: 350)

  /// Limits for values that contain documents, each with the depth of `standard`.
  ///
  /// Examples are calls, updates and patches, with every number in an Extended JSON wrapper. So a
  /// client can send back any document that it has received.
  package static let holding = JSONLimits(depth: 72, numberLength: 350)

  /// No limits, for text that this program has written.
  package static let none = JSONLimits(depth: .max, numberLength: .max)
}
