/// Where and why a text is not JSON as it is read here.
package struct JSONError: Error, Equatable {
  package enum Reason: String, Sendable {
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
  /// In bytes, from 0.
  package let offset: Int
  /// The value that was being read, by RFC 6901.
  package let pointer: String
  /// The rule, in one sentence.
  package let detail: String
}

/// What a text may hold at most.
package struct JSONLimits: Sendable {
  /// Arrays and objects within each other.
  package let depth: Int
  /// Bytes of one number.
  package let numberLength: Int
  /// Powers of ten, up or down: PostgreSQL spells a number out, digit by digit.
  package let exponent: Int

  package init(depth: Int, numberLength: Int, exponent: Int) {
    self.depth = depth
    self.numberLength = numberLength
    self.exponent = exponent
  }

  /// 64 deep; numbers of 64 bytes and within the range of a double.
  package static let standard = JSONLimits(depth: 64, numberLength: 64, exponent: 308)
}
