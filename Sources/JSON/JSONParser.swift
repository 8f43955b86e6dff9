import Encoding

extension JSON {
  /// Parses a text strictly.
  ///
  /// It accepts RFC 8259 in UTF-8 without a byte order mark. It also rejects duplicate keys, lone
  /// surrogates, U+0000 (which PostgreSQL cannot store), and text over the limits. Memory is
  /// bounded by the length of the text.
  /// - Complexity: O(*n*).
  package static func parse(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) -> JSON {
    var parser = JSONParser(bytes, limits)
    return try parser.text()
  }
}

/// The parser of one text; each function leaves the offset after the part that it read.
struct JSONParser {
  let bytes: [UInt8]
  let limits: JSONLimits
  var offset = 0
  private var path: [Step] = []
  /// The values of unfinished arrays and objects.
  private var open: [JSONNode] = []
  private var nodes: [JSONNode] = []
  var rewritten: [UInt8] = []
  /// The duplicate member, and the depth of its object, while its location is determined.
  private var twice: (depth: Int, member: Int)?

  private enum Step {
    case key(JSONNode)
    case index(Int)
  }

  init(_ bytes: [UInt8], _ limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  mutating func text() throws(JSONError) -> JSON {
    guard bytes.count <= JSONNode.longestText else {
      throw error(.syntax, "A text may have at most \(JSONNode.longestText) bytes.")
    }
    skipSpace()
    guard offset < bytes.count else { throw error(.empty, "The JSON text is empty.") }
    let node = try value()
    skipSpace()
    guard offset == bytes.count else {
      throw error(.trailing, "The body continues after the JSON text.")
    }
    return JSONText(bytes: bytes, rewritten: rewritten, nodes: nodes).value(node)
  }

  private mutating func value() throws(JSONError) -> JSONNode {
    switch peek {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return try string()
    case UInt8(ascii: "t"): return try literal("true", .true)
    case UInt8(ascii: "f"): return try literal("false", .false)
    case UInt8(ascii: "n"): return try literal("null", .null)
    case UInt8(ascii: "-"): return try number()
    case let byte? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
      return try number()
    default: throw error(.syntax, "A value is expected here.")
    }
  }

  // MARK: Structure

  private mutating func object() throws(JSONError) -> JSONNode {
    let begin = offset
    try enter()
    let first = open.count
    if take(UInt8(ascii: "}")) { return JSONNode(.object) }
    while true {
      guard peek == UInt8(ascii: "\"") else { throw error(.syntax, "A key is expected here.") }
      let start = offset
      let key = try string()
      open.append(key)
      path.append(.key(key))
      if let twice, twice.depth == path.count, twice.member == (open.count - first) / 2 {
        throw error(.duplicateKey, "An object must not have a key twice.", at: start)
      }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw error(.syntax, "A colon is expected here.") }
      skipSpace()
      open.append(try value())
      path.removeLast()
      skipSpace()
      if take(UInt8(ascii: "}")) { return try object(of: first, from: begin) }
      guard take(UInt8(ascii: ",")) else {
        throw error(.syntax, "A comma or a closing brace is expected here.")
      }
      skipSpace()
    }
  }

  /// Returns the node of an object whose members are in `open` from `first` on.
  private mutating func object(of first: Int, from begin: Int) throws(JSONError) -> JSONNode {
    let members = KeyOrder(open[first...], in: self)
    if let member = members.repeated {
      // Parses the object again up to the duplicate, to determine its location.
      twice = (path.count + 1, member)
      open.removeSubrange(first...)
      offset = begin
      return try object()
    }
    let start = nodes.count
    nodes.append(contentsOf: open[first...])
    nodes.append(contentsOf: members.ranks)
    let count = (open.count - first) / 2
    open.removeSubrange(first...)
    return JSONNode(.object, start: start, count: count, isMarked: members.hasDollar)
  }

  private mutating func array() throws(JSONError) -> JSONNode {
    try enter()
    let first = open.count
    if take(UInt8(ascii: "]")) { return JSONNode(.array) }
    while true {
      path.append(.index(open.count - first))
      open.append(try value())
      path.removeLast()
      skipSpace()
      if take(UInt8(ascii: "]")) {
        let node = JSONNode(.array, start: nodes.count, count: open.count - first)
        nodes.append(contentsOf: open[first...])
        open.removeSubrange(first...)
        return node
      }
      guard take(UInt8(ascii: ",")) else {
        throw error(.syntax, "A comma or a closing bracket is expected here.")
      }
      skipSpace()
    }
  }

  /// Enters an array or an object; the path has one step for each enclosing container.
  private mutating func enter() throws(JSONError) {
    guard path.count < limits.depth else {
      throw error(.depth, "Arrays and objects may be nested at most \(limits.depth) levels deep.")
    }
    offset += 1
    skipSpace()
  }

  private mutating func literal(
    _ word: String, _ kind: JSONNode.Kind
  ) throws(JSONError) -> JSONNode {
    guard bytes[offset...].starts(with: word.utf8) else {
      throw error(.syntax, "A value is expected here.")
    }
    offset += word.utf8.count
    return JSONNode(kind)
  }

  // MARK: Bytes

  /// Returns the bytes of a string or a key.
  func slice(_ node: JSONNode) -> ArraySlice<UInt8> {
    (node.isMarked ? rewritten : bytes)[node.start..<node.start + node.count]
  }

  var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    offset += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
      offset += 1
    }
  }

  func error(_ reason: JSONError.Reason, _ detail: String, at place: Int? = nil) -> JSONError {
    let pointer = path.map { step in
      switch step {
      case .key(let key): "/" + JSONPointer.escaped(String(decoding: slice(key), as: UTF8.self))
      case .index(let index): "/\(index)"
      }
    }.joined()
    return JSONError(reason: reason, offset: place ?? offset, pointer: pointer, detail: detail)
  }
}

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
