import Encoding

/// The languages that a client prefers, from the `Accept-Language` field.
///
/// - Source: RFC 9110 section 12.5.4.
package struct AcceptedLanguages: Sendable {
  /// A language range and its weight.
  package struct Range: Sendable {
    /// A language tag, or `*` for any other language.
    package let tag: Substring
    /// In thousandths; 0 for a language that the client refuses.
    package let weight: Int
  }

  /// The ranges by falling weight; of equal weights, the first one in the field comes first.
  package let ranges: [Range]

  /// The bytes of a field that are read.
  private static let limit = 1_024

  /// The tags that the client accepts, the best one first.
  package var tags: [String] {
    ranges.filter { $0.weight > 0 && !$0.isAny }.map { String($0.tag) }
  }

  /// Reads the field.
  ///
  /// A malformed element is ignored.
  ///
  /// - Complexity: O(*n* log *n*) in the first 1,024 bytes.
  package init(_ field: String) {
    let elements = field.utf8.prefix(Self.limit).split(separator: UInt8(ascii: ","))
    let ranges = elements.compactMap { element -> Range? in
      let parts = element.split(separator: UInt8(ascii: ";"), maxSplits: 1)
      guard let tag = parts.first.map(Self.trimmed), Self.isRange(tag),
        let weight = parts.count == 1 ? 1_000 : Self.weight(Self.trimmed(parts[1]))
      else { return nil }
      // Some programs write an underscore.
      return Range(tag: Substring(tag).replacing("_", with: "-"), weight: weight)
    }
    // The order is part of the key, as the standard library does not promise a stable sort.
    self.ranges = ranges.enumerated()
      .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
      .map(\.element)
  }

  /// Returns whether a text can be a language range.
  ///
  /// - Source: RFC 5646 section 4.4.1: tags of up to 35 characters suffice.
  private static func isRange(_ text: Substring.UTF8View) -> Bool {
    text.elementsEqual("*".utf8)
      || (1...35).contains(text.count)
        && text.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
  }

  /// Reads a weight such as `q=0.8`, in thousandths; nil if it is malformed.
  private static func weight(_ text: Substring.UTF8View) -> Int? {
    let bytes = Array(text)
    guard bytes.count >= 3, bytes.count <= 7, bytes[0] | 0x20 == UInt8(ascii: "q"),
      bytes[1] == UInt8(ascii: "="), bytes[2] == UInt8(ascii: "0") || bytes[2] == UInt8(ascii: "1")
    else { return nil }
    guard bytes.count == 3 || bytes[3] == UInt8(ascii: ".") else { return nil }
    var weight = 1_000 * Int(bytes[2] - UInt8(ascii: "0"))
    for (digit, unit) in zip(bytes.dropFirst(4), [100, 10, 1]) {
      guard digit.isDigit else { return nil }
      weight += unit * Int(digit - UInt8(ascii: "0"))
    }
    return weight <= 1_000 ? weight : nil
  }

  private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
    var text = text
    while let first = text.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }
}

extension AcceptedLanguages.Range {
  package var isAny: Bool { tag.utf8.elementsEqual("*".utf8) }
}
