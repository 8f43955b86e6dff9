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
    let digits = Array("0123456789abcdef".utf8)
    text.append(contentsOf: "\\x".utf8)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return true
  }
}

/// The values of one call of a statement, as libpq takes them.
struct Parameters: Sendable {
  private var text: [UInt8] = []
  /// Where each value starts in `text`; -1 for null.
  private var offsets: [Int] = []

  init() {}

  init<each Value: Bindable>(_ values: repeat each Value) {
    text.reserveCapacity(128)
    for value in repeat each values { append(value) }
  }

  init(_ values: [String?]) {
    for value in values { append(value) }
  }

  mutating func append(_ value: some Bindable) {
    let start = text.count
    if value.appendText(to: &text) {
      offsets.append(start)
      text.append(0)
    } else {
      offsets.append(-1)
    }
  }

  /// Lends the values as an array of C strings, with their number.
  func withPointers<Result>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, Int32) -> Result
  ) -> Result {
    unsafe text.withUnsafeBufferPointer { text in
      unsafe withUnsafeTemporaryAllocation(
        of: UnsafePointer<CChar>?.self,
        capacity: max(1, offsets.count)
      ) { pointers in
        for (index, offset) in offsets.enumerated() {
          if offset < 0 {
            unsafe pointers.initializeElement(at: index, to: nil)
          } else {
            let start = unsafe UnsafeRawPointer(text.baseAddress.unsafelyUnwrapped + offset)
            unsafe pointers.initializeElement(
              at: index,
              to: start.assumingMemoryBound(to: CChar.self)
            )
          }
        }
        return unsafe body(UnsafePointer(pointers.baseAddress), Int32(offsets.count))
      }
    }
  }
}
