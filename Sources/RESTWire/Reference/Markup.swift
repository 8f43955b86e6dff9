import Encoding

/// HTML that is built from constant markup and escaped texts.
struct Markup {
  private(set) var html = ""

  mutating func add(_ markup: String) { html += markup }

  /// Appends markup, an escaped text, and markup.
  mutating func add(_ before: String, text: String, _ after: String) {
    html += before + HTML.escaped(text) + after
  }

  /// Appends markup, a sentence in which backticks mark code, and markup.
  mutating func add(_ before: String, prose: String, _ after: String) {
    html += before + Self.prose(prose) + after
  }

  /// Appends an example, which scrolls in itself.
  ///
  /// - Parameters:
  ///   - title: the caption.
  ///   - text: the example.
  ///   - isRun: whether it is one of the commands that a shell can run in the order of the chapters.
  mutating func add(_ title: String, example text: String, isRun: Bool = false) {
    let style = isRun ? " class=\"example\"" : ""
    add("<figure><figcaption>", text: title, "</figcaption>")
    add("<pre tabindex=\"0\"\(style)>", text: text, "</pre></figure>")
  }

  /// Returns the text as HTML, with the parts between backticks as code.
  static func prose(_ text: String) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
    return parts.indices.map { index in
      let part = HTML.escaped(parts[index])
      return index.isMultiple(of: 2) ? part : "<code>\(part)</code>"
    }.joined()
  }

  /// Returns the words of the markup without its tags.
  static func text(of html: String) -> String {
    var text = ""
    var isInTag = false
    for scalar in html.unicodeScalars {
      switch scalar {
      case "<": isInTag = true
      case ">":
        isInTag = false
        text += " "
      default: if !isInTag { text.unicodeScalars.append(scalar) }
      }
    }
    return text
  }
}
