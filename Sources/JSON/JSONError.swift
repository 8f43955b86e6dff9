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
  /// Bytes of one number, written out without an exponent: PostgreSQL stores and answers it so.
  package let numberLength: Int
  /// The same of one that is written without an exponent.
  package let plainNumberLength: Int

  /// Both lengths of numbers are the same when the last is nil.
  package init(depth: Int, numberLength: Int, plainNumberLength: Int? = nil) {
    self.depth = depth
    self.numberLength = numberLength
    self.plainNumberLength = plainNumberLength ?? numberLength
  }

  /// 64 deep; numbers of 350 bytes, which every double fits with all digits that tell it from
  /// others: `-4.9406564584124654e-324` has 343.
  package static let standard = JSONLimits(depth: 64, numberLength: 350)

  /// For what holds documents, each of which may be as deep as `standard` says: calls, updates,
  /// patches, with every number in a wrapper of Extended JSON.
  ///
  /// What is answered as a document can so be sent back in any of them.
  package static let holding = JSONLimits(depth: 72, numberLength: 350)

  /// For what was written here.
  package static let none = JSONLimits(depth: .max, numberLength: .max)
}
