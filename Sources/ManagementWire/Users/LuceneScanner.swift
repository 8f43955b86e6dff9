import Documents
import Encoding
import JSON
import Runtime

/// Reads the words of a search, byte by byte.
struct LuceneScanner {
  struct Value {
    let text: String
    let isQuoted: Bool
    /// Whether it begins with an asterisk, and more follows.
    let isSuffix: Bool
    /// Whether it ends with an asterisk.
    let isPrefix: Bool

    var hasWildcard: Bool { isSuffix || isPrefix }
  }

  private let bytes: [UInt8]
  private var place = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  func fault(_ reason: String) -> Failure {
    .queryMalformed("The search is invalid at byte \(place): \(reason).")
  }

  var isAtEnd: Bool {
    mutating get {
      skipSpaces()
      return place == bytes.count
    }
  }

  private mutating func skipSpaces() {
    while place < bytes.count, bytes[place] == UInt8(ascii: " ") { place += 1 }
  }

  /// Reads a character after spaces; returns false, without reading it, for another.
  mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpaces()
    guard place < bytes.count, bytes[place] == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  /// Reads these bytes.
  mutating func take(word: String) -> Bool {
    skipSpaces()
    guard bytes[place...].starts(with: word.utf8) else { return false }
    place += word.utf8.count
    return true
  }

  /// Reads an operator, which a space or a parenthesis follows.
  mutating func take(keyword: String) -> Bool {
    skipSpaces()
    let end = place + keyword.utf8.count
    guard bytes[place...].starts(with: keyword.utf8), end < bytes.count,
      " (\"-![{".utf8.contains(bytes[end]) || keyword == "TO"
    else { return false }
    place = end
    return true
  }

  /// Reads a field and its colon; returns nil, without reading, for anything else.
  mutating func field() -> String? {
    let start = place
    guard let name = name(), place < bytes.count, bytes[place] == UInt8(ascii: ":") else {
      place = start
      return nil
    }
    place += 1
    return name
  }

  mutating func name() -> String? {
    skipSpaces()
    let start = place
    while place < bytes.count, !" :()[]{}\"*\\".utf8.contains(bytes[place]) { place += 1 }
    return place == start ? nil : String(decoding: bytes[start..<place], as: UTF8.self)
  }

  /// Reads a bound of a range; nil for `*`.
  mutating func bound() throws(Failure) -> Value? {
    guard let value = try value(endsAtBracket: true) else { throw fault("a bound is expected") }
    if value.isPrefix, value.text.isEmpty { return nil }
    guard !value.hasWildcard else { throw fault("a bound must not contain an asterisk") }
    return value
  }

  /// Reads a quoted or a bare value; returns nil at an end.
  mutating func value(endsAtBracket: Bool = false) throws(Failure) -> Value? {
    let isQuoted = take("\"")
    let ends = isQuoted ? "\"" : endsAtBracket ? " ()]}\"" : " ()\""
    var text: [UInt8] = []
    var (isSuffix, isPrefix) = (false, false)
    let start = place
    while place < bytes.count, !ends.utf8.contains(bytes[place]) {
      if isPrefix {
        guard place == start + 1 else {
          throw fault("an asterisk is only allowed at the start and the end of a value")
        }
        (isSuffix, isPrefix) = (true, false)
      }
      var byte = bytes[place]
      if byte == UInt8(ascii: "\\") {
        place += 1
        guard place < bytes.count else { throw fault("a character is expected after \\") }
        byte = bytes[place]
        text.append(byte)
      } else if !isQuoted, byte == UInt8(ascii: "*") {
        isPrefix = true
      } else if !isQuoted, byte == UInt8(ascii: "?") {
        throw fault("the wildcard ? is not supported")
      } else {
        text.append(byte)
      }
      place += 1
    }
    if isQuoted, !take("\"") { throw fault("a quote is not closed") }
    guard isQuoted || isPrefix || !text.isEmpty else { return nil }
    guard let text = String(validating: text, as: UTF8.self) else {
      throw fault("a value is not text")
    }
    return Value(text: text, isQuoted: isQuoted, isSuffix: isSuffix, isPrefix: isPrefix)
  }

  // MARK: The kinds of values

  static func flag(_ text: String) -> Bool? {
    switch text {
    case "true": true
    case "false": false
    default: nil
    }
  }

  static func isNumber(_ text: String) -> Bool {
    guard let json = try? JSON.parse(Array(text.utf8)) else { return false }
    if case .number = json { return true }
    return false
  }
}

/// A year, a month, a day or a moment of a search, in UTC if it names no zone.
///
/// - Source: Elasticsearch rounds a date to a bound of its period, as the examples of Auth0 show:
///   `{2017-11 TO 2017-12]` is December, like `[2017-12-01 TO 2017-12-31]`.
struct LucenePeriod {
  let start: String
  /// The start of the period after it; nil for a moment.
  let next: String?

  init?(_ text: String) {
    let length = text.utf8.count
    guard let rest = [4: "-01-01", 7: "-01", 10: ""][length] else {
      guard let moment = FilterValue.moment(text) ?? FilterValue.moment(text + "Z") else {
        return nil
      }
      (start, next) = (moment, nil)
      return
    }
    guard let day = CalendarTime(text + rest)?.day, day.year > 0 else { return nil }
    start = Self.midnight(day)
    next =
      switch length {
      case 4: CalendarDay(day.year + 1, 1, 1).map(Self.midnight)
      case 7: CalendarDay(day.year + day.month / 12, day.month % 12 + 1, 1).map(Self.midnight)
      default: Self.midnight(CalendarDay(number: day.number + 1))
      }
  }

  private static func midnight(_ day: CalendarDay) -> String {
    CalendarTime(seconds: day.number * 86_400, nanoseconds: 0).text + "Z"
  }
}
