import JSON
import Encoding

/// Reads the tokens of a filter; each function advances the offset past its token.
struct FilterScanner {
  private let bytes: [UInt8]
  private(set) var offset = 0

  /// - Throws: `.length`, `.utf8`.
  init(_ text: some StringProtocol) throws(FilterError) {
    bytes = Array(text.utf8)
    guard bytes.count <= FilterLimits.length else {
      throw FilterError(
        rule: .length, position: FilterLimits.length,
        detail: "A filter may have at most \(FilterLimits.length) bytes."
      )
    }
    guard !bytes.contains(0) else {
      throw error(.utf8, "U+0000 cannot be searched for.", at: bytes.firstIndex(of: 0) ?? 0)
    }
  }

  func error(_ rule: FilterError.Rule, _ detail: String, at place: Int? = nil) -> FilterError {
    FilterError(rule: rule, position: place ?? offset, detail: detail)
  }

  // MARK: Looking ahead

  var isAtEnd: Bool { offset == bytes.count }
  var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
      offset += 1
    }
  }

  mutating func take(_ mark: Character) -> Bool {
    guard peek == mark.asciiValue else { return false }
    offset += 1
    return true
  }

  /// Takes a whole word; leaves the offset if the word continues.
  mutating func take(word: String) -> Bool {
    let end = offset + word.utf8.count
    guard bytes[offset...].starts(with: word.utf8), end == bytes.count || !bytes[end].isOfName
    else { return false }
    offset = end
    return true
  }

  mutating func takeOperator() -> FilterOperator? {
    // Longer operators first: `<=` starts with `<`.
    let found = FilterOperator.allCases.sorted { $0.rawValue.count > $1.rawValue.count }.first {
      bytes[offset...].starts(with: $0.rawValue.utf8)
    }
    offset += found?.rawValue.utf8.count ?? 0
    return found
  }

  /// Takes letters, digits, `_` and `-`; returns nil without any.
  mutating func takeName() -> String? {
    let name = bytes[offset...].prefix { $0.isOfName }
    guard !name.isEmpty else { return nil }
    offset += name.count
    return String(decoding: name, as: UTF8.self)
  }

  // MARK: JSON

  /// Takes a JSON string.
  mutating func string() throws(FilterError) -> String {
    let start = offset
    var end = start + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < bytes.count else { throw error(.syntax, "The string does not end.", at: start) }
    offset = end + 1
    return try json(from: start).string ?? ""
  }

  /// Takes a JSON number.
  mutating func number() throws(FilterError) -> String {
    let start = offset
    while let byte = peek, byte.isOfNumber { offset += 1 }
    return try json(from: start).number?.text ?? ""
  }

  private func json(from start: Int) throws(FilterError) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(Array(bytes[start..<offset]))
    } catch let fault {
      throw error(.value, fault.detail, at: start + fault.offset)
    }
  }
}

extension FilterScanner {
  /// Returns a name in a path, quoted if necessary.
  package static func spelled(_ name: String) -> String {
    !name.isEmpty && name.utf8.allSatisfy(\.isOfName) ? name : JSON.string(name).text
  }
}

extension UInt8 {
  fileprivate var isOfName: Bool {
    isLetterOrDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: "-")
  }

  fileprivate var isOfNumber: Bool {
    isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "+") || self == UInt8(ascii: ".")
      || self | 0x20 == UInt8(ascii: "e")
  }
}
