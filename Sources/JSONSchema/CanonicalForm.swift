import JSON

extension JSON {
  /// Returns bytes that are identical for equal values, and different for others.
  ///
  /// Numbers compare by value, strings and keys by bytes, and members in any order.
  /// - Parameters:
  ///   - limit: the largest form, in bytes.
  ///   - work: increased by about the number of bytes examined.
  /// - Returns: nil if the form exceeds the limit.
  /// - Complexity: O(*n* log *n*).
  func canonicalForm(limit: Int, _ work: inout Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    return appendForm(to: &bytes, limit, &work) ? bytes : nil
  }

  /// Returns the form without a limit.
  func canonicalForm(_ work: inout Int) -> [UInt8] {
    canonicalForm(limit: .max, &work) ?? []
  }

  private func appendForm(to bytes: inout [UInt8], _ limit: Int, _ work: inout Int) -> Bool {
    work += 4
    switch self {
    case .null: bytes.append(UInt8(ascii: "n"))
    case .bool(let value): bytes.append(UInt8(ascii: value ? "t" : "f"))
    case .number(let number):
      work += number.text.utf8.count
      bytes.append(contentsOf: number.canonicalText.utf8)
      bytes.append(UInt8(ascii: ";"))
    case .string(let text):
      guard text.utf8.count <= limit else { return false }
      work += text.utf8.count
      Self.append(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for element in elements {
        guard element.appendForm(to: &bytes, limit, &work) else { return false }
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      guard object.count <= limit else { return false }
      bytes.append(UInt8(ascii: "{"))
      let members = object.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      for (key, value) in members {
        guard key.utf8.count <= limit else { return false }
        work += 4 + key.utf8.count
        Self.append(key, to: &bytes)
        guard value.appendForm(to: &bytes, limit, &work) else { return false }
      }
      bytes.append(UInt8(ascii: "}"))
    }
    return bytes.count <= limit
  }

  /// Appends text after its length, so that the end of the text is unambiguous.
  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: "\"\(text.utf8.count):".utf8)
    bytes.append(contentsOf: text.utf8)
  }
}
