package import Pages

/// Writes whole documents of the console.
package struct ConsoleShell: Sendable {
  private let stylesheet: LocalPath
  private let script: LocalPath

  /// - Parameters:
  ///   - stylesheet: the path of `ConsoleAssets.stylesheet`.
  ///   - script: the path of `ConsoleAssets.script`.
  package init(stylesheet: LocalPath, script: LocalPath) {
    (self.stylesheet, self.script) = (stylesheet, script)
  }

  /// Returns the document of a page.
  package func html(_ page: ConsolePage, in frame: ConsoleFrame) -> String {
    let content: Markup = """
      \(bar(frame))
      <div class="columns">
      <nav class="side" aria-label="Sections">\(navigation(frame, current: page.section))</nav>
      \(main(page))
      </div>
      """
    return document(page, app: frame.app, kind: "console", hasKeys: frame.hasKeys, content).html
  }

  /// Returns the document of a page for someone who is not signed in, such as the sign-in.
  package func plainHTML(_ page: ConsolePage) -> String {
    let content: Markup = """
      <header class="plain-bar"><p class="product">\(mark) Dossier console</p></header>
      \(main(page))
      """
    return document(page, app: nil, kind: "plain-page", hasKeys: false, content).html
  }

  /// Returns the page with the sections, to which the button *Menu* of a narrow window leads.
  package func menu(_ frame: ConsoleFrame) -> ConsolePage {
    var page = ConsolePage("Menu")
    page.body = [
      #"<nav class="menu-list" aria-label="All sections">\#(navigation(frame, current: nil))</nav>"#,
      account(frame),
    ]
    if frame.apps.contains(where: { $0 != frame.app }) {
      page.body.insert(
        #"<nav class="menu-list" aria-label="Apps"><h2>Apps</h2>\#(switcher(frame))</nav>"#, at: 1)
    }
    return page
  }

  private func document(
    _ page: ConsolePage, app: String?, kind: StaticString, hasKeys: Bool, _ content: Markup
  ) -> Markup {
    let error = page.mistakes.isEmpty ? "" : "Error: "
    let place = app.map { "\($0) - Dossier" } ?? "Dossier"
    return """
      <!doctype html>
      <html lang="en" dir="ltr">
      <head>
      <meta charset="utf-8">
      <title>\(error)\(page.title) - \(place)</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="robots" content="noindex">
      <link rel="icon" href="/favicon.ico">
      <link rel="stylesheet" href="\(stylesheet.text)">
      <script src="\(script.text)" defer></script>
      </head>
      <body class="\(kind.description)"\(if: hasKeys, " data-keys")>
      <a class="skip" href="#content">Skip to the content</a>
      \(content)
      </body>
      </html>

      """
  }

  private var mark: Markup { #"<span class="mark" aria-hidden="true">D</span>"# }

  private func bar(_ frame: ConsoleFrame) -> Markup {
    let app = frame.app ?? "-"
    let home: LocalPath = frame.app == nil ? .console("-", "apps") : .console(app)
    let apps: Markup? =
      frame.apps.contains { $0 != frame.app }
      ? """
      <details class="who switch"><summary>Switch app</summary>\
      <nav class="account-card" aria-label="Apps">\(switcher(frame))</nav></details>
      """ : nil
    return """
      <header class="bar">
      <a class="menu" href="\(LocalPath.console(app, "menu").text)">Menu</a>
      <div class="place"><a class="product" href="\(home.text)">\(mark) <bdi>\
      \(frame.app ?? "Deployment")</bdi></a>\(apps)</div>
      <form class="search" role="search" method="get" \
      action="\(LocalPath.console(app, "search").text)">
      <svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><circle cx="9" cy="9" r="6"/>\
      <path d="m13.5 13.5 4 4"/></svg>
      <label class="hidden" for="q">Find users by address, name or ID</label>
      <input id="q" name="q" type="search" value="\(frame.query)" autocomplete="off" \
      placeholder="Find users by address, name or ID" \
      spellcheck="false" autocapitalize="none">
      <button class="secondary">Find</button>
      </form>
      <details class="who"><summary><span class="hidden">Signed in as </span><bdi>\
      \(frame.administrator)</bdi></summary>\(account(frame))</details>
      </header>
      """
  }

  /// Returns the links to the apps, and to the list of all.
  private func switcher(_ frame: ConsoleFrame) -> Markup {
    let items = frame.apps.map { app -> Markup in
      """
      <li><a href="\(LocalPath.console(app).text)"\
      \(attribute: "aria-current", app == frame.app ? "true" : nil)><bdi>\(app)</bdi></a></li>

      """
    }
    let all: Markup? =
      frame.sections.contains(.apps)
      ? "<li>\(Part.link("All apps", to: .console("-", "apps")))</li>" : nil
    return "<ul>\(items)\(all)</ul>"
  }

  /// Returns the administrator with the form that signs out.
  private func account(_ frame: ConsoleFrame) -> Markup {
    """
    <div class="account-card"><p><bdi>\(frame.administrator)</bdi><br>\
    <span class="muted">Role: \(frame.role)</span><br>\
    \(Part.link("Your account", to: .console("-", "me")))</p>
    \(Part.form(frame.signOut, #"<button class="secondary">Sign out</button>"#))</div>
    """
  }

  private func navigation(_ frame: ConsoleFrame, current: ConsoleSection?) -> Markup {
    var groups: [(name: String?, items: [Markup])] = []
    for section in ConsoleSection.allCases where frame.sections.contains(section) {
      let app = section.isOfDeployment ? "-" : frame.app
      guard let app else { continue }
      let path: LocalPath =
        section == .overview ? .console(app) : .console(app, section.rawValue)
      let item: Markup = """
        <li><a href="\(path.text)"\(attribute: "aria-current", section == current ? "page" : nil)>\
        \(section.label)</a></li>
        """
      if let last = groups.last, last.name == section.group {
        groups[groups.count - 1].items.append(item)
      } else {
        groups.append((section.group, [item]))
      }
    }
    let lists = groups.map { group -> Markup in
      "\(group.name.map { "<h2>\($0)</h2>" })<ul>\(group.items)</ul>\n"
    }
    return "\(lists)"
  }

  private func main(_ page: ConsolePage) -> Markup {
    let tabs = page.tabs.map { tab -> Markup in
      """
      <a href="\(tab.path.text)"\(attribute: "aria-current", tab.isCurrent ? "page" : nil)>\
      \(tab.label)</a>

      """
    }
    return """
      <main id="content" tabindex="-1">
      \(page.back.map { #"<p class="back"><a href="\#($0.path.text)">\#($0.label)</a></p>"# })
      <div class="head"><h1>\(page.heading)\(page.tags.map { " \($0)" })</h1>\
      \(if: !page.actions.isEmpty, #"<div class="actions">\#(page.actions)</div>"#)</div>
      \(if: !tabs.isEmpty, #"<nav class="tabs" aria-label="About this"><div>\#(tabs)</div></nav>"#)
      \(page.mistakes.isEmpty ? nil : summary(page.mistakes))
      \(page.notice.map { #"<p class="notice success" role="status">\#($0)</p>"# })
      \(page.body.map { "\($0)\n" })
      <div class="foot">\(page.commands.isEmpty ? nil : Part.commands(page.commands))\
      \(if: page.hasTimes, #"<p class="zone muted">Times are in UTC.</p>"#)</div>
      </main>
      """
  }

  private func summary(_ mistakes: [Mistake]) -> Markup {
    let items = mistakes.map { mistake -> Markup in
      guard let field = mistake.field else { return "<li>\(mistake.text)</li>\n" }
      let label = mistake.label.map { "\($0): " as Markup }
      return "<li><a href=\"#\(field)\">\(label)\(mistake.text)</a></li>\n"
    }
    return """
      <div class="summary" role="group" aria-labelledby="summary-title" tabindex="-1" autofocus>
      <h2 id="summary-title">There's a problem</h2>
      <ul>
      \(items)</ul>
      </div>
      """
  }
}
