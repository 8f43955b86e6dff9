import Encoding
import Localization

/// Writes the HTML of a page in one language: a function for each part.
struct PageView {
  let catalog: Catalog
  let app: String
  var rows = 0
  /// Whether an element may still take the focus.
  ///
  /// Only the first one counts, and an error comes before a field.
  private var mayFocus = true
  /// Whether only a field with an error may take the focus.
  private var seeksError = false

  init(catalog: Catalog, app: String) {
    self.catalog = catalog
    self.app = app.withoutControls
  }

  // MARK: Texts

  private func parts(of text: Text) -> [TextPart] {
    switch text {
    case .message(let key, let arguments):
      catalog.parts(of: key, arguments.merging(["app": .name(app)]) { own, _ in own })
    case .name(let name): [.name(name.withoutControls)]
    }
  }

  func plain(_ text: Text) -> String { parts(of: text).map(\.text).joined() }

  func plain(_ key: MessageKey) -> String { plain(.message(key)) }

  func words(_ text: Text) -> [Markup] {
    parts(of: text).map { part in
      switch part {
      case .words(let words): "\(words)"
      case .name(let name): "<bdi>\(breakable(name))</bdi>"
      }
    }
  }

  /// Returns a text in which an address may break after the "@" and before each dot.
  func breakable(_ text: String) -> [Markup] {
    guard text.contains("@") else { return ["\(text)"] }
    var (parts, part) = ([Markup](), "")
    func end() {
      parts += ["\(part)", "<wbr>"]
      part = ""
    }
    for character in text {
      if character == ".", !part.isEmpty { end() }
      part.append(character)
      if character == "@" { end() }
    }
    return parts + ["\(part)"]
  }

  func link(_ link: Link) -> Markup {
    """
    <a href="\(link.destination.text)"\(attribute: "class", link.style?.rawValue)\
    \(attribute: "download", link.download)>\(words(link.text))</a>
    """
  }

  // MARK: The page

  mutating func page(_ page: Page, _ context: PageContext, _ look: PageRenderer) -> Markup {
    let general = page.hasSummary ? [] : page.errorsWithoutField
    mayFocus = !page.hasSummary && general.isEmpty
    seeksError = !page.errors.isEmpty
    let isError = page.isError || !page.errors.isEmpty
    let title = Text.message(
      isError ? .errorPageTitle : .pageTitle, ["page": .name(plain(page.title))]
    )
    let body = page.body.map { element($0, page.errors) }
    var refresh: Markup?
    var attributes: Markup?
    var note: Markup?
    var script: Markup?
    switch page.automation {
    case .refresh(let destination):
      refresh = #"<meta http-equiv="refresh" content="0;url=\#(destination.text)">"#
    case .submit(let nonce):
      script = #"<script nonce="\#(nonce.text)">document.forms[0].submit();</script>"#
    case .post(let message, let nonce):
      attributes = """
         id="message"\(attribute: "data-origin", message.origin.text)\
        \(attribute: "data-message", message.json)
        """
      note = """
        <noscript><p class="notice warning">\(plain(.noScript))</p></noscript>
        """
      script = """
        <script nonce="\(nonce.text)">
        const { origin, message } = document.getElementById("message").dataset;
        const client = opener ?? (parent === self ? null : parent);
        client?.postMessage(JSON.parse(message), origin);
        if (opener) setTimeout(close, 5000);
        </script>
        """
    case .wait(let wait):
      attributes = """
        \(attribute: "data-check", wait.check.text)\(attribute: "data-next", wait.next.text)\
        \(attribute: "data-done", plain(.handOver))
        """
      note = #"<p class="hidden" role="status"></p>"#
    case .signal(let json): attributes = "\(attribute: "data-signal", json)"
    case nil: break
    }
    return """
      <!doctype html>
      <html lang="\(catalog.language)" dir="\(catalog.direction.rawValue)">
      <head>
      <meta charset="utf-8">
      <title>\(plain(title))</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="robots" content="noindex">
      \(refresh)
      <link rel="icon" href="\(look.branding.icon?.destination.text ?? "/favicon.ico")">
      <link rel="stylesheet" href="\(look.assets.stylesheet.text)">
      <script src="\(look.assets.script.text)" defer></script>
      </head>
      <body class="\(page.layout.rawValue)">
      <header>
      \(logo(look.branding.logo))
      </header>
      <main\(attributes)>
      \(page.back.map { #"<p class="back">\#(link($0))</p>"# })
      \(page.hasSummary ? summary(page.errors) : nil)
      \(symbol(of: page))
      <h1>\(words(page.heading))</h1>
      \(page.introduction.map { #"<p class="introduction">\#(words($0))</p>"# })
      \(general.enumerated().map { alert($1, isFocused: $0 == 0) })
      \(page.notices.map(notice))
      \(body)
      \(note)
      </main>
      <footer>
      \(languages(context.languages))
      \(if: !context.footer.isEmpty, "<p>\(context.footer.map(link))</p>")
      <p class="print">\(app)\(context.printed.map { " · \(plain($0))" })</p>
      </footer>
      \(script)
      </body>
      </html>

      """
  }

  private func logo(_ logo: Branding.Logo?) -> Markup {
    guard let logo else {
      return """
        <p class="app"><span class="mark" aria-hidden="true">\(initial(of: app))</span> \
        <bdi>\(app)</bdi></p>
        """
    }
    let dark = logo.dark.map { dark -> Markup in
      #"<source srcset="\#(dark.destination.text)" media="(prefers-color-scheme: dark)">"#
    }
    return """
      <picture>\(dark)<img class="logo" src="\(logo.light.destination.text)" alt="\(app)"></picture>
      """
  }

  func initial(of text: String?) -> String {
    text?.withoutControls.first.map { $0.uppercased() } ?? ""
  }

  /// Returns the icon above the heading of a page that reports a result.
  private func symbol(of page: Page) -> Markup? {
    let (kind, icon): (Notice.Kind, Icon)
    switch page.symbol {
    case _ where page.isError: (kind, icon) = (.warning, .alert)
    case .success: (kind, icon) = (.success, .check)
    case .mail: (kind, icon) = (.information, .mail)
    case .passkey: (kind, icon) = (.information, .key)
    case nil: return nil
    }
    return #"<p class="symbol \#(kind.rawValue)">\#(icon.markup)</p>"#
  }

  private func notice(_ notice: Notice) -> Markup {
    let icon: Icon =
      switch notice.kind {
      case .information: .information
      case .success: .check
      case .warning: .alert
      }
    let status: Markup? = notice.kind == .success ? #" role="status""# : nil
    return """
      <p class="notice \(notice.kind.rawValue)"\(status)>\(icon.markup)\
      <span>\(words(notice.text))</span></p>

      """
  }

  private func languages(_ links: [LanguageLink]) -> Markup? {
    guard !links.isEmpty else { return nil }
    let items = links.map { link -> Markup in
      let tag = link.catalog.language
      return """
        <a href="\(link.destination.text)" lang="\(tag)" hreflang="\(tag)"\
        \(if: tag == catalog.language, #" aria-current="true""#)>\(link.catalog.name)</a>
        """
    }
    return #"<nav aria-label="\#(plain(.languages))">\#(items)</nav>"#
  }

  private func summary(_ errors: [PageError]) -> Markup? {
    guard !errors.isEmpty else { return nil }
    let items = errors.map { error -> Markup in
      guard let field = error.field?.text else { return "<li>\(words(error.text))</li>\n" }
      return "<li><a href=\"#\(field)\">\(words(error.text))</a></li>\n"
    }
    return """
      <div class="summary" role="group" aria-labelledby="summary-title" tabindex="-1" autofocus>
      <h2 id="summary-title">\(plain(.errorSummary))</h2>
      <ul>
      \(items)</ul>
      </div>
      """
  }

  /// Returns an error of the whole page.
  private func alert(_ error: PageError, isFocused: Bool) -> Markup {
    """
    <p class="notice warning problem"\(if: isFocused, #" tabindex="-1" autofocus"#)>\
    \(Icon.alert.markup)<span>\(words(error))</span></p>

    """
  }

  /// Returns an error with its link.
  private func words(_ error: PageError) -> Markup {
    let link = error.link.map { link -> Markup in " \(self.link(link))" }
    return "\(words(error.text))\(link)"
  }

  private mutating func element(_ element: Page.Element, _ errors: [PageError]) -> Markup {
    switch element {
    case .form(let form): return self.form(form, errors)
    case .alternatives(let forms):
      return "\(divider)\(forms.map { self.form($0, errors) })"
    case .connections(let buttons, let areAlternatives):
      return connections(buttons, areAlternatives: areAlternatives)
    case .passkey(let form, let isAlternative): return passkey(form, isAlternative: isAlternative)
    case .links(let links):
      return """
        <ul class="links">
        \(links.map { "<li>\(link($0))</li>\n" })</ul>
        """
    case .paragraphs(let texts): return "\(texts.map { "<p>\(words($0))</p>\n" })"
    case .subheading(let text): return "<h2>\(words(text))</h2>"
    case .list(let group):
      // Only the scopes have headings.
      let icon = group.heading.map { _ in Icon.check.markup }
      return """
        \(group.heading.map { "<h3>\(words($0))</h3>" })<ul class="list">
        \(group.items.map { "<li>\(icon)<span>\(words($0))</span></li>\n" })</ul>
        """
    case .rows(let rows):
      let items = rows.map { row($0) }
      return """
        <dl class="rows">
        \(items.map { "\($0)\n" })</dl>
        """
    case .accounts(let choices):
      let items = choices.map { account($0) }
      return """
        <ul class="accounts">
        \(items.map { "\($0)\n" })</ul>
        """
    case .person(let person, let link):
      let shown = self.person(person, missing: plain(.accountWithoutName))
      return
        #"<div class="person"><span class="person">\#(shown)</span>\#(link.map(self.link))</div>"#
    case .codes(let codes, let download):
      return """
        <ul class="codes"\(copying)\(attribute: "data-print", codes.count > 1 ? plain(.print) : nil)>
        \(codes.map { "<li><code>\($0)</code></li>\n" })</ul>
        <div class="tools">\(download.map(link))</div>
        """
    case .key(let label, let text):
      return """
        <p class="key"\(copying)><span class="key-label">\(plain(label))</span> \
        <code>\(text)</code></p>
        """
    case .qrCode(let code, let label):
      let width = code.size + 2 * QRCode.margin
      return """
        <svg class="qr" role="img" aria-label="\(plain(label))" viewBox="0 0 \(width) \(width)" \
        shape-rendering="crispEdges"><path d="\(code.path)"/></svg>
        """
    case .phoneLink(let link):
      return #"<ul class="links phone"><li>\#(self.link(link))</li></ul>"#
    case .picture(let picture):
      return """
        <img class="client" src="\(picture.source.destination.text)" \
        alt="\(plain(picture.alternative))">
        """
    }
  }

  /// The attributes of an element whose codes a script copies.
  private var copying: Markup {
    "\(attribute: "data-copy", plain(.copy))\(attribute: "data-copied", plain(.copied))"
  }

  // MARK: Forms

  private mutating func form(_ form: Form, _ errors: [PageError]) -> Markup {
    var (fields, options): ([Markup], [Markup]) = ([], [])
    for var field in form.fields {
      let error = errors.first { $0.field == field.name }
      if let typed = error?.typed { field.value = typed }
      let isFocused = mayFocus && (seeksError ? error != nil : field.isFocused)
      if isFocused { mayFocus = false }
      let markup: Markup = "\(self.field(field, error, isFocused: isFocused))\n"
      // An option stands below the button, which most users want next.
      if field.isOption { options.append(markup) } else { fields.append(markup) }
    }
    let isEqual = form.buttons.count > 1 && form.buttons.allSatisfy { $0.style == .secondary }
    let hasFile = form.fields.contains { field in
      if case .picture = field.kind { true } else { false }
    }
    return """
      <form method="post" action="\(form.action.text)" novalidate\
      \(attribute: "enctype", hasFile ? "multipart/form-data" : nil)>
      \(hidden(form.hidden))\(fields)\
      <div class="buttons\(if: isEqual, " equal")">\(form.buttons.map { button($0) })</div>
      \(options)</form>
      """
  }

  /// Returns a form with one button and no fields.
  func form(_ target: FormTarget, _ button: Markup) -> Markup {
    """
    <form method="post" action="\(target.action.text)" novalidate>
    \(hidden(target.hidden))<div class="buttons">\(button)</div>
    </form>
    """
  }

  func hidden(_ fields: [HiddenField]) -> [Markup] {
    fields.map { "<input type=\"hidden\" name=\"\($0.name)\" value=\"\($0.value)\">\n" }
  }

  /// Returns a button.
  ///
  /// - `id`: the id of a button in a row.
  /// - `row`: the id of the label of the row.
  func button(
    _ button: Button, _ id: String? = nil, labelledBy row: String? = nil
  ) -> Markup {
    """
    <button type="submit" class="\(button.style.rawValue)"\(attribute: "id", id)\
    \(attribute: "aria-labelledby", row.map { "\(id ?? "") \($0)" })\
    \(attribute: "name", button.value?.name)\(attribute: "value", button.value?.value)\
    \(attribute: "data-wait", button.wait.map { String($0.components.seconds) })>\
    \(button.icon?.markup)\(words(button.label))</button>
    """
  }

  private func field(_ field: Field, _ error: PageError?, isFocused: Bool) -> Markup {
    let id = field.name.text
    let input = InputAttributes(field)
    var described: [String] = []
    if field.hint != nil { described.append("\(id)-hint") }
    if error != nil { described.append("\(id)-error") }
    // A fixed address looks like a user, not like a field.
    let label: Markup = """
      <label for="\(id)"\(attribute: "class", input.isFixed ? "hidden" : nil)>\
      \(words(field.label))</label>
      """
    let hint = field.hint.map { hint -> Markup in
      #"<p class="hint" id="\#(id)-hint">\#(words(hint))</p>"#
    }
    let mistake = error.map { error -> Markup in
      """
      <p class="error" id="\(id)-error">\(Icon.alert.markup)<span><span class="hidden">\
      \(plain(.errorLabel)) </span>\(words(error))</span></p>
      """
    }
    let state: Markup = """
      \(if: isFocused, " autofocus")\(attribute: "aria-invalid", error == nil ? nil : "true")\
      \(attribute: "aria-describedby", described.isEmpty ? nil : described.joined(separator: " "))
      """
    let inside = field.link.map { link -> Markup in
      """
      <a class="inside" href="\(link.destination.text)" id="\(id)-link" \
      aria-labelledby="\(id)-link \(id)">\(words(link.text))</a>
      """
    }
    return """
      <div class="field\(if: error != nil, " invalid")\(if: field.isOption, " checkbox")\
      \(if: input.isFixed, " fixed")">
      \(if: !field.isOption, label)
      \(hint)
      \(mistake)
      <div class="control">\(input.isFixed ? Icon.person.markup : nil)\
      \(control(field, input, state))\(input.isFixed ? inside : nil)</div>
      \(if: field.isOption, label)
      \(input.isFixed ? nil : field.link.map { #"<p class="under">\#(link($0))</p>"# })
      </div>
      """
  }

  /// Returns the input, or the choice.
  ///
  /// - `state`: the attributes that both have.
  private func control(_ field: Field, _ input: InputAttributes, _ state: Markup) -> Markup {
    let id = field.name.text
    if let options = field.options {
      let items = options.map { option -> Markup in
        """
        <option value="\(option.value)"\(if: option.value == field.value, " selected")>\
        \(plain(option.label))</option>

        """
      }
      return """
        <select id="\(id)" name="\(id)"\(state)\(if: field.isTimeZone, " data-zone")>
        \(items)</select>
        """
    }
    let reveal: Markup? =
      input.type == "password"
      ? """
       data-show="\(plain(.showPassword))" data-hide="\(plain(.hidePassword))" \
      data-shown="\(plain(.passwordShown))" data-hidden="\(plain(.passwordHidden))"
      """ : nil
    return """
      <input id="\(id)" name="\(id)" type="\(input.type)"\(attribute: "value", input.value)\
      \(if: input.isChecked, " checked")\(attribute: "accept", input.accept)\
      \(attribute: "inputmode", input.mode)\(attribute: "autocomplete", input.autocomplete)\
      \(attribute: "spellcheck", input.isText ? "false" : nil)\
      \(attribute: "autocapitalize", input.isText ? input.capitalization : nil)\
      \(if: input.isFixed, " readonly")\(state)\(reveal)>
      """
  }
}
