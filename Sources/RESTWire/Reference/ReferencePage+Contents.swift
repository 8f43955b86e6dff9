import Runtime
import HTTP
import JSON
import Operators
import WireKit

/// The table of contents, with its search.
///
/// Routes are always listed. Shapes, operators and problems are listed only as search results.
extension ReferencePage {
  mutating func addContents(of chapters: [Chapter], _ shapes: [Shape], isForUsers: Bool) {
    add("<nav><h1>Dossier</h1><p>")
    if isForUsers {
      add("The routes for users. <a href=\"/reference\">All routes</a> · ")
      add("<a href=\"/openapi.json?for=users\">openapi.json</a> · ")
    } else {
      add("<a href=\"/reference?for=users\">For users only</a> · ")
      add("<a href=\"/openapi.json\">openapi.json</a> · ")
    }
    add("<a href=\"#shapes\">Shapes</a> · <a href=\"#operators\">Operators</a> · ")
    add("<a href=\"#problems\">Problems</a></p>")
    add("<input type=\"search\" placeholder=\"Search: forgot password\" ")
    add("aria-label=\"Search the reference\" hidden><p id=\"found\" role=\"status\"></p><ul>")
    for chapter in chapters {
      add("<li><a href=\"#\(Self.anchor(chapter.title))\">", text: chapter.title, "</a><ul>")
      for operation in chapter.operations { addEntry(operation) }
      add("</ul></li>")
    }
    addEntries(
      "Shapes",
      shapes.compactMap { shape in
        let members = shape.schema["properties"]?.object?.keys ?? []
        return shape.name.map { (anchor: $0, text: $0, words: members.joined(separator: " ")) }
      }
    )
    let operators = UpdateOperator.allCases.map(\.rawValue) + QueryOperator.allCases.map(\.rawValue)
    // Some operators belong to both languages.
    let names = operators.indices.filter { operators.firstIndex(of: operators[$0]) == $0 }
    addEntries(
      "Operators",
      names.map { (Self.anchor(ofOperator: operators[$0]), operators[$0], "") }
    )
    addEntries("Problems", ErrorType.all.map { ($0.code, $0.code, $0.title) })
    add("</ul></nav>")
  }

  static func anchor(ofOperator name: String) -> String { "operator-\(name.filter { $0 != "$" })" }

  private mutating func addEntry(_ operation: Operation) {
    let route = operation.route
    let words =
      [EverydayWords.all[route.name]].compactMap(\.self)
      + operation.problems.filter { !$0.isCommon }.map(\.code)
    add("<li class=\"route\" title=\"\(Self.escaped(route.summary))\" ")
    add("data-words=\"\(Self.escaped(words.joined(separator: " ")))\">")
    add(
      "<a href=\"#\(operation.id)\"><b>\(route.method.rawValue)</b> ",
      text: route.pattern,
      "</a></li>"
    )
  }

  private mutating func addEntries(
    _ title: String,
    _ entries: [(anchor: String, text: String, words: String)]
  ) {
    add("<li class=\"more\" hidden><a href=\"#\(title.lowercased())\">\(title)</a><ul>")
    for entry in entries {
      add("<li data-words=\"\(Self.escaped(entry.words))\"><a href=\"#\(entry.anchor)\">")
      add("", text: entry.text, "</a></li>")
    }
    add("</ul></li>")
  }

  /// The script of the search.
  ///
  /// An entry matches if each typed word begins one of its words: its name, its summary or an
  /// everyday word. If no entry matches, the script searches the whole text of the entries.
  static let script = """
    const field = document.querySelector("nav input");
    const found = document.getElementById("found");
    const plain = (text) => " " + text.toLowerCase().replace(/[^\\p{L}\\p{N}$]+/gu, " ").trim();
    const entries = [...document.querySelectorAll("nav ul ul > li")].map((item) => ({
      item,
      words: plain(`${item.textContent} ${item.title} ${item.dataset.words ?? ""}`),
      target: item.firstElementChild.hash.slice(1),
    }));
    function search() {
      const typed = plain(field.value).split(" ").filter((word) => word);
      const has = (text) => typed.every((word) => text.includes(" " + word));
      let hits = entries.filter((entry) => has(entry.words));
      if (hits.length === 0) {
        hits = entries.filter((entry) =>
          has(entry.text ??= plain(document.getElementById(entry.target).innerHTML.replace(/<[^>]*>/g, " "))));
      }
      hits = new Set(hits.map((entry) => entry.item));
      for (const { item } of entries) item.hidden = !hits.has(item);
      for (const group of document.querySelectorAll("nav > ul > li")) {
        const isMore = group.className === "more" && typed.length === 0;
        group.hidden = isMore || !group.querySelector("li:not([hidden])");
      }
      found.textContent = typed.length === 0 ? ""
        : hits.size === 0 ? "Nothing here has these words." : `${hits.size} found`;
    }
    field.hidden = false;
    field.addEventListener("input", search);
    // A browser that goes back restores the search text.
    search();
    """
}
