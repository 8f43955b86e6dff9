import Encoding

/// Renders whole pages: the head, the search, the navigation, and the content.
struct ReferenceFrame {
  let audience: ReferenceAudience
  let pages: [ReferencePage]
  var markup = Markup()

  init(_ audience: ReferenceAudience, _ pages: [ReferencePage]) {
    self.audience = audience
    self.pages = pages
  }

  /// Returns the page of a chapter.
  func chapter(_ page: ReferencePage) -> String {
    document(page.title, current: page.slug) { frame in
      frame.addLead(page)
      for section in page.sections { frame.add(section) }
      frame.addNeighbors(of: page)
    }
  }

  /// Returns the page of a kind of error.
  func problem(_ page: ReferencePage) -> String {
    document(page.title, current: page.slug, isPart: true) { frame in
      let back = frame.audience.link(page.slug)
      frame.markup.add("<p class=\"back\"><a href=\"\(back)\">All errors</a></p>")
      frame.addLead(page)
    }
  }

  /// Returns a document.
  ///
  /// - Parameters:
  ///   - title: the title of the page.
  ///   - current: the chapter that the navigation marks; nil for none.
  ///   - isPart: whether the page is only a part of the chapter.
  ///   - query: the text in the search field.
  ///   - add: appends the content of `main`.
  /// - Returns: the HTML.
  func document(
    _ title: String, current: String?, isPart: Bool = false, query: String = "",
    _ add: (inout ReferenceFrame) -> Void
  ) -> String {
    var frame = self
    frame.addHead(title, query)
    frame.addNavigation(current, isPart: isPart)
    frame.markup.add("<main id=\"main\" tabindex=\"-1\">")
    add(&frame)
    frame.markup.add("</main></div></body></html>\n")
    return frame.markup.html
  }

  // MARK: Around the content

  private mutating func addHead(_ title: String, _ query: String) {
    let files = ReferenceFiles.self
    markup.add("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
    markup.add("<title>", text: title, " - Dossier API reference</title>")
    markup.add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
    markup.add("<meta name=\"color-scheme\" content=\"light dark\">")
    markup.add("<link rel=\"stylesheet\" href=\"\(files.path(files.stylesheet))\">")
    markup.add("<script src=\"\(files.path(files.script))\" defer></script></head><body>\n")
    markup.add("<a class=\"skip\" href=\"#main\">Skip to the content</a><header>")
    markup.add("<a class=\"home\" href=\"\(audience.start)\"><b>Dossier</b> API reference</a>")
    markup.add("<form role=\"search\" action=\"/reference\">")
    if audience == .users { markup.add("<input type=\"hidden\" name=\"for\" value=\"users\">") }
    markup.add("<label class=\"hidden\" for=\"q\">Search the reference</label>")
    markup.add(
      "<input type=\"search\" id=\"q\" name=\"q\" autocomplete=\"off\" spellcheck=\"false\" "
    )
    markup.add(
      "maxlength=\"\(ReferenceResource.queryLimit)\" placeholder=\"Try: forgot password\" "
    )
    markup.add("value=\"", text: query, "\"><button type=\"submit\">Search</button>")
    markup.add("<div id=\"suggestions\" hidden></div>")
    markup.add("<p class=\"hidden\" id=\"status\" role=\"status\"></p></form></header>\n")
  }

  /// Appends the navigation, which narrow screens fold.
  private mutating func addNavigation(_ current: String?, isPart: Bool) {
    markup.add("<div class=\"frame\"><nav aria-label=\"Reference\"><details id=\"contents\">")
    markup.add("<summary>Contents</summary><ul>")
    for page in pages {
      let isCurrent = page.slug == current
      let mark = isCurrent ? " aria-current=\"\(isPart ? "true" : "page")\"" : ""
      markup.add("<li><a href=\"\(audience.link(page.slug))\"\(mark)>", text: page.title, "</a>")
      if isCurrent, !isPart, page.sections.count > 1 { addEntries(of: page) }
      markup.add("</li>")
    }
    markup.add("</ul><ul class=\"more\">")
    if audience == .users {
      markup.add("<li><a href=\"/reference\">Show all routes</a></li>")
    } else {
      markup.add("<li><a href=\"/reference?for=users\">Show routes for users only</a></li>")
    }
    markup.add("<li><a href=\"/openapi.json\(audience.query)\">OpenAPI document</a></li>")
    markup.add("</ul></details></nav>\n")
  }

  private mutating func addEntries(of page: ReferencePage) {
    markup.add("<ul>")
    for section in page.sections {
      markup.add("<li><a href=\"#\(section.id)\">", text: section.title, "")
      addTag(section)
      markup.add("</a></li>")
    }
    markup.add("</ul>")
  }

  private mutating func addTag(_ section: ReferenceSection) {
    if let tag = section.tag { markup.add(" <span class=\"tag\">\(tag)</span>") }
  }

  // MARK: Content

  mutating func addLead(_ page: ReferencePage) {
    markup.add("<div class=\"part lead\"><div class=\"prose\"><h1>", text: page.title, "</h1>")
    markup.add("<p class=\"summary\">", prose: page.summary, "</p>\(page.introduction)</div>")
    markup.add("<div class=\"examples\">\(page.example)</div></div>\n")
  }

  mutating func add(_ section: ReferenceSection) {
    markup.add("<section class=\"part\" id=\"\(section.id)\"><div class=\"prose\">")
    markup.add("<h2><a href=\"#\(section.id)\">", text: section.title, "</a>")
    addTag(section)
    markup.add("</h2>\(section.prose)")
    if !section.rows.isEmpty {
      markup.add("<ul class=\"members\">\(section.rows.map(\.markup).joined())</ul>")
    }
    markup.add("</div><div class=\"examples\">\(section.example)</div></section>\n")
  }

  /// Appends links to the previous and the next chapter.
  private mutating func addNeighbors(of page: ReferencePage) {
    guard let index = pages.firstIndex(where: { $0.slug == page.slug }) else { return }
    markup.add("<ul class=\"neighbors\">")
    if index > 0 { addNeighbor("Previous", pages[index - 1]) }
    if index + 1 < pages.count { addNeighbor("Next", pages[index + 1]) }
    markup.add("</ul>")
  }

  private mutating func addNeighbor(_ label: String, _ page: ReferencePage) {
    markup.add("<li><a href=\"\(audience.link(page.slug))\"><span>\(label)</span> ")
    markup.add("", text: page.title, "</a></li>")
  }
}
