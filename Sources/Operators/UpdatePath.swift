/// A path that an update changes.
struct UpdatePath: Sendable {
  enum Part: Sendable {
    case name(FieldName)
    /// `$[]`: every element.
    case all
    /// `$[identifier]`: the elements that match its array filter.
    case filtered(String)
    /// `$`: the element that the query found.
    case found
  }

  let text: String
  let parts: [Part]

  /// Reads a dotted path.
  ///
  /// - Parameters:
  ///   - text: names, indexes, `$[]`, `$[identifier]`, and at most one `$`.
  ///   - pointer: the pointer to the path, for errors.
  /// - Throws: `.emptyFieldName`, `.dollarPrefixedFieldName`, `.badValue` or `.overflow` if the
  ///   path is invalid.
  init(_ text: String, pointer: String) throws(OperatorError) {
    self.text = text
    var parts: [Part] = []
    for name in try FieldName.parts(of: text, pointer: pointer) {
      let part = try Self.part(name, isFirst: parts.isEmpty, pointer)
      if case .found = part, parts.contains(where: \.isFound) {
        throw OperatorError(.badValue, "A path may have at most one $.", pointer: pointer)
      }
      parts.append(part)
    }
    self.parts = parts
  }

  private static func part(
    _ name: FieldName, isFirst: Bool, _ pointer: String
  ) throws(OperatorError) -> Part {
    let text = name.text
    guard name.isDollarPrefixed else { return .name(name) }
    if text == "$" {
      guard !isFirst else {
        throw OperatorError(.badValue, "A path must begin with a name.", pointer: pointer)
      }
      return .found
    }
    if text.hasPrefix("$["), text.hasSuffix("]") {
      guard !isFirst else {
        throw OperatorError(.badValue, "A path must begin with a name.", pointer: pointer)
      }
      let identifier = String(text.dropFirst(2).dropLast())
      if identifier.isEmpty { return .all }
      guard isIdentifier(identifier) else {
        throw OperatorError(
          .badValue,
          "An identifier must have only letters and digits, and begin with a small letter.",
          pointer: pointer
        )
      }
      return .filtered(identifier)
    }
    guard !text.hasPrefix("$[") else { throw dollarPrefixed(text, pointer: pointer) }
    return .name(name)
  }

  static func dollarPrefixed(_ text: String, pointer: String) -> OperatorError {
    OperatorError(
      .dollarPrefixedFieldName, "The name \(text) must not begin with a dollar.", pointer: pointer
    )
  }

  /// Whether the first name of the path begins with a dollar.
  var isDollarPrefixed: Bool { text.utf8.first == UInt8(ascii: "$") }

  static func isIdentifier(_ text: String) -> Bool {
    guard let first = text.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: false
      }
    }
  }

  /// The names, or nil if the path has a positional part.
  var names: [FieldName]? {
    let names = parts.compactMap { part in
      if case .name(let name) = part { return name }
      return nil
    }
    return names.count == parts.count ? names : nil
  }
}

extension UpdatePath.Part {
  fileprivate var isFound: Bool {
    if case .found = self { return true }
    return false
  }
}
