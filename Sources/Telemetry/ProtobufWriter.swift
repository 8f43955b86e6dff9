/// A writer of messages in the wire format of Protocol Buffers.
///
/// - Source: the encoding of Protocol Buffers, version 3.
struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  /// Appends a message in a field.
  mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
    var inner = ProtobufWriter()
    body(&inner)
    append(field, inner.bytes)
  }

  mutating func string(_ field: Int, _ text: String) {
    key(field, 2)
    varint(UInt64(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ field: Int, _ value: [UInt8]) {
    key(field, 2)
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  mutating func integer(_ field: Int, _ value: Int) {
    key(field, 0)
    varint(UInt64(bitPattern: Int64(value)))
  }

  mutating func fixed(_ field: Int, _ value: UInt64) {
    key(field, 1)
    littleEndian(value)
  }

  mutating func fixed32(_ field: Int, _ value: UInt32) {
    key(field, 5)
    for shift in [0, 8, 16, 24] as [UInt32] {
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  mutating func double(_ field: Int, _ value: Double) { fixed(field, value.bitPattern) }

  /// Appends a list of numbers, packed.
  mutating func packed(_ field: Int, _ values: some Collection<UInt64>) {
    key(field, 2)
    varint(UInt64(values.count * 8))
    for value in values { littleEndian(value) }
  }

  private mutating func key(_ field: Int, _ type: Int) { varint(UInt64(field << 3 | type)) }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private mutating func littleEndian(_ value: UInt64) {
    var rest = value
    for _ in 0..<8 {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }
}

/// The value of an attribute.
package enum AttributeValue: Sendable {
  case text(String)
  case number(Int)
}

extension ProtobufWriter {
  /// Appends an attribute (`KeyValue`).
  mutating func attribute(_ field: Int, _ name: String, _ value: AttributeValue) {
    message(field) {
      $0.string(1, name)
      $0.message(2) { any in
        switch value {
        case .text(let text): any.string(1, text)
        case .number(let number): any.integer(3, number)
        }
      }
    }
  }
}
