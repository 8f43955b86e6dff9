import Encoding

/// Parsing of numbers and strings.
extension JSONParser {
  // MARK: Numbers

  mutating func number() throws(JSONError) -> JSONNode {
    let start = offset
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    let hasExponent = take(UInt8(ascii: "e")) || take(UInt8(ascii: "E"))
    let powerStart = offset
    if hasExponent {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    let text = bytes[start..<offset]
    if hasExponent {
      let decimal = Decimal(text)
      let isHigh = Decimal.exponent(bytes[powerStart..<offset]) > limits.numberLength
      if decimal.digits.isEmpty, isHigh || decimal.writtenLength > limits.numberLength {
        // Zero times any power is zero. PostgreSQL would write thousands of zeros for a low
        // exponent, and rejects an exponent of ten digits.
        let sign = text.first == UInt8(ascii: "-") ? "-" : ""
        return rewrite(.number, (sign + (isHigh ? "0" : "0.0")).utf8)
      }
      try check(decimal.writtenLength, start, limit: limits.numberLength)
    } else {
      try check(text.count, start, limit: limits.plainNumberLength)
    }
    return JSONNode(.number, start: start, count: offset - start)
  }

  /// Creates a node for text that differs from the input.
  private mutating func rewrite(_ kind: JSONNode.Kind, _ text: some Collection<UInt8>) -> JSONNode {
    let start = rewritten.count
    rewritten.append(contentsOf: text)
    return JSONNode(kind, start: start, count: text.count, isMarked: true)
  }

  private func check(_ length: Int, _ start: Int, limit: Int) throws(JSONError) {
    guard length <= limit else {
      throw error(
        .number, "A number may have at most \(limit) bytes when it is written without an exponent.",
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

  mutating func string() throws(JSONError) -> JSONNode {
    let start = offset + 1
    offset = start
    var isASCII = true
    while let byte = peek {
      if byte == UInt8(ascii: "\"") {
        try checkUTF8(bytes, start..<offset, isASCII: isASCII, start)
        offset += 1
        return JSONNode(.string, start: start, count: offset - 1 - start)
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
      guard byte >= 0x20 else {
        throw error(.syntax, "A control character in a string must be escaped.")
      }
      if byte >= 0x80 { isASCII = false }
      offset += 1
    }
    throw error(.syntax, "The string does not end.")
  }

  /// Reads the rest of a string from its first escape, on the slower path.
  private mutating func escapedString(from start: Int) throws(JSONError) -> JSONNode {
    let first = rewritten.count
    rewritten.append(contentsOf: bytes[start..<offset])
    while let byte = peek {
      offset += 1
      if byte == UInt8(ascii: "\"") {
        try checkUTF8(rewritten, first..<rewritten.count, isASCII: false, start)
        return JSONNode(.string, start: first, count: rewritten.count - first, isMarked: true)
      }
      guard byte >= 0x20 else {
        throw error(.syntax, "A control character in a string must be escaped.", at: offset - 1)
      }
      if byte == UInt8(ascii: "\\") {
        rewritten.append(contentsOf: String(try escape()).utf8)
      } else {
        rewritten.append(byte)
      }
    }
    throw error(.syntax, "The string does not end.")
  }

  private func checkUTF8(
    _ bytes: [UInt8], _ range: Range<Int>, isASCII: Bool, _ start: Int
  ) throws(JSONError) {
    guard isASCII || String(validating: bytes[range], as: UTF8.self) != nil else {
      throw error(.utf8, "The text must be UTF-8.", at: start)
    }
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
    default: throw error(.syntax, "This escape does not exist.", at: start)
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
      let unit = [UInt8](hexadecimal: bytes[offset..<offset + 4])
    else { throw error(.syntax, "Four hexadecimal digits are expected here.", at: start) }
    offset += 4
    return UInt32(unit[0]) << 8 | UInt32(unit[1])
  }
}
