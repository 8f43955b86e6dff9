import Declarations
import Runtime
import HTTP
import JSON
import WireKit
import Records

/// The OpenAPI document.
///
/// Repeated parts are components, so the document stays small and a generated client has one type
/// for each. The `x-problems` of an operation lists its own problems. The `x-problems` of the
/// document lists those that follow from access, path and body.
/// - Source: OpenAPI 3.1.1.
enum OpenAPI {
  static func document(of chapters: [Chapter], _ catalog: RecordShape) -> JSON {
    var components = Components()
    // The first pass counts the repeated parts, the second one describes the operations.
    _ = paths(of: chapters, &components)
    components.share()
    let paths = paths(of: chapters, &components)
    return [
      "openapi": "3.1.1",
      "info": [
        "title": "Dossier", "version": "1",
        "description": "The user data of apps. People read /reference.",
      ],
      "servers": [["url": "/"]],
      "tags": .array(
        chapters.map { ["name": .string($0.title), "description": .string($0.says)] }),
      "paths": .object(paths),
      "components": [
        "schemas": .object(schemas(of: chapters, catalog)),
        "responses": .object(components.responses),
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
    of operation: Operation, in chapter: Chapter, _ components: inout Components
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
    if !problems.isEmpty { object["x-problems"] = .array(problems.map { .string($0.code) }) }
    return object
  }

  // MARK: Requests

  private static func parameters(
    of operation: Operation, _ components: inout Components
  ) -> [JSON] {
    var all = operation.parameters.map { name in
      // A parameter of the query may have the same name.
      components.parameter("path_\(name)", "path", name, .parameter(name), isRequired: true)
    }
    for parameter in operation.takes.query {
      // Lists of versions have numeric cursors, other lists have ids.
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
          "known", "header", "If-None-Match",
          tags.saying("versions that the client has; answers 304")
        ),
        components.parameter(
          "expected", "header", "If-Match",
          tags.saying("expected versions; answers 412 for another one")
        ),
      ]
    case .write, .conflict:
      all += [
        components.parameter("changed", "header", "If-Match", tags.saying("expected versions")),
        components.parameter(
          operation.countsAsUnwritten ? "unwritten" : "created", "header", "If-None-Match",
          .text(pattern: #"^\*?$"#).saying(words(of: operation))
        ),
      ]
    }
    if operation.route.keepsAnswers {
      let shape = Shape.text(0...257).saying("equal requests with the same key run once")
      all.append(components.parameter("once", "header", FieldName.idempotencyKey.text, shape))
    }
    if operation.route.access == .open, operation.route.body != .none {
      let shape = Shape.text.saying("the device secret, or cookie")
      all.append(components.parameter("device", "header", FieldName.device.text, shape))
    }
    return all
  }

  /// Returns the description of `*`.
  ///
  /// An unwritten document counts as absent.
  private static func words(of operation: Operation) -> String {
    operation.countsAsUnwritten
      ? "only in version 0, before the first write" : "only if nothing is stored"
  }

  private static func body(of operation: Operation) -> JSONObject? {
    guard operation.route.body != .none else { return nil }
    var content = JSONObject()
    // Generated clients send the first of several types for every file.
    let all = operation.route.body.mediaTypes
    let types = all.filter { $0 == .octets } + all.filter { $0 != .octets }
    let isMerge = types.contains(.mergePatch)
    // A merge patch may be plain JSON, but generators fail on two types of one body.
    for type in types where type != .json || !isMerge {
      // Client generators fail on a list as an alternative to another body.
      content[type.rawValue] =
        type == .jsonPatch
        ? ["x-schema": Shape.jsonPatch.reference]
        : ["schema": (operation.takes.shape ?? .binary).reference]
    }
    var body = JSONObject()
    body["required"] = true
    body["content"] = .object(content)
    body["description"] = .string(
      "At most \(operation.route.body.limit) bytes\(isMerge ? ", also as application/json" : "")."
    )
    return body
  }

  // MARK: Responses

  private static func responses(
    of operation: Operation, _ components: inout Components
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
    // With `default`, a generated client would treat an unreadable success as an error.
    let isRead = operation.gives.allSatisfy { $0.types == [.json] }
    for status in isRead ? ["default"] : ["4XX", "5XX"] {
      responses[status] = Components.reference("Error")
    }
    return responses
  }

  static func fields(of operation: Operation, _ answer: Answer) -> [FieldName] {
    let limits = operation.isGuarded ? limits : []
    guard answer.shape != nil else { return limits }
    let isPage = operation.takes.query.contains { $0.name == QueryParameter.cursor.name }
    let isTagged = operation.versions != .none && operation.route.method != .delete
    return (isTagged ? [.entityTag] : []) + (isPage ? [.link] : []) + limits
  }

  /// The fields of rate limits.
  ///
  /// They are absent if the request failed before its limit was checked.
  static let limits: [FieldName] = [.rateLimit, .rateLimitPolicy]
}
