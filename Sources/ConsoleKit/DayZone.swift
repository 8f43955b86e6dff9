/// The time zone in which the days of a filter begin and end: that of the reader.
///
/// A script fills in its offset at the first day of the filter. Without scripts, days are in UTC.
package struct DayZone {
  /// The offset in the form of RFC 3339.
  private let offset: String

  package static let utc = DayZone(offset: "Z")

  private init(offset: String) { self.offset = offset }

  /// Reads the minutes east of UTC; nil for another text.
  package init?(minutes text: String) {
    guard let minutes = Int(text), abs(minutes) <= 900 else { return nil }
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
    offset = "\(minutes < 0 ? "-" : "+")\(digits(hours)):\(digits(rest))"
  }

  /// Returns the first second of a day.
  package func start(of day: String) -> String { "\(day)T00:00:00\(offset)" }

  /// Returns the last second of a day.
  package func end(of day: String) -> String { "\(day)T23:59:59\(offset)" }

  /// Returns the last microsecond of a day.
  package func last(of day: String) -> String { "\(day)T23:59:59.999999\(offset)" }
}
