/// Writes compact JSON text, part by part.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  /// Whether a comma comes before the next part.
  private var isBehindPart = false

  package init() { bytes.reserveCapacity(256) }

  package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  package mutating func endArray() { end(UInt8(ascii: "]")) }
  package mutating func beginObject() { begin(UInt8(ascii: "{")) }
  package mutating func endObject() { end(UInt8(ascii: "}")) }

  /// The value must follow.
  package mutating func key(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    isBehindPart = false
  }

  package mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { quote($0) }
  }

  /// A number, or another word of JSON.
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

  /// A value as it was read, without the space between its parts.
  private mutating func value(_ node: JSONNode, of text: JSONText) {
    switch node.kind {
    case .null: word("null")
    case .false: word("false")
    case .true: word("true")
    case .number: word(text.slice(node))
    case .string: quote(text.slice(node))
    case .array:
      beginArray()
      for element in text.nodes[node.start..<node.start + node.count] { value(element, of: text) }
      endArray()
    case .object:
      beginObject()
      for member in 0..<node.count {
        quote(text.slice(text.nodes[node.start + 2 * member]))
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

  private mutating func quote<Text: RandomAccessCollection<UInt8>>(_ text: Text)
  where Text.Index == Int {
    separate()
    bytes.append(UInt8(ascii: "\""))
    // What stands for itself, which most is, goes out as a whole.
    var start = text.startIndex
    for index in text.indices where Self.isEscaped(text[index]) {
      bytes.append(contentsOf: text[start..<index])
      escape(text[index])
      start = index + 1
    }
    bytes.append(contentsOf: text[start...])
    bytes.append(UInt8(ascii: "\""))
  }

  /// What must be, and U+007F, which terminals obey.
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
  /// The value as compact JSON text.
  package func serialized() -> [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }

  package var text: String { String(decoding: serialized(), as: UTF8.self) }
}
