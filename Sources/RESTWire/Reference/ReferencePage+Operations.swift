import Declarations
import HTTP
import JSON
import Runtime
import WireKit

/// The chapters of routes.
extension ReferencePage {
  init(_ chapter: Chapter, _ examples: RouteExamples, _ audience: ReferenceAudience) {
    self.init(slug: Self.slug(chapter.title), title: chapter.title, summary: chapter.says)
    var example = Markup()
    if let text = chapter.example { example.add("Shell", example: text, isRun: true) }
    if let text = chapter.exampleOfPrograms {
      example.add("Shell, as an API client", example: text, isRun: true)
    }
    self.example = example.html
    sections = chapter.operations.map { operation in
      let route = operation.route
      let problems = operation.problems.filter { !$0.isCommon }.map(\.code)
      return ReferenceSection(
        id: operation.id,
        title: route.summary,
        tag: route.access.isOfClients ? "API client" : nil,
        detail: route.name,
        isRoute: true,
        words: ([route.name, EverydayWords.all[route.name] ?? ""] + problems)
          .joined(separator: " "),
        prose: operation.prose(audience),
        example: examples.markup(of: operation)
      )
    }
  }
}

extension Operation {
  /// Returns the description: access, parameters, responses and errors.
  fileprivate func prose(_ audience: ReferenceAudience) -> String {
    let types = TypeMarkup(audience)
    var markup = Markup()
    let method = route.method.rawValue
    markup.add("<p class=\"route\"><b class=\"\(method.lowercased())\">\(method)</b> ")
    markup.add("<code>", text: route.pattern, "</code></p>")
    markup.add("<p>", prose: route.access.sentence, "</p>")
    addParameters(types, &markup)
    addBody(types, &markup)
    markup.add("<h3>Responses</h3><ul class=\"members\">")
    for answer in gives { add(answer, types, &markup) }
    markup.add("</ul>")
    addErrors(&markup)
    return markup.html
  }

  private func addParameters(_ types: TypeMarkup, _ markup: inout Markup) {
    let captured = parameters.map { ($0, Shape.parameter($0)) }
    if !captured.isEmpty {
      markup.add("<h3>Path</h3><ul class=\"members\">")
      for (name, shape) in captured { types.add(name, shape.reference, "required", &markup) }
      markup.add("</ul>")
    }
    if !takes.query.isEmpty {
      markup.add("<h3>Query</h3><ul class=\"members\">")
      for parameter in takes.query {
        let shape = parameter.shape.reference
        types.add(parameter.name, shape, "", meaning: parameter.says, &markup)
      }
      markup.add("</ul>")
    }
    let fields = requestFields.map { "<code>\($0.text)</code>" }
    guard !fields.isEmpty else { return }
    markup.add("<h3>Header fields</h3><p>\(fields.joined(separator: ", ")).")
    if let words = versions.says { markup.add(" ", prose: words, "") }
    markup.add("</p>")
  }

  private func addBody(_ types: TypeMarkup, _ markup: inout Markup) {
    guard route.body != .none else { return }
    markup.add("<h3>Body</h3><p>")
    if let shape = takes.shape { markup.add("\(types.text(of: shape.reference)), ") }
    let names = route.body.mediaTypes.map { "<code>\($0.rawValue)</code>" }
    markup.add("at most \(Self.grouped(route.body.limit)) bytes of ")
    markup.add("\(names.joined(separator: " or ")).</p>")
    if let shape = takes.shape { types.addMembers(of: shape, &markup) }
  }

  /// Returns the digits of a number in groups of three.
  private static func grouped(_ number: Int) -> String {
    let digits = String(number)
    return digits.indices.reduce(into: "") { text, index in
      let rest = digits.distance(from: index, to: digits.endIndex)
      if rest.isMultiple(of: 3), index != digits.startIndex { text += "," }
      text.append(digits[index])
    }
  }

  private func add(_ answer: Answer, _ types: TypeMarkup, _ markup: inout Markup) {
    markup.add("<li><code class=\"name\">\(answer.status.code)</code> <span class=\"kind\">")
    markup.add(answer.shape.map { types.text(of: $0.reference) } ?? answer.status.reason)
    markup.add("</span>")
    let fields = OpenAPI.fields(of: self, answer).map { "`\($0.text)`" }
    let with = fields.isEmpty ? "" : " With \(fields.joined(separator: ", "))."
    let words = answer.says + with
    if !words.isEmpty { markup.add("<p>", prose: words, "</p>") }
    markup.add("</li>")
  }

  private func addErrors(_ markup: inout Markup) {
    let own = problems.filter { !$0.isCommon }
    guard !own.isEmpty else { return }
    markup.add("<h3>Errors</h3><ul class=\"members errors\">")
    let problems = Dictionary(grouping: own, by: \.status.code)
    for (code, types) in problems.sorted(by: { $0.key < $1.key }) {
      let links = types.map { "<a href=\"/problems/\($0.code)\"><code>\($0.code)</code></a>" }
      markup.add("<li><code class=\"name\">\(code)</code> \(links.joined(separator: ", "))</li>")
    }
    markup.add("</ul>")
  }

  /// The header fields of the route, without those of every route.
  private var requestFields: [FieldName] {
    let device: [FieldName] = route.access == .open && route.body != .none ? [.device] : []
    let proof: [FieldName] =
      switch route.access {
      case .open, .loopback: []
      case .device: [.device]
      default: [.authorization]
      }
    let conditions: [FieldName] =
      switch versions {
      case .none, .tagged: []
      case .read, .write, .conflict: [.ifMatch, .ifNoneMatch]
      }
    let once: [FieldName] = route.keepsAnswers ? [.idempotencyKey] : []
    return proof + device + (route.body == .none ? [] : [.contentType]) + conditions + once
  }
}

extension Access {
  fileprivate var isOfClients: Bool { if case .client = self { true } else { false } }

  /// The callers that may use the route.
  fileprivate var sentence: String {
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
  fileprivate var says: String? {
    switch self {
    case .none, .tagged: nil
    case .read: "A failed `If-None-Match` answers 304, a failed `If-Match` 412."
    case .write: "A failed `If-Match` or `If-None-Match: *` answers 412."
    case .conflict:
      "A failed `If-Match` or `If-None-Match: *` answers 409 with the stored value."
    }
  }
}
