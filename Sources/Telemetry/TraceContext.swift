/// The place of a request in a trace, as its caller names it.
///
/// - Source: W3C Trace Context, section 3.2.
package struct TraceContext: Sendable, Equatable {
  /// The id of the trace, its first half and its second half.
  package let trace: (high: UInt64, low: UInt64)
  /// The id of the span of the caller.
  package let parent: UInt64
  package let isSampled: Bool

  /// The length of the field in version 00.
  private static let length = 55
  /// The longest field of a later version that is read.
  private static let longest = 128

  package static func == (first: TraceContext, second: TraceContext) -> Bool {
    first.trace == second.trace && first.parent == second.parent
      && first.isSampled == second.isSampled
  }

  /// Parses the field `traceparent`; nil for an invalid one.
  package init?(_ field: Span<UInt8>) {
    let count = field.count
    guard (Self.length...Self.longest).contains(count), field[2] == UInt8(ascii: "-"),
      field[35] == UInt8(ascii: "-"), field[52] == UInt8(ascii: "-"),
      let version = Self.number(field, 0..<2), version != 0xff,
      // A later version may append parts.
      count == Self.length || version != 0 && field[Self.length] == UInt8(ascii: "-"),
      let high = Self.number(field, 3..<19), let low = Self.number(field, 19..<35),
      high | low != 0, let parent = Self.number(field, 36..<52), parent != 0,
      let flags = Self.number(field, 53..<55)
    else { return nil }
    trace = (high, low)
    (self.parent, isSampled) = (parent, flags & 1 == 1)
  }

  /// Returns a number of hexadecimal digits in lower case; nil for other text.
  private static func number(_ field: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
    var number: UInt64 = 0
    for index in range {
      let byte = field[index]
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      default: return nil
      }
      number = number << 4 | UInt64(digit)
    }
    return number
  }
}
