/// The start and the results of a search.
extension ReferenceFrame {
  /// The maximum number of results on a page.
  private static let resultLimit = 50

  /// Returns the start, with the chapters and all routes.
  ///
  /// Its ids are those of the routes, so that old links to `/reference#id` find them.
  func start() -> String {
    let page = ReferencePage.start
    return document(page.title, current: nil) { frame in
      frame.addLead(page)
      frame.markup.add("<h2 id=\"chapters\">Chapters</h2>")
      frame.addChapters()
      for section in page.sections { frame.add(section) }
      frame.markup.add("<h2 id=\"routes\">All routes</h2>")
      for page in frame.pages where page.sections.contains(where: \.isRoute) {
        frame.addRoutes(of: page)
      }
    }
  }

  /// Returns the page with the results of a search.
  func results(_ places: [SearchIndex.Place], for query: String) -> String {
    document("Search: \(query)", current: nil, query: query) { frame in
      frame.markup.add("<h1>Results for “<bdi>", text: query, "</bdi>”</h1>")
      let shown = places.prefix(Self.resultLimit)
      let count =
        switch places.count {
        case 0: "Nothing here has these words."
        case 1: "1 result"
        case ...Self.resultLimit: "\(places.count) results"
        default: "The first \(shown.count) of \(places.count) results"
        }
      frame.markup.add("<p class=\"summary\" id=\"count\">\(count)</p>")
      guard !places.isEmpty else {
        frame.markup.add("<p>Try fewer or other words, or choose a chapter.</p>")
        return frame.addChapters()
      }
      frame.markup.add("<ol class=\"results\" id=\"results\">")
      for place in shown { frame.add(place) }
      frame.markup.add("</ol>")
    }
  }

  private mutating func add(_ place: SearchIndex.Place) {
    markup.add("<li><a href=\"\(place.address)\">", text: place.title, "</a>")
    if let tag = place.tag { markup.add(" <span class=\"tag\">\(tag)</span>") }
    let style = place.isRoute ? "code" : "span"
    markup.add("<p><span class=\"kind\">", text: place.chapter, "</span> ")
    markup.add("<\(style)>", prose: place.detail, "</\(style)></p></li>")
  }

  private mutating func addChapters() {
    markup.add("<ul class=\"chapters\">")
    for page in pages {
      markup.add("<li id=\"\(page.slug)\"><a href=\"\(audience.link(page.slug))\">")
      markup.add("", text: page.title, "</a><p>")
      markup.add("", prose: page.summary, "</p></li>")
    }
    markup.add("</ul>")
  }

  private mutating func addRoutes(of page: ReferencePage) {
    markup.add("<h3>", text: page.title, "</h3><ul class=\"index\">")
    for section in page.sections {
      markup.add("<li id=\"\(section.id)\"><a href=\"\(audience.link(page.slug, section.id))\">")
      markup.add("", text: section.title, "</a> <code>")
      markup.add("", text: section.detail, "</code></li>")
    }
    markup.add("</ul>")
  }
}
