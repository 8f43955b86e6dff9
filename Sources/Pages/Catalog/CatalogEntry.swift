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
  init(_ text: Substring) {
    var rest = text.utf8
    while let start = rest.firstIndex(of: UInt8(ascii: "{")),
      let end = rest[start...].firstIndex(of: UInt8(ascii: "}"))
    {
      if start > rest.startIndex { pieces.append(.words(String(Substring(rest[..<start])))) }
      let name = rest[rest.index(after: start)..<end]
      pieces.append(.placeholder(String(Substring(name))))
      rest = rest[rest.index(after: end)...]
    }
    if !rest.isEmpty { pieces.append(.words(String(Substring(rest)))) }
  }
}

/// One line of a catalog: `key = text` or `key[category] = text`.
struct CatalogEntry {
  let key: MessageKey
  let category: Catalog.PluralCategory
  let pattern: Pattern

  /// Reads a line; nil if its key or its category does not exist.
  init?(_ line: Substring) {
    let line = line.utf8
    guard let equal = line.firstIndex(of: UInt8(ascii: "=")),
      line[..<equal].last == UInt8(ascii: " "),
      line[equal...].dropFirst().first == UInt8(ascii: " ")
    else { return nil }
    var name = line[..<equal].dropLast()
    var category = Catalog.PluralCategory.other
    if let bracket = name.firstIndex(of: UInt8(ascii: "[")), name.last == UInt8(ascii: "]") {
      let word = name[name.index(after: bracket)...].dropLast()
      guard let named = Catalog.PluralCategory(rawValue: String(Substring(word))) else {
        return nil
      }
      category = named
      name = name[..<bracket]
    }
    guard let key = MessageKey(rawValue: String(Substring(name))) else { return nil }
    self.key = key
    self.category = category
    pattern = Pattern(Substring(line[equal...].dropFirst(2)))
  }
}
