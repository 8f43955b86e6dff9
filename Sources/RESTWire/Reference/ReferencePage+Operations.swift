import Runtime
import HTTP
import JSON
import WireKit

extension ReferencePage {
  mutating func add(_ operation: Operation) {
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
    let fields = operation.requestFields.map { "<code>\($0.text)</code>" }
    if !fields.isEmpty { add("<dt>Sends</dt><dd>\(fields.joined(separator: ", "))</dd>") }
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
      add("", text: answer.says, "")
      let fields = OpenAPI.fields(of: operation, answer).map { "<code>\($0.text)</code>" }
      if !fields.isEmpty { add(" <i>with \(fields.joined(separator: ", "))</i>") }
      add("</dd>")
    }
    let own = operation.problems.filter { !$0.isCommon }
    let problems = Dictionary(grouping: own, by: \.status.code)
    for (code, types) in problems.sorted(by: { $0.key < $1.key }) {
      let links = types.map { "<a href=\"/problems/\($0.code)\">\($0.code)</a>" }
      add("<dt>\(code)</dt><dd>\(links.joined(separator: ", "))</dd>")
    }
    add("</dl><details><summary>Example</summary>")
    add("<pre>", text: curl(operation), "</pre>")
    if let script = script(operation) { add("<pre>", text: script, "</pre>") }
    if let answer = operation.gives.first, let shape = answer.shape {
      let value = values.value(of: shape)
      add("<pre>", text: "\(answer.status.code)\n\(value.lines())", "</pre>")
    }
    add("</details></section>")
  }

  /// Returns the path with example values for its parameters.
  private func path(_ operation: Operation) -> String {
    operation.route.pattern.split(separator: "/", omittingEmptySubsequences: false).map { part in
      guard part.hasPrefix("{") else { return String(part) }
      let name = String(part.dropFirst().dropLast())
      let isKey = operation.route.pattern.contains("/api-keys/")
      let shape = isKey ? Shape.id(Example.apiKey) : Shape.parameter(name)
      return values.value(of: shape).textInPath
    }.joined(separator: "/")
  }

  private func body(_ operation: Operation) -> JSON? {
    guard operation.route.body.mediaTypes.contains(where: { $0.rawValue.hasSuffix("json") }) else {
      return nil
    }
    return operation.takes.map(values.value)
  }

  private func curl(_ operation: Operation) -> String {
    let method = operation.route.method.rawValue
    var lines = ["curl\(method == "GET" ? "" : " -X \(method)") \"$B\(path(operation))\""]
    if let field = operation.route.access.field { lines.append("-H \"\(field)\"") }
    if let type = operation.route.body.mediaTypes.first {
      lines.append("-H 'Content-Type: \(type.rawValue)'")
      lines.append(
        body(operation).map { "-d '\($0.lines(indentedBy: "  "))'" } ?? "--data-binary @picture.jpg"
      )
    }
    return lines.joined(separator: " \\\n  ")
  }

  /// Returns the call with the web client, or nil for a route that no page calls.
  private func script(_ operation: Operation) -> String? {
    let route = operation.route
    if let call = ClientCalls.all[route.name] { return "await dossier.\(call);" }
    guard case .user = route.access else { return nil }
    var options: [String] = []
    if let type = route.body.mediaTypes.first {
      options.append("body: \(body(operation)?.lines(indentedBy: "  ") ?? "file")")
      if body(operation) != nil, type != .json { options.append("type: \"\(type.rawValue)\"") }
    }
    let more = options.isEmpty ? "" : ", {\n  \(options.joined(separator: ",\n  ")),\n}"
    return "await dossier.request(\"\(route.method.rawValue)\", \"\(path(operation))\"\(more));"
  }
}

extension JSON {
  fileprivate var textInPath: String { string ?? text }
}

extension Access {
  /// The header field with the credentials, for a shell.
  fileprivate var field: String? {
    switch self {
    case .open, .loopback: nil
    case .user, .bearer: "Authorization: Bearer $TOKEN"
    case .client, .operator: "Authorization: Bearer $SECRET"
    case .device: "Dossier-Device: $DEVICE"
    case .anyOf(let all): all.first?.field
    }
  }
}

extension Operation {
  /// The header fields of the route, without those of every route.
  fileprivate var requestFields: [FieldName] {
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

extension Versions {
  fileprivate var says: String? {
    switch self {
    case .none, .tagged: nil
    case .read: "If-None-Match answers 304, If-Match 412"
    case .write: "If-Match and If-None-Match: * answer 412"
    case .conflict: "If-Match and If-None-Match: * answer 409 with the stored value"
    }
  }
}
