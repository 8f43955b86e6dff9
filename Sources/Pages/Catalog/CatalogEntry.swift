/// The forms of a message: one, or one for each plural category.
struct Translation: Sendable {
  var forms: [Catalog.PluralCategory: Pattern] = [:]

  func pattern(for category: Catalog.PluralCategory?) -> Pattern {
    forms[category ?? .other] ?? forms[.other] ?? Pattern("")
  }
}

/// A sentence with named placeholders.
struct Pattern: Sendable, Hashable {
  enum Piece: Sendable, Hashable {
    case words(String)
    case placeholder(String)
  }

  private(set) var pieces: [Piece] = []

  /// Splits a text at its placeholders, which are names in braces.
  init(_ text: some StringProtocol) {
    var rest = Substring(text)
    while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
      if start > rest.startIndex { pieces.append(.words(String(rest[..<start]))) }
      pieces.append(.placeholder(String(rest[rest.index(after: start)..<end])))
      rest = rest[rest.index(after: end)...]
    }
    if !rest.isEmpty { pieces.append(.words(String(rest))) }
  }

  var placeholders: Set<String> {
    Set(
      pieces.compactMap { piece in
        if case .placeholder(let name) = piece { name } else { nil }
      }
    )
  }
}

/// One line of a catalog: `key = text` or `key[category] = text`.
struct CatalogEntry {
  let key: MessageKey
  let category: Catalog.PluralCategory
  let pattern: Pattern

  /// Reads a line; nil if its key or its category does not exist.
  init?(_ line: Substring) {
    guard let separator = line.firstRange(of: " = ") else { return nil }
    var name = line[..<separator.lowerBound]
    var category = Catalog.PluralCategory.other
    if let bracket = name.firstIndex(of: "["), name.last == "]" {
      let word = name[name.index(after: bracket)...].dropLast()
      guard let named = Catalog.PluralCategory(rawValue: String(word)) else { return nil }
      category = named
      name = name[..<bracket]
    }
    guard let key = MessageKey(rawValue: String(name)) else { return nil }
    self.key = key
    self.category = category
    pattern = Pattern(line[separator.upperBound...])
  }
}
