/// SQL made of literals of the program: a statement, or a piece that several statements share.
///
/// A statement interpolates pieces, which are joined once, on the first use of the statement. No
/// value of run time can enter, since the type has no other initializers.
@safe package struct SQL: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
  /// The text, which ends with a zero byte and lives as long as the program.
  @unsafe nonisolated(unsafe) let cString: UnsafePointer<CChar>

  package init(stringLiteral literal: StaticString) { unsafe cString = literal.cString }

  package init(stringInterpolation pieces: StringInterpolation) {
    let bytes = pieces.text.utf8CString
    let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    _ = unsafe copy.initialize(fromContentsOf: bytes)
    // An allocation is never empty, since the text ends with a zero byte.
    unsafe cString = UnsafePointer(copy.baseAddress.unsafelyUnwrapped)
  }

  /// Returns the sum of a time and an interval, as an immutable expression.
  ///
  /// PostgreSQL's sum depends on the time zone of the session, and so is only stable.
  package static func sum(_ time: SQL, _ interval: SQL) -> SQL {
    "(\(time) at time zone 'UTC' + \(interval)) at time zone 'UTC'"
  }

  package var description: String { unsafe String(cString: cString) }

  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: StaticString) { text += "\(literal)" }

    package mutating func appendInterpolation(_ piece: SQL) { text += piece.description }
  }
}
