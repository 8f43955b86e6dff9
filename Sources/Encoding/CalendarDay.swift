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
