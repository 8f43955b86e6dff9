import Encoding

/// A field value with parameters, such as `form-data; name="picture"`.
///
/// - Source: RFC 9110 section 5.6.6, and quoted strings of section 5.6.4.
package struct FieldParameters {
  /// The value before the parameters, in lower case.
  package let value: String
  private var parameters: [(name: String, value: String)] = []

  /// Parses a field; nil if it is malformed.
  ///
  /// If a name occurs twice, the first one counts.
  /// - Complexity: O(*n*).
  package init?(_ field: String) {
    var rest = field.utf8[...]
    guard let value = Self.takeToken(&rest, also: "/") else { return nil }
    self.value = value.lowercased()
    while true {
      Self.skipSpace(&rest)
      guard let separator = rest.popFirst() else { return }
      guard separator == UInt8(ascii: ";") else { return nil }
      Self.skipSpace(&rest)
      // Parameters may be empty, also the last one.
      guard let next = rest.first, next != UInt8(ascii: ";") else { continue }
      guard let name = Self.takeToken(&rest), rest.popFirst() == UInt8(ascii: "="),
        let value = Self.takeValue(&rest)
      else { return nil }
      parameters.append((name.lowercased(), value))
    }
  }

  package subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

  private static func takeValue(_ rest: inout Substring.UTF8View) -> String? {
    guard rest.first == UInt8(ascii: "\"") else { return takeToken(&rest, also: "'()+_,-./:=?") }
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(validating: bytes, as: UTF8.self) }
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else { return nil }
        bytes.append(escaped)
      } else {
        bytes.append(byte)
      }
    }
    return nil
  }

  private static func takeToken(
    _ rest: inout Substring.UTF8View, also others: StaticString = ""
  ) -> String? {
    skipSpace(&rest)
    let end = rest.firstIndex { !isOfToken($0, others) } ?? rest.endIndex
    guard end > rest.startIndex else { return nil }
    defer { rest = rest[end...] }
    return String(Substring(rest[..<end]))
  }

  private static func skipSpace(_ rest: inout Substring.UTF8View) {
    while let first = rest.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      rest.removeFirst()
    }
  }

  private static func isOfToken(_ byte: UInt8, _ others: StaticString) -> Bool {
    byte.isLetterOrDigit || others.withUTF8Buffer { $0.contains(byte) }
      || "-+.!#$%&'*^_`|~".utf8.contains(byte)
  }
}
