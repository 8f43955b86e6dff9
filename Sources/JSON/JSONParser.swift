extension JSON {
  /// Reads a text, strictly.
  ///
  /// RFC 8259 to the letter, in UTF-8 without a byte order mark. Refused besides: keys that occur
  /// twice, lone surrogates, U+0000 (which PostgreSQL cannot store), and what passes the limits.
  /// Memory is bounded by the length of the text.
  /// - Complexity: O(*n*).
  package static func parse(
    _ bytes: [UInt8],
    limits: JSONLimits = .standard
  ) throws(JSONError) -> JSON {
    var parser = JSONParser(bytes, limits)
    return try parser.text()
  }
}

/// A reader of one text; each function leaves the offset behind what it read.
struct JSONParser {
  private let bytes: [UInt8]
  private let limits: JSONLimits
  private var offset = 0
  private var path: [Step] = []

  private enum Step {
    case key(String)
    case index(Int)
  }

  init(_ bytes: [UInt8], _ limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  mutating func text() throws(JSONError) -> JSON {
    skipSpace()
    guard offset < bytes.count else { throw error(.empty, "There is no JSON text.") }
    let value = try value()
    skipSpace()
    guard offset == bytes.count else {
      throw error(.trailing, "Something follows the JSON text.")
    }
    return value
  }

  private mutating func value() throws(JSONError) -> JSON {
    switch peek {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    case UInt8(ascii: "-"): return .number(try number())
    case let byte? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
      return .number(try number())
    default: throw error(.syntax, "A value is expected here.")
    }
  }

  // MARK: Structure

  private mutating func object() throws(JSONError) -> JSON {
    try enter()
    var object = JSONObject()
    if peek == UInt8(ascii: "}") {
      offset += 1
      return .object(object)
    }
    while true {
      guard peek == UInt8(ascii: "\"") else { throw error(.syntax, "A key is expected here.") }
      let start = offset
      let key = try string()
      path.append(.key(key))
      guard object[key] == nil else {
        throw error(.duplicateKey, "An object must not have a key twice.", at: start)
      }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw error(.syntax, "A colon is expected here.") }
      skipSpace()
      object[key] = try value()
      path.removeLast()
      skipSpace()
      if take(UInt8(ascii: "}")) { return .object(object) }
      guard take(UInt8(ascii: ",")) else {
        throw error(.syntax, "A comma or a closing brace is expected here.")
      }
      skipSpace()
    }
  }

  private mutating func array() throws(JSONError) -> JSON {
    try enter()
    var elements: [JSON] = []
    if peek == UInt8(ascii: "]") {
      offset += 1
      return .array(elements)
    }
    while true {
      path.append(.index(elements.count))
      elements.append(try value())
      path.removeLast()
      skipSpace()
      if take(UInt8(ascii: "]")) { return .array(elements) }
      guard take(UInt8(ascii: ",")) else {
        throw error(.syntax, "A comma or a closing bracket is expected here.")
      }
      skipSpace()
    }
  }

  /// Steps into an array or an object; the path has a step for each that encloses it.
  private mutating func enter() throws(JSONError) {
    guard path.count < limits.depth else {
      throw error(.depth, "Arrays and objects may be \(limits.depth) deep.")
    }
    offset += 1
    skipSpace()
  }

  private mutating func literal(_ word: String, _ value: JSON) throws(JSONError) -> JSON {
    guard bytes[offset...].starts(with: word.utf8) else {
      throw error(.syntax, "A value is expected here.")
    }
    offset += word.utf8.count
    return value
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) -> JSONNumber {
    let start = offset
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    let hasExponent = take(UInt8(ascii: "e")) || take(UInt8(ascii: "E"))
    if hasExponent {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    let text = bytes[start..<offset]
    if hasExponent {
      let decimal = Decimal(text)
      if decimal.writtenLength > limits.numberLength, decimal.digits.isEmpty {
        // Zero is zero, to whatever power; PostgreSQL would write thousands of digits.
        return JSONNumber(text.first == UInt8(ascii: "-") ? "-0.0" : "0.0")
      }
      try check(decimal.writtenLength, start)
    } else {
      try check(text.count, start)
    }
    return JSONNumber(String(decoding: text, as: UTF8.self))
  }

  private func check(_ length: Int, _ start: Int) throws(JSONError) {
    guard length <= limits.numberLength else {
      throw error(
        .number,
        "A number may have \(limits.numberLength) bytes when it is written without an exponent.",
        at: start
      )
    }
  }

  private mutating func digits() throws(JSONError) {
    let start = offset
    while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    guard offset > start else { throw error(.syntax, "A digit is expected here.") }
  }

  // MARK: Strings

  private mutating func string() throws(JSONError) -> String {
    let start = offset + 1
    offset = start
    while let byte = peek {
      if byte == UInt8(ascii: "\"") {
        let slice = bytes[start..<offset]
        guard let text = String(validating: slice, as: UTF8.self) else {
          throw error(.utf8, "The text must be UTF-8.", at: start)
        }
        offset += 1
        return text
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
      guard byte >= 0x20 else {
        throw error(.syntax, "A control character in a string must be escaped.")
      }
      offset += 1
    }
    throw error(.syntax, "The string does not end.")
  }

  /// The slower way, from the first escape on.
  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var unescaped = Array(bytes[start..<offset])
    while let byte = peek {
      offset += 1
      if byte == UInt8(ascii: "\"") {
        guard let text = String(validating: unescaped, as: UTF8.self) else {
          throw error(.utf8, "The text must be UTF-8.", at: start)
        }
        return text
      }
      guard byte >= 0x20 else {
        throw error(.syntax, "A control character in a string must be escaped.", at: offset - 1)
      }
      if byte == UInt8(ascii: "\\") {
        unescaped.append(contentsOf: String(try escape()).utf8)
      } else {
        unescaped.append(byte)
      }
    }
    throw error(.syntax, "The string does not end.")
  }

  private mutating func escape() throws(JSONError) -> Unicode.Scalar {
    let start = offset - 1
    let byte = peek
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
      return Unicode.Scalar(byte ?? 0)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw error(.syntax, "There is no such escape.", at: start)
    }
    let first = try codeUnit(start)
    guard first != 0 else { throw error(.nul, "U+0000 cannot be stored.", at: start) }
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xdc00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      throw error(.surrogate, "A surrogate must be one of a pair.", at: start)
    }
    let second = try codeUnit(start)
    guard (0xdc00...0xdfff).contains(second) else {
      throw error(.surrogate, "A surrogate must be one of a pair.", at: start)
    }
    let value = 0x10000 + (first - 0xd800) << 10 + (second - 0xdc00)
    guard let scalar = Unicode.Scalar(value) else {
      throw error(.surrogate, "A surrogate must be one of a pair.", at: start)
    }
    return scalar
  }

  private mutating func codeUnit(_ start: Int) throws(JSONError) -> UInt32 {
    guard offset + 4 <= bytes.count,
      bytes[offset..<offset + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let value = UInt32(String(decoding: bytes[offset..<offset + 4], as: UTF8.self), radix: 16)
    else { throw error(.syntax, "Four hexadecimal digits are expected here.", at: start) }
    offset += 4
    return value
  }

  // MARK: Bytes

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    offset += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
      offset += 1
    }
  }

  private func error(
    _ reason: JSONError.Reason,
    _ detail: String,
    at place: Int? = nil
  ) -> JSONError {
    let pointer = path.map { step in
      switch step {
      case .key(let key): "/" + JSONPointer.escaped(key)
      case .index(let index): "/\(index)"
      }
    }.joined()
    return JSONError(reason: reason, offset: place ?? offset, pointer: pointer, detail: detail)
  }
}
