import Notation

/// Parsing of escapes and character classes.
extension PatternParser {
  mutating func escape() throws(Fault) -> PatternNode {
    guard let scalar = next() else { throw fault("The pattern ends with a backslash.") }
    switch scalar {
    case "A": return .assertion(.textStart)
    case "z": return .assertion(.textEnd)
    case "Z": return .assertion(.lastLineEnd)
    case "b": return .assertion(.wordBoundary)
    case "B": return .assertion(.noWordBoundary)
    case "N": return .one(.allButNewline)
    case "Q": return quoted()
    case "E": return .sequence([])
    case "R": return Self.lineBreak
    default:
      if let ranges = Self.ranges(of: scalar) { return .one(ScalarSet(ranges)) }
      let value = try character(scalar).value
      return .one(ScalarSet([value...value], isCaseless: isCaseless))
    }
  }

  /// Returns the character of an escape sequence.
  ///
  /// The backslash and the next character were already read.
  private mutating func character(_ scalar: Unicode.Scalar) throws(Fault) -> Unicode.Scalar {
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "f": return "\u{c}"
    case "e": return "\u{1b}"
    case "a": return "\u{7}"
    case "x": return try hexadecimal(2)
    case "u" where isECMAScript: return try hexadecimal(4)
    default:
      guard !Self.isWord(scalar) || scalar == "_" else {
        throw fault(Self.refusal(ofEscape: scalar))
      }
      return scalar
    }
  }

  /// Parses the digits of an escape: `41` or `{1f600}`.
  private mutating func hexadecimal(_ digits: Int) throws(Fault) -> Unicode.Scalar {
    let isBraced = take("{")
    var value: UInt32 = 0
    var count = 0
    while count < (isBraced ? 8 : digits),
      let digit = peek.flatMap({ UInt8(exactly: $0.value)?.hexadecimalValue })
    {
      value = value << 4 | UInt32(digit)
      count += 1
      _ = next()
    }
    guard count > 0, !isBraced || take("}"), let scalar = Unicode.Scalar(value) else {
      throw fault("This is no character.")
    }
    return scalar
  }

  /// Parses a character class after its opening bracket.
  mutating func scalarClass() throws(Fault) -> ScalarSet {
    let isInverted = take("^")
    var ranges: [ClosedRange<UInt32>] = []
    var isFirst = true
    while isFirst || peek != "]" {
      isFirst = false
      guard let scalar = next() else { throw fault("A class does not end.") }
      if scalar == "[", let named = try namedRanges() {
        ranges += named
        continue
      }
      if scalar == "\\", let escape = peek, let escaped = Self.ranges(of: escape) {
        _ = next()
        ranges += escaped
        continue
      }
      let lower = try member(scalar)
      guard peek == "-" else {
        ranges.append(lower.value...lower.value)
        continue
      }
      _ = next()
      // A hyphen at the end stands for itself.
      guard peek != "]" else {
        ranges += [lower.value...lower.value, 45...45]
        continue
      }
      guard let scalar = next(), let upper = try? member(scalar), lower <= upper else {
        throw fault("This is no range.")
      }
      ranges.append(lower.value...upper.value)
    }
    _ = next()
    return ScalarSet(ranges, isInverted: isInverted, isCaseless: isCaseless)
  }

  private mutating func member(_ scalar: Unicode.Scalar) throws(Fault) -> Unicode.Scalar {
    guard scalar == "\\" else { return scalar }
    guard let escaped = next() else { throw fault("A class does not end.") }
    guard Self.ranges(of: escaped) == nil else { throw fault("This is no range.") }
    return escaped == "b" ? "\u{8}" : try character(escaped)
  }

  /// Parses `:alpha:]` after a bracket.
  ///
  /// Returns nil and reads nothing if it is not a class name.
  private mutating func namedRanges() throws(Fault) -> [ClosedRange<UInt32>]? {
    var ahead = self
    guard ahead.take(":") else { return nil }
    let isInverted = ahead.take("^")
    var name = ""
    while let scalar = ahead.peek, Self.isWord(scalar) {
      name.unicodeScalars.append(scalar)
      _ = ahead.next()
    }
    guard ahead.take(":"), ahead.take("]") else { return nil }
    guard let ranges = Self.names[name] else { throw fault("There is no class \(name).") }
    self = ahead
    return isInverted ? ScalarSet.inverted(ranges) : ranges
  }

  /// Returns the ASCII ranges of `\d` and similar escapes.
  static func ranges(of escape: Unicode.Scalar) -> [ClosedRange<UInt32>]? {
    switch escape {
    case "d": names["digit"]
    case "D": ScalarSet.inverted(names["digit"] ?? [])
    case "w": names["word"]
    case "W": ScalarSet.inverted(names["word"] ?? [])
    case "s": names["space"]
    case "S": ScalarSet.inverted(names["space"] ?? [])
    case "h": horizontalSpace
    case "H": ScalarSet.inverted(horizontalSpace)
    case "v": verticalSpace
    case "V": ScalarSet.inverted(verticalSpace)
    default: nil
    }
  }

  /// The line breaks that `\R` matches.
  ///
  /// A carriage return and a newline form one, and are not split.
  private static let lineBreak = PatternNode.alternatives([
    .sequence([.one(ScalarSet([13...13])), .one(ScalarSet([10...10]))]),
    .sequence([.one(ScalarSet([13...13])), .assertion(.notBeforeNewline)]),
    .one(ScalarSet([10...12, 0x85...0x85, 0x2028...0x2029])),
  ])

  private static let verticalSpace: [ClosedRange<UInt32>] = [10...13, 0x85...0x85, 0x2028...0x2029]

  private static let horizontalSpace: [ClosedRange<UInt32>] = [
    9...9, 32...32, 0xa0...0xa0, 0x1680...0x1680, 0x180e...0x180e, 0x2000...0x200a,
    0x202f...0x202f, 0x205f...0x205f, 0x3000...0x3000,
  ]

  private static let names: [String: [ClosedRange<UInt32>]] = [
    "alnum": [48...57, 65...90, 97...122], "alpha": [65...90, 97...122], "ascii": [0...127],
    "blank": [9...9, 32...32], "cntrl": [0...31, 127...127], "digit": [48...57],
    "graph": [33...126], "lower": [97...122], "print": [32...126],
    "punct": [33...47, 58...64, 91...96, 123...126], "space": [9...13, 32...32],
    "upper": [65...90], "word": [48...57, 65...90, 95...95, 97...122],
    "xdigit": [48...57, 65...70, 97...102],
  ]

  private static func refusal(ofEscape scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "1"..."9", "g", "k": "A back reference, as \\\(scalar), is not offered."
    case "p", "P", "X": "Properties of characters, as \\\(scalar), are not offered."
    default: "The escape \\\(scalar) is not offered."
    }
  }
}
