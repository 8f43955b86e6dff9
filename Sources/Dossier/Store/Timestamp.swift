package import Postgres

/// A moment as the database keeps it.
package struct Timestamp: Sendable, Equatable {
  /// Since 1970.
  package let microseconds: Int

  package init(microseconds: Int) { self.microseconds = microseconds }

  /// As `2026-04-30T12:00:00.25+00:00`, without zeros at the end of a fraction.
  ///
  /// - Source: RFC 3339.
  package var text: String {
    let (seconds, rest) = microseconds.dividedDown(by: 1_000_000)
    let (day, clock) = seconds.dividedDown(by: 86_400)
    let date = Self.date(day)
    var text = "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-"
    text += "\(Self.padded(date.day, 2))T\(Self.padded(clock / 3_600, 2)):"
    text += "\(Self.padded(clock / 60 % 60, 2)):\(Self.padded(clock % 60, 2))"
    if rest > 0 {
      var digits = Self.padded(rest, 6)
      while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
      text += ".\(digits)"
    }
    return text + "+00:00"
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  /// Years that begin in March have their odd day at the end.
  ///
  /// - Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  private static func date(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = (days + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1
    )
  }

  fileprivate static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension Int {
  fileprivate func dividedDown(by divisor: Int) -> (Int, Int) {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }
}

extension Row {
  /// A column of type `timestamptz`, in the zone that all connections ask for, which is UTC.
  package func time(_ column: Int) throws(DatabaseError) -> Timestamp {
    guard let time = Timestamp(stored: try bytes(column)) else {
      throw DatabaseError(.unexpectedColumn, "column \(column) is not a time in UTC")
    }
    return time
  }

  package func time(ifAny column: Int) throws(DatabaseError) -> Timestamp? {
    isNull(column) ? nil : try time(column)
  }
}

extension Timestamp {
  /// Reads `2026-04-30 12:00:00.25+00`.
  init?(stored text: [UInt8]) {
    var rest = text[...]
    guard let year = rest.number(), rest.take("-"), let month = rest.number(), rest.take("-"),
      let day = rest.number(), rest.take(" "), let hour = rest.number(), rest.take(":"),
      let minute = rest.number(), rest.take(":"), let second = rest.number()
    else { return nil }
    var fraction = 0
    if rest.take(".") {
      let width = rest.prefix { $0 != UInt8(ascii: "+") }.count
      guard width <= 6, let digits = rest.number() else { return nil }
      fraction = (width..<6).reduce(digits) { number, _ in number * 10 }
    }
    guard rest.elementsEqual("+00".utf8) else { return nil }
    let seconds =
      Self.days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    microseconds = seconds * 1_000_000 + fraction
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func take(_ mark: Unicode.Scalar) -> Bool {
    guard first == UInt8(ascii: mark) else { return false }
    self = dropFirst()
    return true
  }

  /// Takes digits, few enough for any number of them to be one.
  fileprivate mutating func number() -> Int? {
    let digits = prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard (1...9).contains(digits.count) else { return nil }
    self = dropFirst(digits.count)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }
}
