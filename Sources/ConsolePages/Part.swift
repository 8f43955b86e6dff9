package import JSON
package import Pages

/// The parts of pages.
package enum Part {
  // MARK: Texts

  /// Returns an email address that may break after its `@`.
  package static func address(_ text: String) -> Markup {
    guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return name(text) }
    let local = String(text[...at])
    let domain = String(text[text.index(after: at)...])
    return "<bdi>\(visible(local))<wbr>\(visible(domain))</bdi>"
  }

  /// Returns a name that a user has chosen, in any direction of writing.
  package static func name(_ text: String) -> Markup { "<bdi>\(visible(text))</bdi>" }

  /// Returns a short text that does not break.
  package static func whole(_ text: String) -> Markup {
    #"<bdi class="whole">\#(visible(text))</bdi>"#
  }

  package static func identifier(_ text: String) -> Markup { "<code>\(visible(text))</code>" }

  /// Returns the name of a setting in words, and as programs write it if that differs.
  package static func setting(_ name: String) -> Markup {
    let label = NameWords.label(name)
    return label.lowercased() == name ? "\(label)" : "\(label) \(identifier(name))"
  }

  package static func muted(_ text: String) -> Markup {
    #"<span class="muted">\#(text)</span>"#
  }

  /// Returns a text in which the marks that turn or hide text are visible.
  private static func visible(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.properties.isBidiControl || $0.value < 0x20 ? "\u{fffd}" : $0 }
      ))
  }

  /// Returns a time to the minute; its exact value is in an attribute.
  ///
  /// - Parameter text: a time of the API, in UTC.
  /// - Returns: the time; a dash for nil.
  package static func time(_ text: String?) -> Markup {
    guard let text else { return #"<span class="muted">–</span>"# }
    let shown = text.prefix(16).map { $0 == "T" ? " " : $0 }
    return #"<time datetime="\#(text)">\#(String(shown))</time>"#
  }

  /// Returns a text in which each time of the API is shown as `time` shows it.
  package static func sentence(_ text: String) -> Markup {
    var parts: [Markup] = []
    var rest = text[...]
    let time = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|\+00:00)/
    while let match = rest.firstMatch(of: time) {
      parts.append("\(visible(String(rest[..<match.range.lowerBound])))")
      parts.append(Self.time(String(match.output)))
      rest = rest[match.range.upperBound...]
    }
    return "<bdi>\(parts)\(visible(String(rest)))</bdi>"
  }

  /// The meaning of a tag, which its word says too.
  package enum TagKind: String, Sendable { case neutral, success, danger }

  package static func tag(_ text: String, _ kind: TagKind = .neutral) -> Markup {
    #"<span class="tag \#(kind.rawValue)">\#(text)</span>"#
  }

  /// Returns a link; with a style, it looks like a button.
  package static func link(
    _ label: String, to path: LocalPath, style: Button.Style? = nil
  ) -> Markup {
    #"<a href="\#(path.text)"\#(attribute: "class", style.map { "button \($0.rawValue)" })>\#(label)</a>"#
  }

  package static func paragraph(_ text: String, isMuted: Bool = false) -> Markup {
    "<p\(attribute: "class", isMuted ? "muted" : nil)>\(text)</p>"
  }

  package static func warning(_ content: Markup) -> Markup {
    #"<div class="notice warning">\#(content)</div>"#
  }

  // MARK: Groups

  /// Returns a part of a page with a heading.
  package static func card(_ heading: String? = nil, _ content: Markup) -> Markup {
    #"<section class="card">\#(heading.map { "<h2>\($0)</h2>" })\#(content)</section>"#
  }

  /// Returns labels with their values.
  package static func definitions(_ rows: [(label: String, value: Markup)]) -> Markup {
    let items = rows.map { row -> Markup in
      "<div><dt>\(row.label)</dt><dd>\(row.value)</dd></div>\n"
    }
    return #"<dl class="definitions">\#(items)</dl>"#
  }

  package static func list(_ items: [String]) -> Markup {
    "<ul>\(items.map { "<li>\($0)</li>" as Markup })</ul>"
  }

  /// Returns what stands in place of an empty list.
  package static func empty(_ text: String, _ action: Markup? = nil) -> Markup {
    #"<div class="empty"><p>\#(text)</p>\#(action)</div>"#
  }

  /// Returns a text of a program.
  package static func code(_ text: String, label: String) -> Markup {
    #"<pre class="code" tabindex="0" role="region" aria-label="\#(label)"><code>\#(text)</code></pre>"#
  }

  /// Returns the commands that do the same as the page.
  package static func commands(_ commands: [String]) -> Markup {
    """
    <details class="command"><summary>Command line</summary>\
    \(code(commands.joined(separator: "\n"), label: "Command line"))</details>
    """
  }

  /// Returns the picture of a QR code.
  package static func picture(of code: QRCode) -> Markup {
    let width = code.size + 2 * QRCode.margin
    return """
      <svg class="qr" role="img" aria-label="QR code" viewBox="0 0 \(width) \(width)" \
      shape-rendering="crispEdges"><path d="\(code.path)"/></svg>
      """
  }

  /// Returns a frame with a preview, which takes neither focus nor clicks.
  package static func frame(_ path: LocalPath, title: String) -> Markup {
    #"<iframe class="preview" src="\#(path.text)" title="\#(title)" inert tabindex="-1"></iframe>"#
  }

  // MARK: Forms

  /// Returns fields of a form that belong together.
  package static func group(_ title: String, _ fields: Markup) -> Markup {
    #"<div class="group" role="group" aria-label="\#(title)"><p class="title">\#(title)</p>\#(fields)</div>"#
  }

  /// Returns fields of a form that a person opens.
  package static func group(_ title: String, isOpen: Bool, _ fields: Markup) -> Markup {
    """
    <details class="group"\(if: isOpen, " open")><summary>\(title)</summary>\(fields)</details>
    """
  }

  /// Returns a form that posts to a target.
  ///
  /// - Parameters:
  ///   - target: the path, with the token.
  ///   - isWide: whether the form has fields, and not only a button.
  ///   - hasFile: whether a field is a file.
  ///   - content: the fields and the buttons.
  /// - Returns: the form.
  package static func form(
    _ target: FormTarget, isWide: Bool = false, hasFile: Bool = false, _ content: Markup
  ) -> Markup {
    let hidden = target.hidden.map { field -> Markup in
      "<input type=\"hidden\" name=\"\(field.name)\" value=\"\(field.value)\">\n"
    }
    return """
      <form method="post" action="\(target.action.text)" novalidate\
      \(if: hasFile, #" enctype="multipart/form-data""#)\(attribute: "class", isWide ? "wide" : nil)>
      \(hidden)\(content)
      </form>
      """
  }

  /// Returns a form with one button.
  package static func button(
    _ label: String, _ target: FormTarget, style: Button.Style = .secondary
  ) -> Markup {
    form(target, submit(label, style))
  }

  /// Returns the button that sends a form, optionally with a value.
  package static func submit(
    _ label: String, _ style: Button.Style = .primary, value: HiddenField? = nil
  ) -> Markup {
    """
    <button class="\(style.rawValue)"\(attribute: "name", value?.name)\
    \(attribute: "value", value?.value)>\(label)</button>
    """
  }

  package static func buttons(_ buttons: Markup...) -> Markup {
    #"<div class="buttons">\#(buttons)</div>"#
  }

  /// Returns a form that searches an app, or all apps for `-`.
  package static func search(in app: String) -> Markup {
    """
    <form class="filter" method="get" action="\(LocalPath.console(app, "search").text)">\
    <div class="field"><label for="find">Find users by address, name or ID</label>\
    <input id="find" name="q" type="search" autocomplete="off" spellcheck="false" \
    autocapitalize="none"></div>\(submit("Find", .secondary))</form>
    """
  }

  // MARK: Lists

  /// Returns the links to the first and the next part of a list; nil if the list has one part.
  package static func pager(first: LocalPath?, next: LocalPath?) -> Markup? {
    guard first != nil || next != nil else { return nil }
    return """
      <nav class="pager" aria-label="Parts of the list">\
      \(first.map { link("First page", to: $0, style: .secondary) })\
      \(next.map { link("Next page", to: $0, style: .secondary) })</nav>
      """
  }
}

/// A list with columns.
package struct ConsoleTable {
  package struct Column {
    let label: String
    /// Whether narrow windows leave the column out.
    let isMinor: Bool
    let isNumber: Bool

    package init(_ label: String, isMinor: Bool = false, isNumber: Bool = false) {
      (self.label, self.isMinor, self.isNumber) = (label, isMinor, isNumber)
    }

    var style: String? {
      let names = (isMinor ? ["minor"] : []) + (isNumber ? ["number"] : [])
      return names.isEmpty ? nil : names.joined(separator: " ")
    }
  }

  private let caption: String
  private let columns: [Column]
  package var rows: [[Markup]] = []

  /// - Parameters:
  ///   - caption: what the table lists, for screen readers.
  ///   - columns: the columns; the first one names the row.
  package init(_ caption: String, _ columns: [Column]) {
    (self.caption, self.columns) = (caption, columns)
  }

  package var markup: Markup {
    let heads = columns.map { column -> Markup in
      #"<th scope="col" role="columnheader"\#(attribute: "class", column.style)>\#(column.label)</th>"#
    }
    let lines = rows.map { row -> Markup in
      let cells = zip(columns, row).enumerated().map { index, cell -> Markup in
        let (column, value) = cell
        let style = attribute("class", column.style)
        return index == 0
          ? #"<th scope="row" role="rowheader"\#(style)>\#(value)</th>"#
          : #"<td role="cell"\#(style) data-label="\#(column.label)">\#(value)</td>"#
      }
      return #"<tr role="row">\#(cells)</tr>"# as Markup
    }
    // The roles stay where a narrow window shows rows as blocks.
    return """
      <div class="table" tabindex="0" role="region" aria-label="\(caption)"><table role="table">
      <caption class="hidden">\(caption)</caption>
      <thead role="rowgroup"><tr role="row">\(heads)</tr></thead>
      <tbody role="rowgroup">
      \(lines.map { "\($0)\n" })</tbody></table></div>
      """
  }

  private func attribute(_ name: StaticString, _ value: String?) -> Markup {
    "\(attribute: name, value)"
  }
}

extension JSON {
  /// The text of an editor: as stored, and indented by two spaces.
  ///
  /// Marks that turn or hide text are escaped, so that they are seen.
  package var edited: String {
    let text = edited(indentedBy: "")
    guard text.unicodeScalars.contains(where: \.properties.isBidiControl) else { return text }
    return text.unicodeScalars.reduce(into: "") { escaped, scalar in
      if scalar.properties.isBidiControl {
        escaped += "\\u" + String(scalar.value, radix: 16)
      } else {
        escaped.unicodeScalars.append(scalar)
      }
    }
  }

  private func edited(indentedBy indent: String) -> String {
    let inner = indent + "  "
    if let members = object, members.count > 0 {
      let lines = members.map { name, value in
        "\(inner)\(JSON.string(name).text): \(value.edited(indentedBy: inner))"
      }
      return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
    }
    guard let elements = array, !elements.isEmpty else { return text }
    let lines = elements.map { inner + $0.edited(indentedBy: inner) }
    return "[\n\(lines.joined(separator: ",\n"))\n\(indent)]"
  }
}
