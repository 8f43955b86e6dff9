import Declarations
import HTTP
import JSON
import Pages
import Runtime
import WireKit

/// Makes the pages of a reference: here those of routes and types.
struct PageBuilder: Sendable {
  let subject: Reference.Subject
  let audience: Reference.Audience
  let chapters: [Chapter]
  /// The endpoints of OpenID Connect; none for apps with their own sign-in.
  let endpoints: [OpenIDEndpoint]
  /// All named shapes, each once.
  let shapes: [Shape]
  let examples: RouteExamples

  init(_ subject: Reference.Subject, _ audience: Reference.Audience) {
    let all = subject.chapters
    chapters = audience == .all ? all : all.map(\.ofUsers).filter { !$0.operations.isEmpty }
    endpoints = audience == .all ? OpenIDEndpoint.all : []
    shapes = OpenAPI.shapes(of: chapters, endpoints, subject.settings)
    examples = RouteExamples(shapes)
    (self.subject, self.audience) = (subject, audience)
  }

  /// The pages in their order, each still to be made.
  var pages: [() -> Page] {
    chapters.map { chapter in { page(of: chapter) } }
      + (endpoints.isEmpty ? [] : [{ openID }]) + [{ types }]
      + (audience == .all ? [{ settings }] : []) + [{ operators }, { errors }]
  }

  private func page(of chapter: Chapter) -> Page {
    let examples = [
      chapter.example.map { Markup.figure("Shell", $0, isRun: true) },
      chapter.exampleOfPrograms.map {
        Markup.figure("Shell, as an API client", $0, isRun: true)
      },
    ]
    return Page(
      slug: Page.slug(chapter.title), title: chapter.title, summary: chapter.says,
      examples: examples.compactMap(\.self), sections: chapter.operations.map(section)
    )
  }

  // MARK: Routes

  private func section(of operation: Operation) -> Section {
    let route = operation.route
    let method = route.method.rawValue
    let own = operation.problems.filter { !$0.isCommon }
    let words = [route.name, EverydayWords.all[route.name] ?? ""] + own.map(\.code)
    let path = operation.parameters.map { member($0, Shape.parameter($0).reference, "required") }
    let query = operation.takes.query.map {
      member($0.name, $0.shape.reference, meaning: $0.says)
    }
    let errors = Dictionary(grouping: own, by: \.status.code).sorted { $0.key < $1.key }
    return Section(
      id: operation.id, title: route.summary, tag: route.access.isOfClients ? "API client" : nil,
      detail: route.name, isRoute: true, words: words.joined(separator: " "),
      content: """
        <p class="route"><b class="\(method.lowercased())">\(method)</b> \
        <code>\(route.pattern)</code></p>
        <p>\(prose: route.access.sentence)</p>
        \(list("Path", path))
        \(list("Query", query))
        \(operation.requestFields.map { "<h3>Header fields</h3><p>\(prose: $0)</p>" })
        \(body(of: operation))
        \(list("Responses", operation.gives.map { item(for: $0, of: operation) }))
        \(list("Errors", errors.map(item), style: "members errors"))
        """,
      examples: examples.figures(of: operation)
    )
  }

  func list(_ heading: String, _ items: [Markup], style: String = "members") -> Markup? {
    items.isEmpty ? nil : #"<h3>\#(heading)</h3><ul class="\#(style)">\#(items)</ul>"#
  }

  private func body(of operation: Operation) -> Markup? {
    let rule = operation.route.body
    guard rule != .none else { return nil }
    let shape = operation.takes.shape
    let types = rule.mediaTypes.map { "`\($0.rawValue)`" }.joined(separator: " or ")
    return """
      <h3>Body</h3><p>\(shape.map { "\(notation(of: $0.reference)), " })\
      at most \(Self.grouped(rule.limit)) bytes of \(prose: types).</p>
      \(shape.flatMap(members))
      """
  }

  /// Returns the digits of a number in groups of three.
  private static func grouped(_ number: Int) -> String {
    number < 1_000
      ? String(number) : "\(grouped(number / 1_000)),\(String(number % 1_000 + 1_000).dropFirst())"
  }

  private func item(for answer: Answer, of operation: Operation) -> Markup {
    let fields = OpenAPI.fields(of: operation, answer).map { "`\($0.text)`" }
    let with = fields.isEmpty ? "" : " With \(fields.joined(separator: ", "))."
    let words = answer.says + with
    let kind = answer.shape.map { notation(of: $0.reference) } ?? "\(answer.status.reason)"
    return """
      <li><code class="name">\(answer.status.code)</code> <span class="kind">\(kind)</span>\
      \(if: !words.isEmpty, "<p>\(prose: words)</p>")</li>
      """
  }

  private func item(for status: Int, _ errors: [ErrorType]) -> Markup {
    let links = errors.map { error -> Markup in
      #"<a href="/problems/\#(error.code)"><code>\#(error.code)</code></a>"#
    }
    return #"<li><code class="name">\#(status)</code> \#(links.joined(by: ", "))</li>"#
  }

  // MARK: Types

  private var types: Page {
    Page(
      slug: "types", title: "Types",
      summary: "The JSON values of requests and responses. OpenAPI has the same names.",
      words: "shapes schemas models objects",
      sections: shapes.compactMap { shape in shape.name.map { section(of: shape, $0) } }
    )
  }

  private func section(of shape: Shape, _ name: String) -> Section {
    var schema = shape.schema
    let description = schema["description"]?.string ?? ""
    schema["description"] = nil
    var section = Section(
      id: name, title: name, detail: description, content: .paragraphs(description)
    )
    guard name != Shape.settings.name else {
      section.content = """
        \(section.content)
        <p><a href="\(audience.link("settings"))">The chapter of settings</a> describes each.</p>
        """
      return section
    }
    let members = members(of: shape) ?? #"<p class="kind">\#(notation(of: .object(schema)))</p>"#
    section.content = "\(section.content)\(members)"
    section.words = schema["properties"]?.object?.keys.joined(separator: " ") ?? ""
    let value = examples.value(of: shape)
    if value != .null { section.examples = [.figure(name, value.lines())] }
    return section
  }

  /// Returns the list of an object's members, or nil for another type.
  private func members(of shape: Shape) -> Markup? {
    guard let members = shape.schema["properties"]?.object, members.count > 0 else { return nil }
    let required = shape.schema["required"]?.array ?? []
    let items = members.map { name, schema in
      member(name, schema, required.contains(.string(name)) ? "required" : "optional")
    }
    return #"<ul class="members">\#(items)</ul>"#
  }

  /// Returns a member or a parameter; `meaning` replaces the description of the schema.
  private func member(
    _ name: String, _ schema: JSON, _ need: String? = nil, meaning: String? = nil
  ) -> Markup {
    let words = meaning ?? schema["description"]?.string
    return """
      <li><code class="name">\(name)</code> <span class="kind">\(notation(of: schema))</span>\
      \(need.map { #" <span class="\#($0)">\#($0)</span>"# })\
      \(words.map { "<p>\(prose: $0.sentence)</p>" })</li>
      """
  }

  /// Returns a short description of a schema, with links to the page of types.
  func notation(of schema: JSON) -> Markup {
    if let name = schema["$ref"]?.string?.split(separator: "/").last.map(String.init) {
      return #"<a href="\#(audience.link("types", name))">\#(name)</a>"#
    }
    if let choices = schema["oneOf"]?.array ?? schema["anyOf"]?.array {
      return choices.map(notation).joined(by: " or ")
    }
    if let values = schema["const"].map({ [$0] }) ?? schema["enum"]?.array {
      return values.map { "<code>\($0.text)</code>" as Markup }.joined(by: " or ")
    }
    if let members = schema["properties"]?.object {
      let words = members.map { "<code>\($0)</code>: \(notation(of: $1))" as Markup }
      return "{\(words.joined(by: ", "))}"
    }
    if let items = schema["items"] { return "list of \(notation(of: items))" }
    if let values = schema["additionalProperties"], values.object != nil {
      return "object of \(notation(of: values))"
    }
    let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? "any"]
    return "\(types.joined(separator: " or "))\(Self.bounds(of: schema))"
  }

  private static func bounds(of schema: JSON) -> Markup? {
    if let least = schema["minLength"], let most = schema["maxLength"] {
      return " of \(least.text) to \(most.text) characters"
    }
    if let least = schema["minimum"], let most = schema["maximum"] {
      return " from \(least.text) to \(most.text)"
    }
    if let format = schema["format"]?.string { return " (\(format))" }
    if schema["pattern"] == Shape.idPattern { return " (id)" }
    return schema["pattern"]?.string.map { " as <code>\($0)</code>" }
  }
}

extension Operation {
  /// The callers that may use the route, and its preconditions.
  var conditions: String {
    [route.access.sentence, versions.effect].compactMap(\.self).joined(separator: " ")
  }

  /// The header fields of the route without those of every route, and their effect.
  fileprivate var requestFields: String? {
    let device: [FieldName] = route.access == .open && route.body != .none ? [.device] : []
    let proof: [FieldName] =
      switch route.access {
      case .open, .loopback: []
      case .device: [.device]
      default: [.authorization]
      }
    let effect = versions.effect
    let conditions: [FieldName] = effect == nil ? [] : [.ifMatch, .ifNoneMatch]
    let once: [FieldName] = route.keepsAnswers ? [.idempotencyKey] : []
    let wish: [FieldName] = tellsConflicts ? [.prefer] : []
    let all =
      proof + device + (route.body == .none ? [] : [.contentType]) + conditions + wish + once
    let names = all.map { "`\($0.text)`" }.joined(separator: ", ")
    return all.isEmpty ? nil : "\(names).\(effect.map { " \($0)" } ?? "")"
  }
}

extension Access {
  fileprivate var isOfClients: Bool { if case .client = self { true } else { false } }

  /// The callers that may use the route.
  var sentence: String {
    switch self {
    case .open: "No credentials are needed."
    case .user(let scope, let proof):
      "Users send an access token with the scope `\(scope)`.\(proof.sentence)"
    case .device: "The device sends its secret."
    case .client(let scope): "API clients send their secret. They need the scope `\(scope)`."
    case .operator: "Operators send the secret of a client of the operator."
    case .loopback:
      "Only the machine of the server, and the networks in internal_networks, may use this route."
    case .bearer(let kind, let proof): "The caller sends a \(kind.name).\(proof.sentence)"
    case .anyOf(let all): all.map(\.sentence).joined(separator: " Or: ")
    }
  }
}

extension Access.Proof {
  fileprivate var sentence: String {
    switch self {
    case .session: ""
    case .fresh:
      " They have signed in, or authenticated again, within the last `reauthentication_minutes`."
    case .body: " The body must contain a credential of the user, such as the current password."
    }
  }
}

extension Versions {
  /// The effect of the preconditions that the route evaluates.
  fileprivate var effect: String? {
    switch self {
    case .none, .tagged: nil
    case .read: "A failed `If-None-Match` answers 304, a failed `If-Match` 412."
    case .write: "A failed `If-Match` or `If-None-Match: *` answers 412."
    case .conflict:
      "A failed `If-Match` or `If-None-Match: *` answers 409 with the stored value."
    }
  }
}
