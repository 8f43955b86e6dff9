internal import Encoding

/// The text of a message with placeholders: `Hello {{name}}`.
///
/// A placeholder is a name between double braces; blanks around the name are ignored. There are no
/// conditions, no loops, and no escape for a literal `{{`. Values are never searched for
/// placeholders.
package struct MailTemplate: Sendable {
  private let subject: [Piece]
  private let text: [Piece]

  /// Parses both parts.
  ///
  /// - Parameters:
  ///   - subject: one line; a final line end is removed, since files have one.
  ///   - text: the plain form.
  ///   - names: the names of the available placeholders.
  /// - Throws: `MailTemplateError` with the first placeholder that is not in `names`, or the part
  ///   with an unclosed one; `.brokenSubject` if the subject is invalid.
  package init(subject: String, text: String, names: Set<String>) throws(MailTemplateError) {
    let subject = subject.last?.isNewline == true ? String(subject.dropLast()) : subject
    guard !subject.hasControlCharacters else { throw .brokenSubject }
    self.subject = try Self.pieces(of: subject, .subject, names)
    self.text = try Self.pieces(of: text, .text, names)
  }

  /// Returns the message with the values inserted.
  ///
  /// In the subject, control characters of a value, including line ends, become spaces. A value
  /// there is cut to 100 characters.
  /// - Parameters:
  ///   - from: the sender.
  ///   - to: the recipient.
  ///   - values: the values by placeholder; a missing one is replaced by empty text.
  /// - Returns: the message, with an id of its own.
  /// - Throws: `MailMessageError` if a field of the message is invalid.
  package func message(
    from: MailAddress, to: MailAddress, values: [String: String]
  ) throws(MailMessageError) -> MailMessage {
    try MailMessage(
      from: from, to: to, subject: Self.fill(subject, values, Self.inOneLine),
      text: Self.fill(text, values) { $0 }
    )
  }

  private enum Piece: Sendable {
    case words(String)
    case place(String)
  }

  private static func pieces(
    of source: String, _ part: MailTemplateError.Part, _ names: Set<String>
  ) throws(MailTemplateError) -> [Piece] {
    var pieces: [Piece] = []
    var rest = Substring(source)
    while let start = rest.firstRange(of: "{{") {
      pieces.append(.words(String(rest[..<start.lowerBound])))
      rest = rest[start.upperBound...]
      guard let end = rest.firstRange(of: "}}") else { throw .unclosed(part) }
      let name = rest[..<end.lowerBound].filter { $0 != " " && $0 != "\t" }
      guard names.contains(name) else { throw .unknown(name, part) }
      pieces.append(.place(name))
      rest = rest[end.upperBound...]
    }
    return pieces + [.words(String(rest))]
  }

  private static func fill(
    _ pieces: [Piece], _ values: [String: String], _ form: (String) -> String
  ) -> String {
    pieces.map { piece in
      switch piece {
      case .words(let words): words
      case .place(let name): form(values[name] ?? "")
      }
    }.joined()
  }

  private static func inOneLine(_ value: String) -> String {
    let scalars = value.unicodeScalars.prefix(100).map { scalar in
      scalar.properties.generalCategory == .control ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars))
  }
}

/// The error in a template, found when it is parsed.
package enum MailTemplateError: Error, Equatable, CustomStringConvertible {
  package enum Part: String, Sendable { case subject, text }

  /// An unknown placeholder.
  case unknown(String, Part)
  /// `{{` without `}}`.
  case unclosed(Part)
  /// The subject has more than one line, or a control character.
  case brokenSubject

  package var description: String {
    switch self {
    case .unknown(let name, let part): "unknown placeholder {{\(name)}} in the \(part.rawValue)"
    case .unclosed(let part): "a placeholder without end in the \(part.rawValue)"
    case .brokenSubject: "the subject is not one line"
    }
  }
}
