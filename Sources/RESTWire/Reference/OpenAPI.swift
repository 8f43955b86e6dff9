import Dossier
import HTTP
import JSON
import Wiring

/// The reference for programs.
///
/// What many operations have in common is a component that each refers to: a generated client has one
/// type for it, and the document stays small. The kinds of problems of an operation are its
/// `x-problems`, beside those that follow from what it is: `x-problems` of the document has these.
/// - Source: OpenAPI 3.1.1.
enum OpenAPI {
  static func document(of chapters: [Chapter]) -> JSON {
    var components = Components()
    // Once to see what is alike, and once to describe it.
    _ = paths(of: chapters, &components)
    components.share()
    let paths = paths(of: chapters, &components)
    return [
      "openapi": "3.1.1",
      "info": [
        "title": "Dossier", "version": "1",
        "description": "What an app keeps about its users. For people: /reference.",
      ],
      "servers": [["url": "/"]],
      "tags": .array(
        chapters.map { ["name": .string($0.title), "description": .string($0.says)] }
      ),
      "paths": .object(paths),
      "components": [
        "schemas": .object(schemas(of: chapters)), "responses": .object(components.responses),
        "requestBodies": .object(components.bodies), "parameters": .object(components.parameters),
        "securitySchemes": securitySchemes,
      ],
      "x-problems": problems,
    ]
  }

  private static func paths(of chapters: [Chapter], _ components: inout Components) -> JSONObject {
    var paths = JSONObject()
    for chapter in chapters {
      for operation in chapter.operations {
        var path = paths[operation.route.pattern]?.object ?? JSONObject()
        let method = operation.route.method.rawValue.lowercased()
        path[method] = .object(object(of: operation, in: chapter, &components))
        paths[operation.route.pattern] = .object(path)
      }
    }
    return paths
  }

  private static func object(
    of operation: Operation,
    in chapter: Chapter,
    _ components: inout Components
  ) -> JSONObject {
    var object = JSONObject()
    object["operationId"] = .string(operation.id)
    object["summary"] = .string(operation.route.summary)
    object["tags"] = [.string(chapter.title)]
    object["security"] = .array(operation.route.access.requirements)
    let parameters = parameters(of: operation, &components)
    if !parameters.isEmpty { object["parameters"] = .array(parameters) }
    object["requestBody"] = body(of: operation).map { components.body($0, operation) }
    object["responses"] = .object(responses(of: operation, &components))
    let problems = operation.ownProblems
    if !problems.isEmpty { object["x-problems"] = .array(problems.map { .string($0.rawValue) }) }
    return object
  }

  // MARK: What is sent

  private static func parameters(
    of operation: Operation,
    _ components: inout Components
  ) -> [JSON] {
    var all = operation.parameters.map { name in
      components.parameter(name, "path", name, .parameter(name), isRequired: true)
    }
    for parameter in operation.query {
      // Two kinds of lists have cursors of two kinds.
      let name = parameter.shape.isInteger && parameter.name == "cursor" ? "version_" : ""
      let shape = parameter.shape.saying(parameter.says)
      all.append(components.parameter(name + parameter.name, "query", parameter.name, shape))
    }
    let tags = Shape.tags
    switch operation.versions {
    case .none, .tagged: break
    case .read:
      all += [
        components.parameter(
          "known",
          "header",
          "If-None-Match",
          tags.saying("known versions; answers 304")
        ),
        components.parameter(
          "expected",
          "header",
          "If-Match",
          tags.saying("answers 412 for another version")
        ),
      ]
    case .write, .conflict:
      all += [
        components.parameter(
          "changed",
          "header",
          "If-Match",
          tags.saying("versions that may be changed")
        ),
        components.parameter(
          operation.countsAsUnwritten ? "unwritten" : "created",
          "header",
          "If-None-Match",
          .text(pattern: #"^\*?$"#).saying(words(of: operation))
        ),
      ]
    }
    if operation.route.keepsAnswers {
      let shape = Shape.text(0...257).saying("the same for the same request, which is done once")
      all.append(components.parameter("once", "header", FieldName.idempotencyKey.text, shape))
    }
    if operation.route.access == .open, operation.route.body != .none {
      let shape = Shape.text.saying("the secret of the device, or cookie")
      all.append(components.parameter("device", "header", FieldName.device.text, shape))
    }
    return all
  }

  /// What `*` means: something that is there from the start counts as not there until it is written.
  private static func words(of operation: Operation) -> String {
    operation.countsAsUnwritten
      ? "only while nothing was written, in version 0" : "only where nothing is there"
  }

  private static func body(of operation: Operation) -> JSONObject? {
    guard operation.route.body != .none else { return nil }
    var content = JSONObject()
    // Generated clients send the first of several types, for any content of the file.
    let all = operation.route.body.mediaTypes
    let types = all.filter { $0 == .octets } + all.filter { $0 != .octets }
    let isMerge = types.contains(.mergePatch)
    // A merge patch may come as plain JSON; generators fail on two types of one body.
    for type in types where type != .json || !isMerge {
      // Generators of clients fail on a list beside another kind of body.
      content[type.rawValue] =
        type == .jsonPatch
        ? ["x-schema": Shape.jsonPatch.reference]
        : ["schema": (operation.takes ?? .binary).reference]
    }
    var body = JSONObject()
    body["required"] = true
    body["content"] = .object(content)
    body["description"] = .string(
      "At most \(operation.route.body.limit) bytes\(isMerge ? ", also as application/json" : "")."
    )
    return body
  }

  // MARK: What is answered

  private static func responses(
    of operation: Operation,
    _ components: inout Components
  ) -> JSONObject {
    var responses = JSONObject()
    for answer in operation.gives {
      var response = JSONObject()
      response["description"] = .string(answer.says.isEmpty ? answer.status.reason : answer.says)
      let fields = answer.fields + fields(of: operation, answer)
      response["headers"] = Components.headers(fields) { field in
        field != .link && operation.route.method != .post || field == .location
      }
      if answer.shape != nil || answer.types != [.json] {
        var content = JSONObject()
        for type in answer.types {
          let shape = answer.shape ?? (type == .html ? .text : .binary)
          content[type.rawValue] = ["schema": shape.reference]
        }
        response["content"] = .object(content)
      }
      responses[String(answer.status.code)] = components.response(response, answer)
    }
    if operation.route.method == .get { responses["304"] = Components.reference("Unchanged") }
    // A generated client that cannot read what went well would take it for what is left.
    let isRead = operation.gives.allSatisfy { $0.types == [.json] }
    for status in isRead ? ["default"] : ["4XX", "5XX"] {
      responses[status] = Components.reference("Error")
    }
    return responses
  }

  static func fields(of operation: Operation, _ answer: Answer) -> [FieldName] {
    let limits = operation.isGuarded ? limits : []
    guard answer.shape != nil else { return limits }
    let isPage = operation.query.contains { $0.name == QueryParameter.cursor.name }
    let isTagged = operation.versions != .none && operation.route.method != .delete
    return (isTagged ? [.entityTag] : []) + (isPage ? [.link] : []) + limits
  }

  /// What the guards say of themselves; nothing where the request was refused before it met them.
  static let limits: [FieldName] = [.rateLimit, .rateLimitPolicy]
}
