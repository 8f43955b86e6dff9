/// The syntax tree of a regular expression.
indirect enum PatternNode: Sendable {
  case one(ScalarSet)
  case assertion(Assertion)
  case sequence([PatternNode])
  case alternatives([PatternNode])
  case repeated(PatternNode, Int, Int?)

  /// A condition on a position between two characters.
  enum Assertion: Sendable {
    case textStart, lineStart, textEnd, lastLineEnd, lineEnd, wordBoundary, noWordBoundary
    case notBeforeNewline
  }
}

/// The set of characters that one place of a pattern matches.
struct ScalarSet: Sendable {
  /// Sorted and disjoint ranges.
  private let ranges: [ClosedRange<UInt32>]
  private let isInverted: Bool
  let isCaseless: Bool

  static let all = ScalarSet([], isInverted: true)
  static let allButNewline = ScalarSet([10...10], isInverted: true)
  static let allButLineTerminators = ScalarSet(
    [10...10, 13...13, 0x2028...0x2029],
    isInverted: true
  )

  init(_ ranges: [ClosedRange<UInt32>], isInverted: Bool = false, isCaseless: Bool = false) {
    self.ranges = Self.merged(ranges)
    self.isInverted = isInverted
    self.isCaseless = isCaseless
  }

  private static func merged(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
    var merged: [ClosedRange<UInt32>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let before = merged.last, range.lowerBound <= before.upperBound + 1 {
        merged.removeLast()
        merged.append(before.lowerBound...max(before.upperBound, range.upperBound))
      } else {
        merged.append(range)
      }
    }
    return merged
  }

  /// Returns all characters outside these ranges.
  static func inverted(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
    var rest: [ClosedRange<UInt32>] = []
    var next: UInt32 = 0
    for range in merged(ranges) {
      if range.lowerBound > next { rest.append(next...range.lowerBound - 1) }
      next = range.upperBound + 1
    }
    if next <= 0x10ffff { rest.append(next...0x10ffff) }
    return rest
  }

  /// Returns whether the set contains a character.
  ///
  /// - Complexity: O(log *n*) in the number of ranges.
  func contains(_ scalar: CasedScalar) -> Bool {
    let isFound =
      has(scalar.value)
      || isCaseless
        && (scalar.lowercase.map(has) ?? false || scalar.uppercase.map(has) ?? false)
    return isFound != isInverted
  }

  private func has(_ value: UInt32) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lowerBound <= value
  }
}

/// A character of a text with its other cases.
///
/// They are looked up once for all the places of a pattern that wait for it.
struct CasedScalar {
  let value: UInt32
  /// The lower case.
  ///
  /// Nil if it does not exist or is not a single character.
  private(set) var lowercase: UInt32?
  private(set) var uppercase: UInt32?

  /// Creates a character with its other cases.
  ///
  /// - Parameters:
  ///   - scalar: the character.
  ///   - isCaseless: whether any part of the pattern ignores case.
  init(_ scalar: Unicode.Scalar, isCaseless: Bool) {
    value = scalar.value
    guard isCaseless else { return }
    let properties = scalar.properties
    if scalar.isASCII {
      if properties.isAlphabetic { lowercase = value ^ 0x20 }
    } else {
      lowercase = Self.only(properties.lowercaseMapping)
      uppercase = Self.only(properties.uppercaseMapping)
    }
  }

  private static func only(_ mapping: String) -> UInt32? {
    let scalars = mapping.unicodeScalars
    return scalars.count == 1 ? scalars.first?.value : nil
  }
}
