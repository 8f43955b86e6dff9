import HTTP
import JSON
import Pages

/// One page of the reference.
struct Page: Sendable {
  /// The last part of the address.
  let slug: String
  let title: String
  /// One line on what the page is about.
  let summary: String
  /// Other words for the page, for the search.
  var words = ""
  /// The content below the summary.
  var introduction: Markup = ""
  /// The examples beside the title.
  var examples: [Markup] = []
  var sections: [Section] = []

  static func slug(_ title: String) -> String {
    title.lowercased().split(separator: " ").joined(separator: "-")
  }
}

/// One part of a page, such as a route or a type.
struct Section: Sendable {
  /// The fragment of the address.
  let id: String
  let title: String
  /// The kind of callers, where two routes have the same title.
  var tag: String?
  /// The route, or a sentence; search results show it.
  let detail: String
  /// Whether the detail is code.
  var isRoute = false
  /// The words that find the section before other parts of its text do.
  var words = ""
  var content: Markup = ""
  var examples: [Markup] = []
  /// The list below the content.
  var items: [Item] = []
}

/// One item of a list in a section, which the search finds by itself.
struct Item: Sendable {
  /// The fragment of the address.
  let id: String
  let title: String
  /// The sentence in search results.
  let detail: String
  let content: Markup
  /// The address, if the item has a page of its own.
  var address: String?
}

extension Markup.StringInterpolation {
  /// Appends a text in which backticks mark code.
  mutating func appendInterpolation(prose text: String) {
    for (index, part) in text.split(separator: "`", omittingEmptySubsequences: false).enumerated() {
      let words = String(part)
      appendInterpolation(index.isMultiple(of: 2) ? "\(words)" : "<code>\(words)</code>" as Markup)
    }
  }
}

extension Markup {
  /// Returns paragraphs in which backticks mark code.
  static func paragraphs(_ texts: String...) -> Markup {
    "\(texts.map { "<p>\(prose: $0)</p>" as Markup })"
  }

  /// Returns an example, which scrolls in itself.
  ///
  /// - Parameters:
  ///   - title: the caption.
  ///   - text: the example.
  ///   - isRun: whether it is one of the commands that a shell can run in the order of the chapters.
  /// - Returns: the HTML.
  static func figure(_ title: String, _ text: String, isRun: Bool = false) -> Markup {
    """
    <figure><figcaption>\(title)</figcaption>\
    <pre tabindex="0"\(if: isRun, #" class="example""#)>\(text)</pre></figure>
    """
  }

  /// Returns the body of a response as an example.
  static func figure(of status: Status, _ body: JSON) -> Markup {
    figure("Response \(status.code) \(status.reason)", body.lines())
  }

  /// The words of the HTML without its tags.
  var words: String {
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

extension [Markup] {
  func joined(by separator: Markup) -> Markup {
    "\(prefix(1) + dropFirst().map { "\(separator)\($0)" })"
  }
}

extension String {
  /// The words with a capital letter and a full stop.
  var sentence: String {
    guard let first, last != "." else { return self }
    return first.uppercased() + dropFirst() + "."
  }
}
