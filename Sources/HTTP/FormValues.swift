import Encoding

/// The named values of a query or of a form body.
///
/// - Source: URL Standard, section 5.1 (`application/x-www-form-urlencoded`): a plus is a space.
package struct FormValues: Sendable {
  /// The names that may occur more than once.
  package enum Repetition: Sendable, Equatable {
    case none
    case only(String)
    case any

    fileprivate func allows(_ name: String) -> Bool {
      switch self {
      case .none: false
      case .only(let list): FormValues.areSame(list, name)
      case .any: true
      }
    }
  }

  /// The most pairs of a form or a query: more than a page has fields.
  package static let most = 1_000

  /// The names and values, in their order.
  package private(set) var pairs: [(name: String, value: String)] = []
  /// The names that occur again, in their order.
  package private(set) var repeated: [String] = []

  /// Parses a query; nil if a name is duplicated, if text is not percent-encoded UTF-8, or if it has
  /// more than `most` pairs.
  ///
  /// Names are compared by their bytes.
  /// - Parameters:
  ///   - query: the query.
  ///   - repetition: the names that may be duplicated.
  /// - Complexity: O(*n*).
  package init?(_ query: Substring, repeating repetition: Repetition = .none) {
    let bytes = query.utf8.span
    var names: Set<[UInt8]> = []
    var start = 0
    while start < bytes.count {
      var end = start
      var equals: Int?
      while end < bytes.count, bytes[end] != UInt8(ascii: "&") {
        if equals == nil, bytes[end] == UInt8(ascii: "=") { equals = end }
        end += 1
      }
      defer { start = end + 1 }
      guard start < end else { continue }
      guard pairs.count < Self.most else { return nil }
      let nameEnd = equals ?? end
      guard let name = PercentCoding.decode(bytes.extracting(start..<nameEnd), plusIsSpace: true),
        let value = PercentCoding.decode(
          bytes.extracting(min(nameEnd + 1, end)..<end), plusIsSpace: true)
      else { return nil }
      if !names.insert(Array(name.utf8)).inserted {
        guard repetition.allows(name) else { return nil }
        repeated.append(name)
      }
      pairs.append((name, value))
    }
  }

  /// Parses a body by the same rules.
  package init?(_ body: [UInt8], repeating repetition: Repetition = .none) {
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    self.init(text[...], repeating: repetition)
  }

  package subscript(_ name: String) -> String? {
    pairs.first { Self.areSame($0.name, name) }?.value
  }

  /// Returns the values of a name that may be repeated.
  package func all(_ name: String) -> [String] {
    pairs.filter { Self.areSame($0.name, name) }.map(\.value)
  }

  private static func areSame(_ name: String, _ other: String) -> Bool {
    // Most names differ in length.
    name.utf8.count == other.utf8.count && name.utf8.elementsEqual(other.utf8)
  }

  package var names: [String] { pairs.map(\.name) }

  /// The bytes of all names and values, in their order.
  package var bytes: [UInt8] { pairs.flatMap { Array("\($0.name)\0\($0.value)\0".utf8) } }
}
