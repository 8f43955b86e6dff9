import Pages

/// Writes whole pages: the head, the search, the navigation, and the content.
struct PageView {
  let audience: Reference.Audience
  let pages: [Page]

  /// The maximum number of results on a page.
  private static let resultLimit = 50

  // MARK: Pages

  /// Returns the start, with the chapters and all routes.
  ///
  /// Its ids are those of the routes, so that old links to `/reference#id` find them.
  func start(_ page: Page) -> Markup {
    let routes = pages.filter { $0.sections.contains(where: \.isRoute) }.map { page -> Markup in
      let items = page.sections.map { section -> Markup in
        """
        <li id="\(section.id)"><a href="\(audience.link(page.slug, section.id))">\(section.title)\
        </a> <code>\(section.detail)</code></li>
        """
      }
      return #"<h3>\#(page.title)</h3><ul class="index">\#(items)</ul>"#
    }
    return document(
      page.title,
      """
      \(lead(page))
      <h2 id="chapters">Chapters</h2>
      \(chapters)
      \(page.sections.map(part))
      <h2 id="routes">All routes</h2>
      \(routes)
      """)
  }

  /// Returns the page of a chapter, with links to the previous and the next one.
  func chapter(_ index: Int) -> Markup {
    let page = pages[index]
    let neighbors = [("Previous", index - 1), ("Next", index + 1)].map { label, place -> Markup? in
      guard pages.indices.contains(place) else { return nil }
      return """
        <li><a href="\(audience.link(pages[place].slug))"><span>\(label)</span> \
        \(pages[place].title)</a></li>
        """
    }
    return document(
      page.title, current: page.slug,
      """
      \(lead(page))
      \(page.sections.map(part))
      <ul class="neighbors">\(neighbors.compactMap(\.self))</ul>
      """)
  }

  /// Returns the page of a kind of error.
  func problem(_ page: Page) -> Markup {
    document(
      page.title, current: page.slug, isPart: true,
      """
      <p class="back"><a href="\(audience.link(page.slug))">All errors</a></p>
      \(lead(page))
      """)
  }

  /// Returns the page with the results of a search.
  func results(_ places: [SearchIndex.Place], for query: String) -> Markup {
    let shown = places.prefix(Self.resultLimit)
    let count =
      switch places.count {
      case 0: "Nothing here has these words."
      case 1: "1 result"
      case ...Self.resultLimit: "\(places.count) results"
      default: "The first \(shown.count) of \(places.count) results"
      }
    let results: Markup =
      places.isEmpty
      ? "<p>Try fewer or other words, or choose a chapter.</p>\(chapters)"
      : #"<ol class="results" id="results">\#(shown.map(result))</ol>"#
    return document(
      "Search: \(query)", query: query,
      """
      <h1>Results for “<bdi>\(query)</bdi>”</h1>
      <p class="summary" id="count">\(count)</p>
      \(results)
      """)
  }

  // MARK: Around the content

  /// Returns a document.
  ///
  /// - Parameters:
  ///   - title: the title of the page.
  ///   - current: the chapter that the navigation marks; nil for none.
  ///   - isPart: whether the page is only a part of the chapter.
  ///   - query: the text in the search field.
  ///   - content: the content of `main`.
  /// - Returns: the HTML.
  private func document(
    _ title: String, current: String? = nil, isPart: Bool = false, query: String = "",
    _ content: Markup
  ) -> Markup {
    let entries = pages.map { page -> Markup in
      let isCurrent = page.slug == current
      let isOpen = isCurrent && !isPart && page.sections.count > 1
      let sections = page.sections.map { section -> Markup in
        ##"<li><a href="#\##(section.id)">\##(section.title)\##(tag(section.tag))</a></li>"##
      }
      return """
        <li><a href="\(audience.link(page.slug))"\
        \(attribute: "aria-current", isCurrent ? isPart ? "true" : "page" : nil)>\(page.title)</a>\
        \(if: isOpen, "<ul>\(sections)</ul>")</li>
        """
    }
    let isOfUsers = audience == .users
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">
      <title>\(title) - Dossier API reference</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <link rel="stylesheet" href="\(ReferenceFiles.path(ReferenceFiles.stylesheet))">
      <script src="\(ReferenceFiles.path(ReferenceFiles.script))" defer></script></head><body>
      <a class="skip" href="#main">Skip to the content</a><header>
      <a class="home" href="/reference\(audience.query)"><b>Dossier</b> API reference</a>
      <form role="search" action="/reference">
      \(if: isOfUsers, #"<input type="hidden" name="for" value="users">"#)
      <label class="hidden" for="q">Search the reference</label>
      <input type="search" id="q" name="q" autocomplete="off" spellcheck="false" \
      maxlength="\(Reference.queryLimit)" placeholder="Try: forgot password" value="\(query)">\
      <button type="submit">Search</button>
      <div id="suggestions" hidden></div>
      <p class="hidden" id="status" role="status"></p></form></header>
      <div class="frame"><nav aria-label="Reference"><details id="contents">
      <summary>Contents</summary><ul>\(entries)</ul><ul class="more">
      <li><a href="/docs/">Guides</a></li>
      <li><a href="/reference\(if: !isOfUsers, "?for=users")">\
      \(isOfUsers ? "Show all routes" : "Show routes for users only")</a></li>
      <li><a href="/openapi.json\(audience.query)">OpenAPI document</a></li>
      </ul></details></nav>
      <main id="main" tabindex="-1">
      \(content)
      </main></div></body></html>

      """
  }

  // MARK: Parts of the content

  private func lead(_ page: Page) -> Markup {
    """
    <div class="part lead"><div class="prose"><h1>\(page.title)</h1>
    <p class="summary">\(prose: page.summary)</p>
    \(page.introduction)</div><div class="examples">\(page.examples)</div></div>

    """
  }

  private func part(_ section: Section) -> Markup {
    """
    <section class="part" id="\(section.id)"><div class="prose">
    <h2><a href="#\(section.id)">\(section.title)</a>\(tag(section.tag))</h2>
    \(section.content)
    \(if: !section.items.isEmpty, #"<ul class="members">\#(section.items.map(\.content))</ul>"#)
    </div><div class="examples">\(section.examples)</div></section>

    """
  }

  private func result(_ place: SearchIndex.Place) -> Markup {
    let detail: Markup =
      place.isRoute
      ? "<code>\(place.detail)</code>" : "<span>\(prose: place.detail)</span>"
    return """
      <li><a href="\(place.address)">\(place.title)</a>\(tag(place.tag))\
      <p><span class="kind">\(place.chapter)</span> \(detail)</p></li>

      """
  }

  private var chapters: Markup {
    let items = pages.map { page -> Markup in
      """
      <li id="\(page.slug)"><a href="\(audience.link(page.slug))">\(page.title)</a>\
      <p>\(prose: page.summary)</p></li>
      """
    }
    return #"<ul class="chapters">\#(items)</ul>"#
  }

  private func tag(_ tag: String?) -> Markup? { tag.map { #" <span class="tag">\#($0)</span>"# } }
}
