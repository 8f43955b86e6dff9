import Encoding
import Glibc
package import Postgres

/// A time with the precision of the database.
package struct Timestamp: Sendable, Equatable {
  /// Microseconds since 1970.
  package let microseconds: Int

  package init(microseconds: Int) { self.microseconds = microseconds }

  /// The time by this host's clock.
  package static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microseconds: time.tv_sec * 1_000_000 + time.tv_nsec / 1_000)
  }

  /// Whole seconds since 1970.
  package var seconds: Int { microseconds.dividedDown(by: 1_000_000).0 }

  /// Whole milliseconds since 1970.
  package var wholeMilliseconds: Int64 { Int64(microseconds.dividedDown(by: 1_000).0) }

  /// The time as `2026-04-30T12:00:00.25+00:00`, without trailing zeros in the fraction.
  ///
  /// - Source: RFC 3339.
  package var text: String {
    let (seconds, rest) = microseconds.dividedDown(by: 1_000_000)
    return CalendarTime(seconds: seconds, nanoseconds: rest * 1_000).text + "+00:00"
  }

  /// The time as `2026-03-04T05:06:07.089Z`, with three digits of the fraction.
  package var milliseconds: String {
    let (seconds, rest) = microseconds.dividedDown(by: 1_000_000)
    let whole = CalendarTime(seconds: seconds, nanoseconds: 0).text
    return "\(whole).\(String(rest / 1_000, digits: 3))Z"
  }

  /// Parses `2026-04-30 12:00:00.25+00`.
  package init?(stored text: [UInt8]) {
    guard let time = CalendarTime(stored: text) else { return nil }
    microseconds = time.seconds * 1_000_000 + time.nanoseconds / 1_000
  }
}

extension Timestamp {
  /// The time that is this much later.
  package func later(by time: Duration) -> Timestamp {
    let (seconds, attoseconds) = time.components
    return Timestamp(
      microseconds: microseconds + Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
  }
}

extension Timestamp: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool { text.appendText(to: &bytes) }
}

extension Timestamp: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self = try row.time(0) }
}

extension Row {
  /// Reads a column of type `timestamptz`; all connections set the time zone UTC.
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
