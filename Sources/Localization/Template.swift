internal import Encoding

/// A text with named placeholders: `Hello {{name}}`.
///
/// A placeholder is a name between double braces; blanks around the name are ignored. There are no
/// conditions, no loops, and no escape for a literal `{{`. Values are never searched for
/// placeholders.
package struct Template: Sendable, Hashable {
  package enum Piece: Sendable, Hashable {
    case words(String)
    case placeholder(String)
  }

  package private(set) var pieces: [Piece] = []

  /// Splits a text at its placeholders.
  ///
  /// - Throws: `Unclosed` if a placeholder has no end.
  package init(_ text: String) throws(Unclosed) {
    var rest = Substring(text).utf8
    while let start = rest.firstRange(of: "{{".utf8) {
      if start.lowerBound > rest.startIndex {
        pieces.append(.words(String(Substring(rest[..<start.lowerBound]))))
      }
      rest = rest[start.upperBound...]
      guard let end = rest.firstRange(of: "}}".utf8) else { throw Unclosed() }
      let name = Substring(rest[..<end.lowerBound]).filter { $0 != " " && $0 != "\t" }
      pieces.append(.placeholder(name))
      rest = rest[end.upperBound...]
    }
    if !rest.isEmpty { pieces.append(.words(String(Substring(rest)))) }
  }

  /// A placeholder without end.
  package struct Unclosed: Error {}

  /// The names of the placeholders, in their order.
  package var names: [String] {
    pieces.compactMap { piece in
      if case .placeholder(let name) = piece { name } else { nil }
    }
  }

  /// Returns the text with values in place of the placeholders.
  package func filled(_ value: (String) -> String) -> String {
    pieces.map { piece in
      switch piece {
      case .words(let words): words
      case .placeholder(let name): value(name)
      }
    }.joined()
  }
}
