import Runtime
import HTTP
import JSON
import Encoding
import WireKit

/// The reference for people, a page without external resources.
///
/// It works without its script, which filters the list of routes.
struct ReferencePage {
  private(set) var html = ""
  let values: ExampleValues

  static func text(
    of chapters: [Chapter],
    _ catalog: SettingsCatalog,
    isForUsers: Bool = false
  ) -> String {
    let shapes = OpenAPI.shapes(of: chapters, catalog)
    var page = ReferencePage(values: ExampleValues(shapes))
    page.add(head("Dossier: reference"))
    page.addContents(of: chapters, shapes, isForUsers: isForUsers)
    page.add("<main>\(introduction)")
    for chapter in chapters { page.add(chapter) }
    page.add("<h2 id=\"shapes\">Shapes</h2>")
    for shape in shapes { page.add(shape) }
    page.addOperators()
    page.addProblems()
    page.add("</main><script>\(script)</script></body></html>\n")
    return page.html
  }

  /// Returns the page of a kind of problem.
  static func text(of type: ErrorType, in chapters: [Chapter]) -> String {
    var page = ReferencePage(values: ExampleValues([]))
    page.add(head("Dossier: \(type.code)"))
    page.add("<main><p><a href=\"/reference#problems\">All problems</a></p>")
    page.add("<h1><code>\(type.code)</code></h1><dl><dt>Status</dt>")
    page.add("<dd>\(type.status.code) \(type.status.reason)</dd>")
    page.add("<dt>Cause</dt><dd>", text: type.title, "</dd>")
    page.add("<dt>Remedy</dt><dd>", text: type.remedy, "</dd><dt>Routes</dt><dd>")
    if type.isCommon {
      page.add("Every route may return it.")
    } else {
      let routes = chapters.flatMap(\.operations).filter { $0.problems.contains(type) }
      let links = routes.map { operation in
        "<a href=\"/reference#\(operation.id)\">\(escaped(operation.route.name))</a>"
      }
      page.add(links.joined(separator: "<br>"))
    }
    page.add("</dd></dl></main></body></html>\n")
    return page.html
  }

  private init(values: ExampleValues) { self.values = values }

  mutating func add(_ markup: String) { html += markup }

  /// Appends markup, an escaped text, and markup.
  mutating func add(_ before: String, text: String, _ after: String) {
    html += before + Self.escaped(text) + after
  }

  /// Returns the text as HTML, without the backticks that mark code.
  static func escaped(_ text: String) -> String {
    HTML.escaped(text.filter { $0 != "`" })
  }

  static func anchor(_ title: String) -> String {
    title.lowercased().split(separator: " ").joined(separator: "-")
  }

  private mutating func add(_ chapter: Chapter) {
    add("<h2 id=\"\(Self.anchor(chapter.title))\">", text: chapter.title, "</h2>")
    add("<p>", text: chapter.says, "</p>")
    for example in [chapter.example, chapter.exampleOfPrograms].compactMap(\.self) {
      add("<pre class=\"example\">", text: example, "</pre>")
    }
    for operation in chapter.operations { add(operation) }
  }

  // MARK: Shapes

  private mutating func add(_ shape: Shape) {
    guard let name = shape.name else { return }
    add("<section id=\"\(name)\"><h3>\(name)</h3>")
    add("<p>", text: shape.schema["description"]?.string ?? "", "</p>")
    if let members = shape.schema["properties"]?.object {
      let required = shape.schema["required"]?.array ?? []
      add("<table><tr><th>member</th><th>value</th><th>meaning</th></tr>")
      for (member, schema) in members {
        let mark = required.contains(.string(member)) ? "" : " <i>optional</i>"
        add("<tr><td><code>", text: member, "</code></td><td>\(Self.link(schema))\(mark)</td>")
        add("<td>", text: schema["description"]?.string ?? "", "</td></tr>")
      }
      add("</table>")
    } else {
      add("<p>\(Self.link(.object(shape.schema)))</p>")
    }
    add("</section>")
  }

  /// Returns a short description of a schema.
  static func link(_ schema: JSON) -> String {
    if let name = schema["$ref"]?.string?.split(separator: "/").last {
      return "<a href=\"#\(name)\">\(name)</a>"
    }
    if let choices = schema["oneOf"]?.array ?? schema["anyOf"]?.array {
      return choices.map(link).joined(separator: " or ")
    }
    if let value = schema["const"] { return "<code>\(escaped(value.text))</code>" }
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
    add(
      "<h2 id=\"problems\">Problems</h2><table><tr><th>code</th><th>status</th><th>meaning</th></tr>"
    )
    for type in ErrorType.all {
      let name = type.code
      add("<tr id=\"\(name)\"><td><a href=\"/problems/\(name)\"><code>\(name)</code></a></td>")
      let note = type.isCommon ? " On any route." : ""
      add("<td class=\"number\">\(type.status.code)</td>")
      add("<td>", text: type.title + note, "</td></tr>")
    }
    add("</table>")
  }

  private static let introduction = """
    <p>Bodies are strict JSON (RFC 8259) in UTF-8. A member that the reference does not list is
    refused. Ids are 24 hexadecimal digits, and times are RFC 3339.</p>
    <ul><li>Users send <code>Authorization: Bearer</code> with their access token, API clients with
    their secret. A device sends its secret in <code>Dossier-Device</code>. <code>Dossier-App</code>
    selects the app, if the host name does not.</li>
    <li>An <code>ETag</code> is the version of a resource. Send it back in <code>If-Match</code>, and a
    write fails if another client has changed the resource. <code>If-None-Match: *</code> on a write
    requires an absent resource. Metadata and app metadata always exist: before their first write
    they are <code>{}</code> in version 0. That version counts as absent for <code>If-None-Match: *</code> on a
    write, and as present for <code>If-Match: *</code> and for reads. Every route evaluates
    preconditions. A resource without an <code>ETag</code> matches no entity tag.</li>
    <li>The <code>Link</code> of a page leads to the next one.</li>
    <li>An error is a <a href="#Problem">Problem</a> with a stable <code>code</code>. Errors that every
    route may return are only in <a href="#problems">the table at the end</a>. With
    <code>Retry-After</code>, repeat the request later.</li></ul>
    <p>The examples are for a shell, where <code>$B</code> is the URL of the server, and for web pages.
    There <code>dossier</code> is this server's client, which stores and refreshes the tokens.
    <a href="/dossier.d.ts">dossier.d.ts</a> documents its members:</p>
    <pre>import { Dossier } from "https://users.example.com/dossier.js";
    const dossier = new Dossier("https://users.example.com");</pre>

    """
}
