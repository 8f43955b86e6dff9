import JSON
package import WebAuthn

extension CBOR {
  /// The value in its shortest form, with the entries of maps in their order.
  package var encoded: [UInt8] {
    switch self {
    case .integer(let number) where number >= 0: Self.head(0, UInt64(number))
    case .integer(let number): Self.head(1, UInt64(-1 - number))
    case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
    case .text(let text): Self.head(3, UInt64(text.text.utf8.count)) + Array(text.text.utf8)
    case .array(let elements): Self.head(4, UInt64(elements.count)) + elements.flatMap(\.encoded)
    case .map(let map):
      Self.head(5, UInt64(map.entries.count))
        + map.entries.flatMap { $0.key.value.encoded + $0.value.encoded }
    case .bool(let value): [value ? 0xf5 : 0xf4]
    case .null: [0xf6]
    }
  }

  /// Returns a map with these entries.
  package static func map(_ entries: KeyValuePairs<CBORMap.Key, CBOR>) -> CBOR {
    .map(CBORMap(entries.map { CBORMap.Entry($0.key, $0.value) }))
  }

  package static func bytes(_ bytes: [UInt8]) -> CBOR { .bytes(bytes[...]) }

  private static func head(_ kind: UInt8, _ argument: UInt64) -> [UInt8] {
    let first = kind << 5
    func last(_ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * (count - 1 - $0))) }
    }
    switch argument {
    case ..<24: return [first | UInt8(argument)]
    case ..<0x100: return [first | 24] + last(1)
    case ..<0x1_0000: return [first | 25] + last(2)
    case ..<0x1_0000_0000: return [first | 26] + last(4)
    default: return [first | 27] + last(8)
    }
  }
}

extension CBORMap.Key {
  fileprivate var value: CBOR {
    switch self {
    case .integer(let number): .integer(number)
    case .text(let text): .text(text)
    }
  }
}
