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
      case .only(let list): list.utf8.elementsEqual(name.utf8)
      case .any: true
      }
    }
  }

  /// The names and values, in their order.
  package private(set) var pairs: [(name: String, value: String)] = []
  /// The names that occur again, in their order.
  package private(set) var repeated: [String] = []

  /// Parses a query; nil if a name is duplicated, or if text is not percent-encoded UTF-8.
  ///
  /// Names are compared by their bytes.
  /// - Parameters:
  ///   - query: the query.
  ///   - repetition: the names that may be duplicated.
  /// - Complexity: O(*n*).
  package init?(_ query: Substring, repeating repetition: Repetition = .none) {
    var names: Set<[UInt8]> = []
    for part in query.utf8.split(separator: UInt8(ascii: "&")) {
      let pair = part.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
      )
      guard let name = Self.decoded(pair[0]),
        let value = pair.count == 2 ? Self.decoded(pair[1]) : ""
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
    pairs.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// Returns the values of a name that may be repeated.
  package func all(_ name: String) -> [String] {
    pairs.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
  }

  package var names: [String] { pairs.map(\.name) }

  /// The bytes of all names and values, in their order.
  package var bytes: [UInt8] { pairs.flatMap { Array("\($0.name)\0\($0.value)\0".utf8) } }

  private static func decoded(_ text: Substring.UTF8View) -> String? {
    let spaced = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return PercentCoding.decode(Substring(decoding: spaced, as: UTF8.self))
  }
}
