/// Writes compact JSON text piece by piece.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  /// Whether the next part needs a comma before it.
  private var isBehindPart = false

  package init() { bytes.reserveCapacity(256) }

  package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  package mutating func endArray() { end(UInt8(ascii: "]")) }
  package mutating func beginObject() { begin(UInt8(ascii: "{")) }
  package mutating func endObject() { end(UInt8(ascii: "}")) }

  /// Writes a key; the value must follow.
  package mutating func key(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    isBehindPart = false
  }

  /// Writes a member that is a string.
  package mutating func member(_ name: String, _ value: String) {
    key(name)
    string(value)
  }

  /// Writes a member that is a number.
  package mutating func member(_ name: String, _ value: Int) {
    key(name)
    word(String(value))
  }

  package mutating func string(_ value: String) {
    if value.utf8.withContiguousStorageIfAvailable({ quote($0) }) == nil {
      Array(value.utf8).withUnsafeBufferPointer { quote($0) }
    }
  }

  /// Writes a number or another JSON literal.
  package mutating func word(_ text: String) { word(text.utf8) }

  package mutating func value(_ json: JSON) {
    switch json {
    case .null: word("null")
    case .bool(let value): word(value ? "true" : "false")
    case .number(let number): word(number.text)
    case .string(let text): string(text)
    case .array(let elements):
      if let (text, node) = elements.place { return value(node, of: text) }
      beginArray()
      for element in elements { value(element) }
      endArray()
    case .object(let object):
      if let (text, node) = object.place { return value(node, of: text) }
      beginObject()
      for (name, member) in object {
        key(name)
        value(member)
      }
      endObject()
    }
  }

  /// Writes a parsed value without white space.
  private mutating func value(_ node: JSONNode, of text: JSONText) {
    switch node.kind {
    case .null: word("null")
    case .false: word("false")
    case .true: word("true")
    case .number: word(text.slice(node))
    case .string: text.slice(node).withUnsafeBufferPointer { quote($0) }
    case .array:
      beginArray()
      for element in text.nodes[node.start..<node.start + node.count] { value(element, of: text) }
      endArray()
    case .object:
      beginObject()
      for member in 0..<node.count {
        let name = text.slice(text.nodes[node.start + 2 * member])
        name.withUnsafeBufferPointer { quote($0) }
        bytes.append(UInt8(ascii: ":"))
        isBehindPart = false
        value(text.nodes[node.start + 2 * member + 1], of: text)
      }
      endObject()
    }
  }

  // MARK: Bytes

  private mutating func begin(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    isBehindPart = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    isBehindPart = true
  }

  private mutating func separate() {
    if isBehindPart { bytes.append(UInt8(ascii: ",")) }
    isBehindPart = true
  }

  private mutating func word(_ text: some Collection<UInt8>) {
    separate()
    bytes.append(contentsOf: text)
  }

  private mutating func quote(_ text: UnsafeBufferPointer<UInt8>) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    // Most text needs no escape, and is copied in runs.
    var start = 0
    while true {
      let end = Self.plainEnd(of: text, from: start)
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<end]))
      guard end < text.count else { break }
      escape(text[end])
      start = end + 1
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Returns the first position from `start` on whose byte is escaped, or the end.
  private static func plainEnd(of text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    let raw = UnsafeRawBufferPointer(text)
    var index = start
    while index + 8 <= text.count,
      !hasEscaped(raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    { index += 8 }
    while index < text.count, !isEscaped(text[index]) { index += 1 }
    return index
  }

  /// Returns whether one of eight bytes is escaped: `isEscaped` for all at once.
  ///
  /// A subtraction borrows from the high bit of a byte that is too small, or zero after the
  /// exclusive or. A borrow from a lower byte happens only if that byte is itself escaped.
  private static func hasEscaped(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
    let found =
      (word &- ones &* 0x20) & ~word | zeros(word ^ ones &* UInt64(UInt8(ascii: "\"")))
      | zeros(word ^ ones &* UInt64(UInt8(ascii: "\\"))) | zeros(word ^ ones &* 0x7f)
    return found & (ones &* 0x80) != 0
  }

  /// Returns whether JSON requires an escape, or the byte is U+007F, which terminals interpret.
  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7f
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
    case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
    case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
    default:
      bytes.append(contentsOf: "u00".utf8)
      for digit in [byte >> 4, byte & 15] {
        bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
  }
}

extension JSON {
  /// Returns the value as compact JSON text.
  package func serialized() -> [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }

  package var text: String { String(decoding: serialized(), as: UTF8.self) }
}

extension JSONObject {
  /// Returns the object as compact JSON text.
  package func serialized() -> [UInt8] { JSON.object(self).serialized() }
}

extension JSON {
  /// Returns the text in short lines, for people.
  ///
  /// A value that fits in one line is not broken.
  package func lines(indentedBy indent: String = "") -> String {
    let line = text
    guard line.utf8.count + indent.utf8.count > 50 else { return line }
    let inner = indent + "  "
    if let members = object {
      let parts = members.map { name, value in
        "\(inner)\(JSON.string(name).text): \(value.lines(indentedBy: inner))"
      }
      return "{\n\(parts.joined(separator: ",\n"))\n\(indent)}"
    }
    guard let elements = array else { return line }
    let parts = elements.map { "\(inner)\($0.lines(indentedBy: inner))" }
    return "[\n\(parts.joined(separator: ",\n"))\n\(indent)]"
  }
}
