import HTTP
import JSON
import Wiring

/// The reference for people: one page, which asks for nothing else.
struct ReferencePage {
  private var html = ""

  static func text(of chapters: [Chapter]) -> String {
    var page = ReferencePage()
    page.add(head)
    page.add("<nav><h1>Dossier</h1><p><a href=\"/openapi.json\">openapi.json</a></p><ul>")
    for chapter in chapters {
      page.add("<li><a href=\"#\(anchor(chapter.title))\">", text: chapter.title, "</a></li>")
    }
    page.add("<li><a href=\"#shapes\">Shapes</a></li><li><a href=\"#problems\">Problems</a></li>")
    page.add("</ul></nav><main>\(introduction)")
    for chapter in chapters { page.add(chapter) }
    page.add("<h2 id=\"shapes\">Shapes</h2>")
    for shape in OpenAPI.shapes(of: chapters) { page.add(shape) }
    page.addProblems()
    page.add("</main></html>\n")
    return page.html
  }

  private mutating func add(_ markup: String) { html += markup }

  /// Markup, text that is none, and markup.
  private mutating func add(_ before: String, text: String, _ after: String) {
    html += before + Self.escaped(text) + after
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "`": break
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func anchor(_ title: String) -> String {
    title.lowercased().split(separator: " ").joined(separator: "-")
  }

  // MARK: Operations

  private mutating func add(_ chapter: Chapter) {
    add("<h2 id=\"\(Self.anchor(chapter.title))\">", text: chapter.title, "</h2>")
    add("<p>", text: chapter.says, "</p>")
    if let example = chapter.example { add("<pre class=\"example\">", text: example, "</pre>") }
    for operation in chapter.operations { add(operation) }
  }

  private mutating func add(_ operation: Operation) {
    let route = operation.route
    add("<section id=\"\(operation.id)\"><h3><b>\(route.method.rawValue)</b> ")
    add("<code>", text: route.pattern, "</code></h3>")
    add("<p>", text: "\(route.summary).", "</p><dl>")
    add("<dt>Access</dt><dd>", text: "\(route.access)", "</dd>")
    for parameter in operation.query {
      add("<dt>?", text: parameter.name, "</dt><dd>")
      add("", text: "\(parameter.says): ", "")
      add(Self.link(parameter.shape.reference))
      add("</dd>")
    }
    if let words = operation.versions.says { add("<dt>Versions</dt><dd>", text: words, "</dd>") }
    if route.body != .none {
      let types = route.body.mediaTypes.map(\.rawValue).joined(separator: ", ")
      add("<dt>Body</dt><dd>")
      if let shape = operation.takes { add(Self.link(shape.reference) + ", ") }
      add("", text: "at most \(route.body.limit) bytes of \(types)", "</dd>")
    }
    for answer in operation.gives {
      add("<dt>\(answer.status.code)</dt><dd>")
      if let shape = answer.shape { add(Self.link(shape.reference) + " ") }
      add("", text: answer.says, "</dd>")
    }
    let own = operation.problems.filter { !$0.isCommon }
    let problems = Dictionary(grouping: own, by: \.status.code)
    for (code, types) in problems.sorted(by: { $0.key < $1.key }) {
      let links = types.map { "<a href=\"#\($0.rawValue)\">\($0.rawValue)</a>" }
      add("<dt>\(code)</dt><dd>\(links.joined(separator: ", "))</dd>")
    }
    add("</dl></section>")
  }

  // MARK: Shapes

  private mutating func add(_ shape: Shape) {
    guard let name = shape.name else { return }
    add("<section id=\"\(name)\"><h3>\(name)</h3>")
    add("<p>", text: shape.schema["description"]?.string ?? "", "</p>")
    if let members = shape.schema["properties"]?.object {
      let required = shape.schema["required"]?.array ?? []
      add("<table><tr><th>member</th><th>value</th><th></th></tr>")
      for (member, schema) in members {
        let mark = required.contains(.string(member)) ? "" : ", may be absent"
        add("<tr><td><code>", text: member, "</code></td><td>\(Self.link(schema))\(mark)</td>")
        add("<td>", text: schema["description"]?.string ?? "", "</td></tr>")
      }
      add("</table>")
    } else {
      add("<p>\(Self.link(.object(shape.schema)))</p>")
    }
    add("</section>")
  }

  /// A schema in a few words.
  private static func link(_ schema: JSON) -> String {
    if let name = schema["$ref"]?.string?.split(separator: "/").last {
      return "<a href=\"#\(name)\">\(name)</a>"
    }
    if let choices = schema["anyOf"]?.array {
      return choices.map(link).joined(separator: " or ")
    }
    if let values = schema["enum"]?.array {
      return values.map { "<code>\(escaped($0.text))</code>" }.joined(separator: " or ")
    }
    if let members = schema["properties"]?.object {
      let words = members.map { name, value in "<code>\(escaped(name))</code>: \(link(value))" }
      return "{\(words.joined(separator: ", "))}"
    }
    if let items = schema["items"] { return "list of \(link(items))" }
    if let values = schema["additionalProperties"], values.object != nil {
      return "object of \(link(values))"
    }
    let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? "any"]
    return types.joined(separator: " or ") + bounds(of: schema)
  }

  private static func bounds(of schema: JSON) -> String {
    if let least = schema["minLength"], let most = schema["maxLength"] {
      return " of \(least.text) to \(most.text) characters"
    }
    if let least = schema["minimum"], let most = schema["maximum"] {
      return " from \(least.text) to \(most.text)"
    }
    if let format = schema["format"]?.string { return " (\(format))" }
    if let pattern = schema["pattern"]?.string { return " as <code>\(escaped(pattern))</code>" }
    return ""
  }

  private mutating func addProblems() {
    add("<h2 id=\"problems\">Problems</h2><table><tr><th>code</th><th>status</th><th></th></tr>")
    for type in ProblemType.allCases {
      add("<tr id=\"\(type.rawValue)\"><td><code>\(type.rawValue)</code></td>")
      let note = type.isCommon ? " On any route." : ""
      add("<td>\(type.status.code)</td><td>", text: type.title + note, "</td></tr>")
    }
    add("</table>")
  }

  private static let introduction = """
    <p>Bodies are JSON in UTF-8, as strict as RFC 8259, with no member that is not named here.
    Users call with <code>Authorization: Bearer</code> and their access token, programs with their
    key; a device shows its secret in <code>Dossier-Device</code>. <code>Dossier-App</code> names
    the app, where there are several and the host name does not tell.</p>
    <p>An <code>ETag</code> is the version of what was answered: send it back in
    <code>If-Match</code>, and nobody's change is lost. <code>If-None-Match: *</code> on a write asks
    that nothing is there; metadata and app metadata, which are there from the start as
    <code>{}</code> in version 0, count as not there in that version for a write, and as there for
    <code>If-Match: *</code> and for reading. Preconditions are tested on every route: what has no
    versions meets no entity tag. Pages of lists go on where
    <code>Link</code> leads. Ids are 24 hexadecimal digits, times are RFC 3339.</p>
    <p>What is refused is answered by a <a href="#Problem">Problem</a> with a stable
    <code>code</code>; those that any route may answer are only in
    <a href="#problems">the table at the end</a>. With <code>Retry-After</code>, come again.</p>

    """

  private static let head = """
    <!doctype html>
    <html lang="en"><meta charset="utf-8"><title>Dossier: reference</title>
    <meta name="viewport" content="width=device-width">
    <meta name="color-scheme" content="light dark"><style>
    body { font: 16px/1.5 system-ui, sans-serif; margin: 0; display: flex }
    nav { position: sticky; top: 0; align-self: flex-start; padding: 1rem 2rem; min-width: 12rem }
    main { max-width: 52rem; padding: 1rem 2rem; min-width: 0 }
    nav ul { list-style: none; padding: 0 }
    section { border-top: 1px solid #8884; padding: .5rem 0 }
    td, dd { overflow-wrap: anywhere }
    h1 { font-size: 1.4rem } h3 { font-size: 1rem; margin: .5rem 0 }
    code, pre { font: .9em ui-monospace, monospace }
    pre { background: #8882; padding: .8rem; overflow-x: auto }
    dl { display: grid; grid-template-columns: 6rem 1fr; gap: .2rem 1rem; margin: 0 }
    dt { color: #888 } dd { margin: 0 }
    table { border-collapse: collapse } td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top }
    :target { background: #fd03 }
    @media (max-width: 48rem) { body { display: block } nav { position: static } }
    </style>

    """
}

extension Versions {
  fileprivate var says: String? {
    switch self {
    case .none: nil
    case .tagged: "ETag"
    case .read: "ETag; If-None-Match answers 304, If-Match 412"
    case .write: "ETag; If-Match and If-None-Match: * answer 412"
    case .conflict: "ETag; If-Match and If-None-Match: * answer 409 with the stored value"
    }
  }
}
