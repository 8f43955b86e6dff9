import Encoding

/// The named values of a query or of a form body.
///
/// - Source: URL Standard, section 5.1 (`application/x-www-form-urlencoded`): a plus is a space.
package struct FormValues: Sendable {
  private var values: [(name: String, value: String)] = []

  /// Parses a query; nil if a name is duplicated, or if text is not percent-encoded UTF-8.
  ///
  /// Names are compared by their bytes.
  /// - Parameters:
  ///   - query: the query.
  ///   - list: a name that may be repeated; nil for none.
  /// - Complexity: O(*n*).
  package init?(_ query: Substring, repeating list: String? = nil) {
    var names: Set<[UInt8]> = []
    for part in query.utf8.split(separator: UInt8(ascii: "&")) {
      let pair = part.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
      )
      guard let name = Self.decoded(pair[0]),
        let value = pair.count == 2 ? Self.decoded(pair[1]) : "",
        names.insert(Array(name.utf8)).inserted || list?.utf8.elementsEqual(name.utf8) == true
      else { return nil }
      values.append((name, value))
    }
  }

  /// Parses a body by the same rules.
  package init?(_ body: [UInt8]) {
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    self.init(text[...])
  }

  package subscript(_ name: String) -> String? {
    values.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// Returns the values of a name that may be repeated.
  package func all(_ name: String) -> [String] {
    values.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
  }

  package var names: [String] { values.map(\.name) }

  /// The bytes of all names and values, in their order.
  package var bytes: [UInt8] { values.flatMap { Array("\($0.name)\0\($0.value)\0".utf8) } }

  private static func decoded(_ text: Substring.UTF8View) -> String? {
    let spaced = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return PercentCoding.decode(Substring(decoding: spaced, as: UTF8.self))
  }
}
