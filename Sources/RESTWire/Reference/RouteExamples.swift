import Declarations
import HTTP
import JSON
import WireKit

/// Makes the examples of routes: the request for a shell and for a page, and the response.
struct RouteExamples {
  let values: ExampleValues

  func markup(of operation: Operation) -> String {
    var markup = Markup()
    markup.add("curl", example: curl(operation))
    if let script = script(operation) { markup.add("JavaScript", example: script) }
    if let answer = operation.gives.first, let shape = answer.shape {
      let status = answer.status
      markup.add(
        "Response \(status.code) \(status.reason)", example: values.value(of: shape).lines()
      )
    }
    return markup.html
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
    return operation.takes.shape.map(values.value)
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
