/// A moment as relaxed Extended JSON writes it: `2012-12-24T12:15:30.501Z`.
///
/// - Source: RFC 3339; the days after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
struct CalendarDate: CustomStringConvertible {
  let milliseconds: Int64

  private static let day: Int64 = 86_400_000

  /// The years 1970 to 9999, which relaxed Extended JSON writes as text.
  static let readable: Range<Int64> = 0..<253_402_300_800_000

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Reads a date and time with a zone (`Z` or `±hh:mm`, the colon may be missing) and at most
  /// nine digits of a fraction; nil for anything else.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    func number(_ count: Int) -> Int64? {
      let digits = rest.prefix(count)
      guard digits.count == count,
        digits.allSatisfy({ UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") })
      else { return nil }
      rest = rest.dropFirst(count)
      return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
    func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = number(4), take("-"), let month = number(2), take("-"),
      let day = number(2), take("T"), let hour = number(2), take(":"), let minute = number(2),
      take(":"), let second = number(2), (1...12).contains(month), day >= 1,
      day <= Self.days(in: month, of: year), hour < 24, minute < 60, second < 60
    else { return nil }
    var fraction: Int64 = 0
    if take(".") {
      let digits = rest.prefix { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }.count
      guard (1...9).contains(digits), let value = number(digits) else { return nil }
      fraction = (digits..<9).reduce(value) { value, _ in value * 10 } / 1_000_000
    }
    var offset: Int64 = 0
    if !take("Z") {
      let isWest = rest.first == UInt8(ascii: "-")
      guard take("-") || take("+"), let hours = number(2) else { return nil }
      _ = take(":")
      guard let minutes = number(2), hours < 24, minutes < 60 else { return nil }
      offset = (hours * 60 + minutes) * 60_000 * (isWest ? -1 : 1)
    }
    guard rest.isEmpty else { return nil }
    let time = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    milliseconds = Self.days(to: year, month, day) * Self.day + time - offset
  }

  /// For dates within `readable`.
  var description: String {
    let (year, month, day) = Self.date(of: milliseconds / Self.day)
    let time = milliseconds % Self.day
    func padded(_ value: Int64, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
    }
    let fraction = time % 1000 == 0 ? "" : "." + padded(time % 1000, 3)
    let clock = [time / 3_600_000, time / 60_000 % 60, time / 1000 % 60].map { padded($0, 2) }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
      + clock.joined(separator: ":") + fraction + "Z"
  }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Days from 1970; years begin in March here, so that the leap day is their last.
  private static func days(to year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func date(of days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let days = days + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1
    )
  }
}
