internal import Encoding

/// The text part of a mail, of which `PageRenderer` makes the HTML part.
///
/// Both parts have the same words, except for the label of the button; its address comes last in the
/// HTML part. This part loads nothing from any server.
package struct Mail: Sendable {
  package let subject: String
  /// The lines of the text; an empty one ends a paragraph.
  ///
  /// URLs become links, so a user must not have chosen them.
  package let text: String
  /// The language tag of the text.
  package let language: String
  /// A code to type, which stands in large digits, a token, or the link of the button: a URL or an
  /// email address.
  package let secret: String?
  /// The label of the button, which opens a URL with the secret.
  package let label: String?
  /// The words before the address of the button, for programs that open no button; nil for none.
  package let fallback: String?

  /// Creates the content of a mail.
  ///
  /// - Parameters:
  ///   - subject: also the heading.
  ///   - text: the text part.
  ///   - language: the language tag of the text.
  ///   - secret: a code, a token, or the link of the button in the text.
  ///   - label: the label of the button for a link; nil for the subject.
  ///   - fallback: the words before the address of the button; nil for none.
  package init(
    subject: String, text: String, language: String, secret: String? = nil, label: String? = nil,
    fallback: String? = nil
  ) {
    self.subject = subject
    self.text = text
    self.language = language
    self.secret = secret
    self.label = label
    self.fallback = fallback
  }

  /// A part of a line.
  enum Piece: Hashable {
    case words(Substring)
    case secret(String)
    case link(Destination)
    /// A link with the secret, which also becomes a button; or the secret, if it is an email address.
    case button(Destination)

    var isBlank: Bool {
      if case .words(let words) = self { words.isBlank } else { false }
    }
  }

  /// The link that a paragraph consists of, and that becomes a button; nil for any other paragraph.
  static func lonelyButton(_ paragraph: [[Piece]]) -> Destination? {
    let pieces = paragraph.joined().filter { !$0.isBlank }
    guard pieces.count == 1, case .button(let link) = pieces[0] else { return nil }
    return link
  }

  /// The paragraphs of the text, as lines.
  var paragraphs: [[[Piece]]] {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return lines.split(whereSeparator: \.isBlank).map { $0.map(pieces) }
  }

  /// Splits a line at its URLs and secrets.
  private func pieces(of line: Substring) -> [Piece] {
    var pieces: [Piece] = []
    var rest = line
    var search = line
    while let start = search.utf8.firstRange(of: "http".utf8)?.lowerBound {
      let url = Self.url(atStartOf: search[start...])
      search = search[url.endIndex...]
      guard let destination = Destination(url: String(url)) else { continue }
      let isButton = secret.map { url.utf8.firstRange(of: $0.utf8) != nil } == true
      pieces +=
        split(rest[..<url.startIndex]) + [isButton ? .button(destination) : .link(destination)]
      rest = search
    }
    return pieces + split(rest)
  }

  /// Returns the characters of a URL, without the punctuation of the sentence.
  private static func url(atStartOf text: Substring) -> Substring {
    let end = text.utf8.firstIndex { !URLCharacters.contains($0) } ?? text.endIndex
    let url = text[..<end]
    let last = url.utf8.lastIndex { !".,:;!?'()[]".utf8.contains($0) }
    return last.map { url[...$0] } ?? url
  }

  private func split(_ text: Substring) -> [Piece] {
    var pieces: [Piece] = []
    var rest = text
    while let secret, !secret.isEmpty, let range = rest.utf8.firstRange(of: secret.utf8) {
      if range.lowerBound > rest.startIndex { pieces.append(.words(rest[..<range.lowerBound])) }
      pieces.append(Destination(mailTo: secret).map(Piece.button) ?? .secret(secret))
      rest = rest[range.upperBound...]
    }
    return rest.isEmpty ? pieces : pieces + [.words(rest)]
  }

  // MARK: Preheader

  /// The first sentences in the list of a mail program: 85 to 100 characters, without the secret.
  ///
  /// A longer first sentence is cut. A shorter text is filled with invisible characters, so that the
  /// program shows no code after it.
  var preheader: String {
    var text = ""
    for sentence in paragraphs.flatMap(sentences) {
      let longer = text.isEmpty ? sentence : "\(text) \(sentence)"
      guard longer.count <= 100 else {
        if text.isEmpty { text = Self.cut(sentence) }
        break
      }
      text = longer
    }
    while text.count < 85 { text += "\u{a0}\u{200b}" }
    return text
  }

  /// Returns the sentences of a paragraph, without links and secrets; its end also ends a sentence.
  private func sentences(_ paragraph: [[Piece]]) -> [String] {
    var sentences: [String] = []
    var sentence = ""
    for case .words(let words) in paragraph.joined() {
      for word in words.split(whereSeparator: \.isWhitespace) {
        sentence += (sentence.isEmpty ? "" : " ") + word
        guard let last = word.last, ".!?。؟".contains(last) else { continue }
        sentences.append(sentence)
        sentence = ""
      }
    }
    return sentence.isEmpty ? sentences : sentences + [sentence]
  }

  /// Returns the first words of a sentence, at most 100 characters with the ellipsis.
  private static func cut(_ sentence: String) -> String {
    let room = sentence.prefix(99)
    let end = room.lastIndex(of: " ").flatMap { room[..<$0].count >= 80 ? $0 : nil }
    return room[..<(end ?? room.endIndex)] + "…"
  }
}

extension Substring {
  /// Whether it has only white space.
  ///
  /// A blank with a combining mark is a character that shows something.
  fileprivate var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }
}
