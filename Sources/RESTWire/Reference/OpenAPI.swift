import Dossier
import HTTP
import JSON
import Wiring

/// The reference for programs.
///
/// - Source: OpenAPI 3.1.1.
enum OpenAPI {
  static func document(of chapters: [Chapter]) -> JSON {
    var paths = JSONObject()
    for chapter in chapters {
      for operation in chapter.operations {
        var path = paths[operation.route.pattern]?.object ?? JSONObject()
        let method = operation.route.method.rawValue.lowercased()
        path[method] = .object(object(of: operation, in: chapter))
        paths[operation.route.pattern] = .object(path)
      }
    }
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
        "schemas": .object(schemas(of: chapters)), "securitySchemes": securitySchemes,
      ],
    ]
  }

  private static func object(of operation: Operation, in chapter: Chapter) -> JSONObject {
    var object = JSONObject()
    object["operationId"] = .string(operation.id)
    object["summary"] = .string(operation.route.summary)
    if case .user(_, .fresh) = operation.route.access {
      object["description"] = .string(
        "Asks for a login in this session, or POST \(LoginResource.reauthentication), within the app's "
          + "\(AppSetting.reauthenticationMinutes.rawValue)."
      )
    }
    object["tags"] = [.string(chapter.title)]
    object["security"] = .array(operation.route.access.requirements)
    let parameters = parameters(of: operation)
    if !parameters.isEmpty { object["parameters"] = .array(parameters) }
    object["requestBody"] = body(of: operation)
    object["responses"] = .object(responses(of: operation))
    return object
  }

  // MARK: What is sent

  private static func parameters(of operation: Operation) -> [JSON] {
    var all = operation.parameters.map { name in
      parameter("path", name, .parameter(name), isRequired: true)
    }
    all += operation.query.map { parameter("query", $0.name, $0.shape.saying($0.says)) }
    switch operation.versions {
    case .none, .tagged: break
    case .read:
      all += [
        parameter("header", "If-None-Match", .tags.saying("known versions; answers 304")),
        parameter("header", "If-Match", .tags.saying("answers 412 for another version")),
      ]
    case .write, .conflict:
      all += [
        parameter("header", "If-Match", .tags.saying("versions that may be changed")),
        parameter("header", "If-None-Match", .choice(["*"]).saying(words(of: operation))),
      ]
    }
    if operation.route.access == .open, operation.route.body != .none {
      let words = "the secret of the device, or cookie"
      all.append(parameter("header", FieldName.device.text, .text.saying(words)))
    }
    return all
  }

  /// What `*` means: something that is there from the start counts as not there until it is written.
  private static func words(of operation: Operation) -> String {
    operation.route.pattern.hasSuffix("metadata")
      ? "only while nothing was written, in version 0" : "only where nothing is there"
  }

  private static func parameter(
    _ place: String,
    _ name: String,
    _ shape: Shape,
    isRequired: Bool = false
  ) -> JSON {
    [
      "name": .string(name), "in": .string(place), "required": .bool(isRequired),
      "schema": shape.reference,
    ]
  }

  private static func body(of operation: Operation) -> JSON? {
    guard operation.route.body != .none else { return nil }
    var content = JSONObject()
    for type in operation.route.body.mediaTypes {
      let shape = type == .jsonPatch ? .jsonPatch : operation.takes
      content[type.rawValue] = shape.map { ["schema": $0.reference] } ?? [:]
    }
    return [
      "required": true, "content": .object(content),
      "description": .string("At most \(operation.route.body.limit) bytes."),
    ]
  }

  // MARK: What is answered

  private static func responses(of operation: Operation) -> JSONObject {
    var responses = JSONObject()
    for answer in operation.gives {
      var response = JSONObject()
      response["description"] = .string(answer.says.isEmpty ? answer.status.reason : answer.says)
      let fields = answer.fields + fields(of: operation, answer)
      response["headers"] = headers(fields) { field in
        field != .link && operation.route.method != .post || field == .location
      }
      if answer.shape != nil || answer.types != [.json] {
        var content = JSONObject()
        for type in answer.types {
          content[type.rawValue] = answer.shape.map { ["schema": $0.reference] } ?? [:]
        }
        response["content"] = .object(content)
      }
      responses[String(answer.status.code)] = .object(response)
    }
    if operation.route.method == .get {
      responses["304"] = ["description": "The version is one of those known."]
    }
    let problems = Dictionary(grouping: operation.problems, by: \.status.code)
    for (code, types) in problems.sorted(by: { $0.key < $1.key }) {
      responses[String(code)] = response(types, of: operation)
    }
    return responses
  }

  private static func fields(of operation: Operation, _ answer: Answer) -> [FieldName] {
    let limits = operation.isGuarded ? limits : []
    guard answer.shape != nil else { return limits }
    let isPage = operation.query.contains { $0.name == QueryParameter.cursor.name }
    let isTagged = operation.versions != .none && operation.route.method != .delete
    return (isTagged ? [.entityTag] : []) + (isPage ? [.link] : []) + limits
  }

  /// What the guards say of themselves; nothing where the request was refused before it met them.
  private static let limits: [FieldName] = [.rateLimit, .rateLimitPolicy]

  /// Nil for none.
  private static func headers(_ fields: [FieldName], areSure: (FieldName) -> Bool) -> JSON? {
    guard !fields.isEmpty else { return nil }
    var headers = JSONObject()
    for field in fields {
      headers[field.text] = ["required": .bool(areSure(field)), "schema": ["type": "string"]]
    }
    return .object(headers)
  }

  private static func response(_ types: [ProblemType], of operation: Operation) -> JSON {
    let codes = types.map(\.rawValue)
    let waits: [FieldName] = types.contains { $0.status == .tooManyRequests } ? [.retryAfter] : []
    let fields = waits + (operation.isGuarded ? limits : [])
    var response = JSONObject()
    response["description"] = .string(codes.joined(separator: ", "))
    response["headers"] = headers(fields) { $0 == .retryAfter }
    response["content"] = [
      "application/problem+json": [
        "schema": [
          "allOf": [
            Shape.problem.reference,
            ["properties": ["code": ["enum": .array(codes.map(JSON.string))]]],
          ]
        ]
      ]
    ]
    return .object(response)
  }

  // MARK: Components

  /// Every shape that has a name, by it.
  static func shapes(of chapters: [Chapter]) -> [Shape] {
    let used = chapters.flatMap(\.operations).flatMap { operation in
      [operation.takes].compactMap(\.self) + operation.gives.compactMap(\.shape)
    }
    var known: [String: Shape] = [:]
    for shape in (used + [.jsonPatch, .problem]).flatMap(\.named) {
      if let name = shape.name { known[name] = shape }
    }
    return known.sorted { $0.key < $1.key }.map(\.value)
  }

  private static func schemas(of chapters: [Chapter]) -> JSONObject {
    var schemas = JSONObject()
    for shape in shapes(of: chapters) {
      if let name = shape.name { schemas[name] = .object(shape.schema) }
    }
    return schemas
  }

  private static let securitySchemes: JSON = [
    "user": [
      "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
      "description": "The access token of a user.",
    ],
    "client": [
      "type": "http", "scheme": "bearer",
      "description": "The key of a client of the app, or of the operator's.",
    ],
    "operator": [
      "type": "http", "scheme": "bearer", "description": "The key of a client of the operator's.",
    ],
    "device": [
      "type": "apiKey", "in": "header", "name": .string(FieldName.device.text),
      "description": "The secret of a device.",
    ],
    "deviceCookie": [
      "type": "apiKey", "in": "cookie", "name": .string(DeviceCookie.name),
      "description": "The same in a browser; changes must come from an allowed origin.",
    ],
  ]
}

extension Access {
  fileprivate var requirements: [JSON] {
    switch self {
    case .open, .loopback: []
    case .user(let scope, _): [["user": [.string(scope)]]]
    case .client(let scope): [["client": [.string(scope)]]]
    case .operator: [["operator": []]]
    case .device: [["device": []], ["deviceCookie": []]]
    case .bearer(let kind): [[kind.name: []]]
    case .anyOf(let all): all.flatMap(\.requirements)
    }
  }
}
