import Declarations
import Encoding
import JSON

/// Describes schemas as HTML, with links to the chapter of types.
struct TypeMarkup {
  private let audience: ReferenceAudience

  init(_ audience: ReferenceAudience) { self.audience = audience }

  /// Returns a short description of a schema.
  func text(of schema: JSON) -> String {
    if let name = schema["$ref"]?.string?.split(separator: "/").last {
      return "<a href=\"\(audience.link("types", String(name)))\">\(name)</a>"
    }
    if let choices = schema["oneOf"]?.array ?? schema["anyOf"]?.array {
      return choices.map(text).joined(separator: " or ")
    }
    if let value = schema["const"] { return Self.code(value) }
    if let values = schema["enum"]?.array { return values.map(Self.code).joined(separator: " or ") }
    if let members = schema["properties"]?.object {
      let words = members.map { name, value in
        "<code>\(HTML.escaped(name))</code>: \(text(of: value))"
      }
      return "{\(words.joined(separator: ", "))}"
    }
    if let items = schema["items"] { return "list of \(text(of: items))" }
    if let values = schema["additionalProperties"], values.object != nil {
      return "object of \(text(of: values))"
    }
    let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? "any"]
    return types.joined(separator: " or ") + Self.bounds(of: schema)
  }

  /// Appends the members of an object, or nothing for another type.
  func addMembers(of shape: Shape, _ markup: inout Markup) {
    guard let members = shape.schema["properties"]?.object, members.count > 0 else { return }
    let required = shape.schema["required"]?.array ?? []
    markup.add("<ul class=\"members\">")
    for (name, schema) in members {
      add(name, schema, required.contains(.string(name)) ? "required" : "optional", &markup)
    }
    markup.add("</ul>")
  }

  /// Appends one member or parameter.
  ///
  /// - Parameters:
  ///   - name: the name.
  ///   - schema: the schema of the value.
  ///   - need: whether it is required; empty to omit it.
  ///   - meaning: the description, if the schema has none.
  ///   - markup: the markup.
  func add(
    _ name: String, _ schema: JSON, _ need: String, meaning: String? = nil, _ markup: inout Markup
  ) {
    markup.add("<li><code class=\"name\">", text: name, "</code> ")
    markup.add("<span class=\"kind\">\(text(of: schema))</span>")
    if !need.isEmpty { markup.add(" <span class=\"\(need)\">\(need)</span>") }
    if let words = meaning ?? schema["description"]?.string {
      markup.add("<p>", prose: Self.sentence(words), "</p>")
    }
    markup.add("</li>")
  }

  /// Returns the words with a capital letter and a full stop.
  static func sentence(_ words: String) -> String {
    guard let first = words.first, words.last != "." else { return words }
    return first.uppercased() + words.dropFirst() + "."
  }

  private static func code(_ value: JSON) -> String { "<code>\(HTML.escaped(value.text))</code>" }

  private static func bounds(of schema: JSON) -> String {
    if let least = schema["minLength"], let most = schema["maxLength"] {
      return " of \(least.text) to \(most.text) characters"
    }
    if let least = schema["minimum"], let most = schema["maximum"] {
      return " from \(least.text) to \(most.text)"
    }
    if let format = schema["format"]?.string { return " (\(format))" }
    if schema["pattern"] == Shape.idPattern { return " (id)" }
    if let pattern = schema["pattern"]?.string {
      return " as <code>\(HTML.escaped(pattern))</code>"
    }
    return ""
  }
}
