/// A day, with the time of day and the zone of its text.
package struct CalendarTime: Sendable, Equatable {
  package let day: CalendarDay
  /// The seconds since midnight.
  package let second: Int
  /// The fraction of the second, in nanoseconds.
  package let nanoseconds: Int
  /// The offset from UTC in minutes, positive to the east.
  ///
  /// Nil for a day without a time.
  package let zone: Int?

  /// The whole seconds since 1970, in UTC.
  package var seconds: Int { day.number * 86_400 + second - (zone ?? 0) * 60 }

  /// Reads a day, or a day and a time with a zone: `Z`, `±hh:mm` or `±hhmm`.
  ///
  /// - Source: RFC 3339 section 5.6, in upper case and without leap seconds. Zones without a colon
  ///   are from ISO 8601, and MongoDB writes them.
  package init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    guard let day = rest.takeDay(years: 4...4) else { return nil }
    guard !rest.isEmpty else {
      (self.day, second, nanoseconds, zone) = (day, 0, 0, nil)
      return
    }
    guard rest.take("T"), let (second, nanoseconds) = rest.takeClock(), let zone = rest.takeZone(),
      rest.isEmpty
    else { return nil }
    (self.day, self.second, self.nanoseconds, self.zone) = (day, second, nanoseconds, zone)
  }

  /// Reads the form in which PostgreSQL writes UTC: `2026-04-30 12:00:00.25+00`.
  package init?(stored text: [UInt8]) {
    var rest = text[...]
    guard let day = rest.takeDay(years: 4...6), rest.take(" "),
      let (second, nanoseconds) = rest.takeClock(), rest.elementsEqual("+00".utf8)
    else { return nil }
    (self.day, self.second, self.nanoseconds, zone) = (day, second, nanoseconds, 0)
  }

  /// Creates a time in UTC.
  package init(seconds: Int, nanoseconds: Int) {
    let (number, second) = seconds.dividedDown(by: 86_400)
    (day, self.second, self.nanoseconds) = (CalendarDay(number: number), second, nanoseconds)
    zone = 0
  }

  /// The day and time, without the zone and without trailing zeros of the fraction:
  /// `2026-04-30T12:00:00.25`.
  package var text: String {
    var text = "\(String(day.year, digits: 4))-\(String(day.month, digits: 2))-"
    text += "\(String(day.day, digits: 2))T\(String(second / 3_600, digits: 2)):"
    text += "\(String(second / 60 % 60, digits: 2)):\(String(second % 60, digits: 2))"
    guard nanoseconds > 0 else { return text }
    var digits = String(nanoseconds, digits: 9)
    while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
    return "\(text).\(digits)"
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func take(_ mark: Unicode.Scalar) -> Bool {
    guard first == UInt8(ascii: mark) else { return false }
    self = dropFirst()
    return true
  }

  /// Takes all leading digits, if their number is in the range.
  fileprivate mutating func takeNumber(_ width: ClosedRange<Int>) -> Int? {
    let digits = prefix(width.upperBound).prefix { $0.isDigit }
    guard width.contains(digits.count) else { return nil }
    self = dropFirst(digits.count)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  fileprivate mutating func takeDay(years: ClosedRange<Int>) -> CalendarDay? {
    guard let year = takeNumber(years), take("-"), let month = takeNumber(2...2), take("-"),
      let day = takeNumber(2...2)
    else { return nil }
    return CalendarDay(year, month, day)
  }

  /// Takes hours, minutes, seconds and at most nine digits of a fraction.
  fileprivate mutating func takeClock() -> (second: Int, nanoseconds: Int)? {
    guard let hour = takeNumber(2...2), hour < 24, take(":"), let minute = takeNumber(2...2),
      minute < 60, take(":"), let second = takeNumber(2...2), second < 60
    else { return nil }
    var nanoseconds = 0
    if take(".") {
      let before = count
      guard let digits = takeNumber(1...9) else { return nil }
      nanoseconds = (before - count..<9).reduce(digits) { number, _ in number * 10 }
    }
    return ((hour * 60 + minute) * 60 + second, nanoseconds)
  }

  /// Takes a zone.
  ///
  /// Returns its offset from UTC in minutes.
  fileprivate mutating func takeZone() -> Int? {
    if take("Z") { return 0 }
    let isWest = first == UInt8(ascii: "-")
    guard take("-") || take("+"), let hours = takeNumber(2...2), hours < 24 else { return nil }
    _ = take(":")
    guard let minutes = takeNumber(2...2), minutes < 60 else { return nil }
    return (hours * 60 + minutes) * (isWest ? -1 : 1)
  }
}

/// A day of the Gregorian calendar, also before its introduction in 1582.
///
/// - Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Years begin in March
///   there, so the leap day is at the end.
package struct CalendarDay: Sendable, Equatable {
  package let year: Int
  package let month: Int
  package let day: Int

  /// Creates a day.
  ///
  /// Returns nil if it does not exist; a year has at most nine digits.
  package init?(_ year: Int, _ month: Int, _ day: Int) {
    guard (1...12).contains(month), day >= 1, day <= Self.days(of: month, in: year) else {
      return nil
    }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Creates the day at a number of days after 1 January 1970.
  package init(number: Int) {
    let (era, dayOfEra) = (number + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    month = shifted < 10 ? shifted + 3 : shifted - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
  }

  /// The number of days since 1 January 1970.
  package var number: Int {
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func days(of month: Int, in year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int {
  /// Returns the quotient rounded down, and the remainder.
  package func dividedDown(by divisor: Int) -> (Int, Int) {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }
}
