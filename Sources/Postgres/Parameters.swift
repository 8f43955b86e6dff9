import Encoding

/// A parameter value of a statement: text or null.
package protocol Bindable {
  /// Appends the value in PostgreSQL's text format, without NUL.
  ///
  /// - Returns: false for SQL's null; then nothing is appended.
  func appendText(to bytes: inout [UInt8]) -> Bool
}

extension String: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    unsafe utf8.span.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    return true
  }
}

extension Int: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    if self < 0 { bytes.append(UInt8(ascii: "-")) }
    bytes.append(decimal: magnitude)
    return true
  }
}

extension [UInt8] {
  /// Appends the digits of a number.
  fileprivate mutating func append(decimal number: UInt) {
    var power: UInt = 1
    while number / power > 9 { power *= 10 }
    while power > 0 {
      append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / power % 10))
      power /= 10
    }
  }
}

extension Bool: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    bytes.append(UInt8(ascii: self ? "t" : "f"))
    return true
  }
}

extension Double: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    description.appendText(to: &bytes)
  }
}

extension Duration: Bindable {
  /// Appends an interval in hours, whose number is unbounded.
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    let (whole, attoseconds) = components
    if whole < 0 || attoseconds < 0 { bytes.append(UInt8(ascii: "-")) }
    let seconds = UInt(whole.magnitude)
    let micros = UInt(attoseconds.magnitude) / 1_000_000_000_000
    bytes.append(decimal: seconds / 3_600)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(decimal: seconds / 60 % 60)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(decimal: seconds % 60)
    if micros > 0 {
      let start = bytes.count
      // The first digit of this number becomes the point.
      bytes.append(decimal: 1_000_000 + micros)
      bytes[start] = UInt8(ascii: ".")
    }
    return true
  }
}

extension Optional: Bindable where Wrapped: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    guard let self else { return false }
    return self.appendText(to: &bytes)
  }
}

/// Text that is already UTF-8, such as a JSON document.
package struct TextBytes: Bindable, Sendable {
  package let bytes: [UInt8]
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: self.bytes)
    return true
  }
}

/// A value of type `bytea`.
package struct BinaryBytes: Bindable, Hashable, Sendable {
  package let bytes: [UInt8]
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func appendText(to text: inout [UInt8]) -> Bool {
    text.append(contentsOf: "\\x".utf8)
    text.append(hexadecimal: bytes)
    return true
  }
}

/// The server's start time of the transaction, as a parameter.
///
/// PostgreSQL converts the text `now` when it binds the parameter. So a statement needs no `now()`
/// where expressions must be immutable. All statements of a transaction get the same value.
///
/// The clocks of the workers' hosts need not agree: each time that is stored, or compared with a
/// stored one, is the database's. In a distributed database, this is the coordinator's time. There,
/// `now()` in a read is the time of the node with the rows.
package struct ServerTime: Bindable, Sendable {
  package init() {}

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: "now".utf8)
    return true
  }
}

/// The parameters of one call of a statement, in libpq's format.
package struct Parameters: Sendable {
  /// For each value its length in four bytes, its text and a NUL.
  var bytes: [UInt8] = []
  private var count = 0
  private static let null = UInt32.max

  package init() { bytes.reserveCapacity(96) }

  init(_ values: [String?]) {
    self.init()
    for value in values { append(value) }
  }

  mutating func append(_ value: some Bindable) {
    let start = begin()
    end(start, isNull: !value.appendText(to: &bytes))
  }

  /// Reserves space for the length of the next value, and returns its position.
  mutating func begin() -> Int {
    let start = bytes.count
    for _ in 0..<4 { bytes.append(0) }
    return start
  }

  mutating func end(_ start: Int, isNull: Bool) {
    let length = isNull ? Self.null : UInt32(bytes.count - start - 4)
    unsafe bytes.withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: length.littleEndian, toByteOffset: start, as: UInt32.self)
    }
    if !isNull { bytes.append(0) }
    count += 1
  }

  /// Returns the text of a value, or the bytes of one of type `bytea`; nil for null.
  func value(at index: Int, isBinary: Bool) -> [UInt8]? {
    var offset = 0
    for place in 0..<count {
      let length = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
      offset += 4
      let isNull = length == Self.null
      if place == index {
        let text = isNull ? nil : bytes[offset..<offset + Int(length)]
        guard isBinary else { return text.map(Array.init) }
        return text.flatMap { [UInt8](hexadecimal: $0.dropFirst(2)) }
      }
      if !isNull { offset += Int(length) + 1 }
    }
    return nil
  }

  /// Calls `body` with the values as an array of C strings, and their number.
  func withPointers<Result>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, Int32) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe withUnsafeTemporaryAllocation(
        of: UnsafePointer<CChar>?.self, capacity: max(1, count)
      ) { pointers in
        var offset = 0
        for index in 0..<count {
          let length = unsafe UInt32(
            littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
          )
          offset += 4
          guard length != Self.null else {
            unsafe pointers.initializeElement(at: index, to: nil)
            continue
          }
          let start = unsafe bytes.baseAddress.unsafelyUnwrapped + offset
          unsafe pointers.initializeElement(
            at: index, to: start.assumingMemoryBound(to: CChar.self)
          )
          offset += Int(length) + 1
        }
        return unsafe body(UnsafePointer(pointers.baseAddress), Int32(count))
      }
    }
  }
}
