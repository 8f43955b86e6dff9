package import JSON

/// A value in CBOR, the binary format of authenticators.
///
/// - Source: RFC 8949; WebAuthn section 6, whose encoding is that of CTAP 2.1 section 8.
package enum CBOR: Sendable, Equatable {
  case integer(Int)
  case bytes(ArraySlice<UInt8>)
  case text(ByteString)
  case array([CBOR])
  case map(CBORMap)
  case bool(Bool)
  case null

  package var integer: Int? {
    if case .integer(let value) = self { return value }
    return nil
  }

  package var bytes: ArraySlice<UInt8>? {
    if case .bytes(let value) = self { return value }
    return nil
  }

  package var text: String? {
    if case .text(let value) = self { return value.text }
    return nil
  }

  package var map: CBORMap? {
    if case .map(let value) = self { return value }
    return nil
  }

  /// Parses one value, after which no bytes are left.
  ///
  /// Throws `.invalidCBOR` with the rule that the bytes break.
  package static func parse(_ bytes: ArraySlice<UInt8>) throws(WebAuthnError) -> CBOR {
    var reader = CBORReader(bytes)
    let value = try reader.value()
    guard reader.rest.isEmpty else { throw .invalidCBOR(rule: "bytes follow its value") }
    return value
  }
}

/// The entries of a map, in the order in which they came.
package struct CBORMap: Sendable, Equatable {
  /// A key: an integer or a text.
  package enum Key: Sendable, Hashable {
    case integer(Int)
    case text(ByteString)
  }

  package struct Entry: Sendable, Equatable {
    package let key: Key
    package let value: CBOR

    package init(_ key: Key, _ value: CBOR) { (self.key, self.value) = (key, value) }
  }

  package let entries: [Entry]

  package init(_ entries: [Entry]) { self.entries = entries }

  /// Returns the value of a key; nil if the map has no such key.
  package subscript(_ key: Key) -> CBOR? { entries.first { $0.key == key }?.value }
}

extension CBORMap.Key: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(stringLiteral value: String) { self = .text(ByteString(value)) }
}

/// Reads values one after the other.
///
/// It accepts only definite lengths and shortest forms, so a value has one encoding for each order
/// of its keys. It refuses tags, floating-point numbers, and integers that do not fit in 64 bits.
struct CBORReader {
  /// The levels of arrays and maps: those of an attestation of several statements, with certificates.
  static let depthLimit = 5

  /// The bytes that were not yet read.
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Reads a value.
  ///
  /// Throws `.invalidCBOR` with the rule that the bytes break.
  mutating func value() throws(WebAuthnError) -> CBOR { try value(below: 0) }

  /// Reads a value that is inside of a number of arrays and maps.
  private mutating func value(below depth: Int) throws(WebAuthnError) -> CBOR {
    guard let first = rest.popFirst() else { throw .invalidCBOR(rule: "it ends within a value") }
    let detail = first & 31
    switch first >> 5 {
    case 0: return .integer(try integer(detail))
    case 1: return .integer(-1 - (try integer(detail)))
    case 2: return .bytes(try take(try count(detail, width: 1)))
    case 3:
      let bytes = try take(try count(detail, width: 1))
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw .invalidCBOR(rule: "its text is not UTF-8")
      }
      return .text(ByteString(text))
    case 4:
      let count = try count(detail, width: 1)
      try verify(depth)
      var elements: [CBOR] = []
      for _ in 0..<count { elements.append(try value(below: depth + 1)) }
      return .array(elements)
    case 5:
      let count = try count(detail, width: 2)
      try verify(depth)
      return .map(try map(count, below: depth + 1))
    case 6: throw .invalidCBOR(rule: "it has a tag")
    default:
      switch detail {
      case 20: return .bool(false)
      case 21: return .bool(true)
      case 22: return .null
      case 25...27: throw .invalidCBOR(rule: "it has a floating-point number")
      case 31: throw .invalidCBOR(rule: "it has an indefinite length")
      default: throw .invalidCBOR(rule: "it has an unknown simple value")
      }
    }
  }

  private func verify(_ depth: Int) throws(WebAuthnError) {
    guard depth < Self.depthLimit else {
      throw .invalidCBOR(rule: "it has more than \(Self.depthLimit) levels")
    }
  }

  private mutating func map(_ count: Int, below depth: Int) throws(WebAuthnError) -> CBORMap {
    var entries: [CBORMap.Entry] = []
    var keys: Set<CBORMap.Key> = []
    for _ in 0..<count {
      let key: CBORMap.Key
      switch try value(below: depth) {
      case .integer(let number): key = .integer(number)
      case .text(let text): key = .text(text)
      default: throw .invalidCBOR(rule: "it has a key that is neither an integer nor a text")
      }
      guard keys.insert(key).inserted else { throw .invalidCBOR(rule: "it has a key twice") }
      entries.append(CBORMap.Entry(key, try value(below: depth)))
    }
    return CBORMap(entries)
  }

  /// Reads the number of an integer.
  private mutating func integer(_ detail: UInt8) throws(WebAuthnError) -> Int {
    guard let number = Int(exactly: try argument(detail)) else {
      throw .invalidCBOR(rule: "it has an integer of more than 64 bits")
    }
    return number
  }

  /// Reads a count of parts, each of which takes at least `width` bytes.
  ///
  /// No count exceeds the bytes that are left, so none makes a loop or an allocation long.
  private mutating func count(_ detail: UInt8, width: Int) throws(WebAuthnError) -> Int {
    let number = try argument(detail)
    guard number <= UInt64(rest.count / width) else {
      throw .invalidCBOR(rule: "it ends within a value")
    }
    return Int(number)
  }

  /// Reads the argument of a value, in its shortest form.
  private mutating func argument(_ detail: UInt8) throws(WebAuthnError) -> UInt64 {
    guard detail >= 24 else { return UInt64(detail) }
    guard detail < 28 else {
      throw .invalidCBOR(
        rule: detail == 31 ? "it has an indefinite length" : "it has a reserved length")
    }
    let width = 1 << Int(detail - 24)
    let number = try take(width).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let least: UInt64 = width == 1 ? 24 : 1 << (4 * UInt64(width))
    guard number >= least else { throw .invalidCBOR(rule: "it has a number in a long form") }
    return number
  }

  private mutating func take(_ count: Int) throws(WebAuthnError) -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw .invalidCBOR(rule: "it ends within a value") }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
