import Notation

/// A value that goes into a statement as text, or as nothing.
package protocol Bindable {
  /// Appends the value's text form as PostgreSQL reads it, without a NUL in it.
  ///
  /// - Returns: false for SQL's null, with nothing appended.
  func appendText(to bytes: inout [UInt8]) -> Bool
}

extension String: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: utf8)
    return true
  }
}

extension Int: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    String(self).appendText(to: &bytes)
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
  /// As an interval in hours, which may be any number of them.
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    let (seconds, attoseconds) = (self < .zero ? .zero - self : self).components
    let micros = attoseconds / 1_000_000_000_000
    let fraction = micros == 0 ? "" : "." + String(1_000_000 + micros).dropFirst()
    let sign = self < .zero ? "-" : ""
    let text = "\(sign)\(seconds / 3_600):\(seconds / 60 % 60):\(seconds % 60)\(fraction)"
    return text.appendText(to: &bytes)
  }
}

extension Optional: Bindable where Wrapped: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    guard let self else { return false }
    return self.appendText(to: &bytes)
  }
}

/// Text that is UTF-8 already, for instance a JSON document.
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

/// The time of the server at which a transaction begins, as a parameter.
///
/// PostgreSQL reads the text `now` as that when it binds the parameter. So the clocks of the hosts
/// need not agree, and a statement needs no `now()` where expressions must be immutable.
package struct ServerTime: Bindable, Sendable {
  package init() {}

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    bytes.append(contentsOf: "now".utf8)
    return true
  }
}

/// The values of one call of a statement, as libpq takes them.
package struct Parameters: Sendable {
  /// Of each value its length, in four bytes, then its text and a NUL.
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

  /// Leaves room for the length of a value that follows; returns where.
  mutating func begin() -> Int {
    let start = bytes.count
    for _ in 0..<4 { bytes.append(0) }
    return start
  }

  mutating func end(_ start: Int, isNull: Bool) {
    let length = isNull ? Self.null : UInt32(bytes.count - start - 4)
    for index in 0..<4 {
      bytes[start + index] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(index)))
    }
    if !isNull { bytes.append(0) }
    count += 1
  }

  /// Lends the values as an array of C strings, with their number.
  func withPointers<Result>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, Int32) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe withUnsafeTemporaryAllocation(
        of: UnsafePointer<CChar>?.self,
        capacity: max(1, count)
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
            at: index,
            to: start.assumingMemoryBound(to: CChar.self)
          )
          offset += Int(length) + 1
        }
        return unsafe body(UnsafePointer(pointers.baseAddress), Int32(count))
      }
    }
  }
}
