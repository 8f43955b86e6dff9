import Encoding
import Glibc
import Runtime

/// The times of a line.
extension ImportedUser {
  /// How far the clock of another system may be ahead, in seconds.
  private static let clockDifference = 300

  /// Returns the rule that the time of a past event breaks; nil if it is valid.
  static func fault(inTime text: String?, at place: String) -> FieldError? {
    guard let time = text.flatMap(readTime) else {
      let rule = "A time must have the form 2025-04-30T12:00:00Z (RFC 3339)."
      return FieldError(place, "time", rule)
    }
    guard time.seconds <= Glibc.time(nil) + clockDifference else {
      return FieldError(place, "future", "This time must not be in the future.")
    }
    return nil
  }

  /// Reads an RFC 3339 time, from 1970 on and less than 15 hours from UTC.
  ///
  /// Its letters may be in either case.
  private static func readTime(_ text: String) -> CalendarTime? {
    guard let time = CalendarTime(text.uppercased()), let zone = time.zone,
      time.day.year >= 1970, abs(zone) < 15 * 60
    else { return nil }
    return time
  }
}
