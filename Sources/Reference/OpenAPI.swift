import Declarations
import HTTP
import JSON
import Records
import Runtime
import WireKit

/// The OpenAPI document.
///
/// Repeated parts are components, so the document stays small and a generated client has one type
/// for each. The `x-problems` of an operation lists its own problems. The `x-problems` of the
/// document lists those that follow from access, path and body.
/// - Source: OpenAPI 3.1.1.
struct OpenAPI {
  private var parameters = JSONObject()
  private var responses = Self.refusals
  private var bodies = JSONObject()
  /// The number of occurrences of each response and body, and whether they are still counted.
  private var counts: [[UInt8]: Int] = [:]
  private var isCounting = true
  /// The names of the responses and bodies that occur more than once.
  private var names: [[UInt8]: String] = [:]

  /// Returns the document.
  ///
  /// - Parameters:
  ///   - chapters: the routes.
  ///   - shapes: the named shapes.
  ///   - errors: the types of error.
  ///   - endpoints: the endpoints of OpenID Connect.
  /// - Returns: the document.
  static func document(
    of chapters: [Chapter], _ shapes: [Shape], _ errors: [ErrorType], _ endpoints: [OpenIDEndpoint]
  ) -> JSON {
    var parts = OpenAPI()
    // The first pass counts the repeated parts, the second one describes the operations.
    _ = parts.paths(of: chapters)
    parts.isCounting = false
    var paths = parts.paths(of: chapters)
    for endpoint in endpoints {
      paths[endpoint.path] = .object(
        JSONObject([(endpoint.method.rawValue.lowercased(), endpoint.object)]))
    }
    var tags = chapters.map { (name: $0.title, says: $0.says) }
    if !endpoints.isEmpty { tags.append((OpenIDEndpoint.title, OpenIDEndpoint.summary)) }
    let schemas = shapes.compactMap { shape in shape.name.map { ($0, JSON.object(shape.schema)) } }
    return [
      "openapi": "3.1.1",
      "info": [
        "title": "Dossier", "version": "1",
        "description": "The user data of apps. People read /reference.",
      ],
      "servers": [["url": "/"]],
      "tags": .array(
        tags.map { ["name": .string($0.name), "description": .string($0.says)] }),
      "paths": .object(paths),
      "components": [
        "schemas": .object(JSONObject(schemas)), "responses": .object(parts.responses),
        "requestBodies": .object(parts.bodies), "parameters": .object(parts.parameters),
        "securitySchemes": securitySchemes,
      ],
      "x-problems": problems(errors),
    ]
  }

  /// Returns all named shapes, each once.
  static func shapes(
    of chapters: [Chapter], _ endpoints: [OpenIDEndpoint], _ catalog: RecordShape
  ) -> [Shape] {
    let used = chapters.flatMap(\.operations).flatMap { operation in
      [operation.takes.shape].compactMap(\.self) + operation.gives.compactMap(\.shape)
        + operation.takes.query.map(\.shape) + operation.parameters.map(Shape.parameter)
    }
    var known: [String: Shape] = [:]
    let others = endpoints.isEmpty ? [] : OpenIDEndpoint.shapes
    for shape in (used + others + [.jsonPatch, .problem]).flatMap(\.named) {
      if let name = shape.name { known[name] = shape }
    }
    let settings = Shape.settings(catalog)
    if let name = settings.name, known[name] != nil { known[name] = settings }
    return known.sorted { $0.key < $1.key }.map(\.value)
  }

  private mutating func paths(of chapters: [Chapter]) -> JSONObject {
    var paths = JSONObject()
    for chapter in chapters {
      for operation in chapter.operations {
        var path = paths[operation.route.pattern]?.object ?? JSONObject()
        path[operation.route.method.rawValue.lowercased()] = object(of: operation, in: chapter)
        paths[operation.route.pattern] = .object(path)
      }
    }
    return paths
  }

  private mutating func object(of operation: Operation, in chapter: Chapter) -> JSON {
    let parameters = parameters(of: operation)
    let problems = operation.ownProblems.map { JSON.string($0.code) }
    return Self.object([
      "operationId": .string(operation.id), "summary": .string(operation.route.summary),
      "description": .string(operation.conditions),
      "tags": [.string(chapter.title)], "security": .array(operation.route.access.requirements),
      "parameters": parameters.isEmpty ? nil : .array(parameters),
      "requestBody": body(of: operation), "responses": responses(of: operation),
      "x-problems": problems.isEmpty ? nil : .array(problems),
    ])
  }

  /// Returns an object with the members that are not nil.
  private static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(JSONObject(members.compactMap { name, value in value.map { (name, $0) } }))
  }

  // MARK: Components

  private mutating func parameter(
    _ name: String, _ place: String, _ field: String, _ shape: Shape, _ says: String,
    isRequired: Bool = false
  ) -> JSON {
    let parameter = Self.object([
      "name": .string(field), "in": .string(place), "description": .string(says.sentence),
      "schema": shape.reference,
      "required": isRequired ? true : nil,
    ])
    // Another operation may have a parameter of the same name with another meaning.
    if let known = parameters[name], known != parameter { return parameter }
    parameters[name] = parameter
    return ["$ref": .string("#/components/parameters/\(name)")]
  }

  /// Returns a part, or a reference to its component if the document repeats it.
  private mutating func shared(
    _ part: JSON, in all: WritableKeyPath<OpenAPI, JSONObject>, _ place: String, named base: String
  ) -> JSON {
    let bytes = part.serialized()
    if isCounting { counts[bytes, default: 0] += 1 }
    guard !isCounting, counts[bytes] != 1 else { return part }
    var name = names[bytes] ?? base
    var count = 1
    while names[bytes] == nil, self[keyPath: all][name] != nil {
      count += 1
      name = "\(base)\(count)"
    }
    names[bytes] = name
    self[keyPath: all][name] = part
    return ["$ref": .string("#/components/\(place)/\(name)")]
  }

  // MARK: Requests

  private mutating func parameters(of operation: Operation) -> [JSON] {
    var all = operation.parameters.map { name in
      // A parameter of the query may have the same name.
      parameter(
        "path_\(name)", "path", name, .parameter(name), Self.meaning(ofPath: name),
        isRequired: true)
    }
    for query in operation.takes.query {
      all.append(
        parameter(query.component, "query", query.name, query.shape, query.says))
    }
    func header(_ name: String, _ field: FieldName, _ shape: Shape, _ says: String) {
      all.append(parameter(name, "header", field.text, shape, says))
    }
    switch operation.versions {
    case .none, .tagged: break
    case .read:
      header("known", .ifNoneMatch, .tags, "versions that the client has; answers 304")
      header("expected", .ifMatch, .tags, "expected versions; answers 412 for another one")
    case .write, .conflict:
      header("changed", .ifMatch, .tags, "expected versions")
      // An unwritten document counts as absent.
      let (name, words) =
        operation.countsAsUnwritten
        ? ("unwritten", "only in version 0, before the first write")
        : ("created", "only if nothing is stored")
      header(name, .ifNoneMatch, .text(pattern: #"^\*?$"#), words)
    }
    if operation.tellsConflicts {
      header(
        "prefer", .prefer, .text, "return=conflict: a 412 has both sides in the member conflict")
    }
    if operation.route.keepsAnswers {
      header("once", .idempotencyKey, .text(0...257), "equal requests with the same key run once")
    }
    if operation.route.access == .open, operation.route.body != .none {
      header("device", .device, .text, "the device secret, or cookie")
    }
    return all
  }

  private mutating func body(of operation: Operation) -> JSON? {
    guard operation.route.body != .none else { return nil }
    // Client generators know one type for each kind of body, and fail on a list beside an object.
    // So `content` has one type, and the description names the others.
    let all = operation.route.body.mediaTypes
    let type = all.first { $0 == .octets || $0 == .mergePatch } ?? all[0]
    let others = all.filter { $0 != type && $0 != .jsonPatch }.map(\.rawValue)
    var says = "At most \(operation.route.body.limit) bytes."
    if !others.isEmpty { says += " Also as \(others.joined(separator: ", "))." }
    var body: JSONObject = JSONObject([
      (
        "content",
        .object(
          JSONObject([
            (type.rawValue, ["schema": (operation.takes.shape ?? .binary).reference])
          ]))
      ), ("required", true),
    ])
    if all.contains(.jsonPatch) {
      says += " Or a JSON Patch, of the type JSONPatch, as \(MediaType.jsonPatch.rawValue)."
      body["x-json-patch"] = Shape.jsonPatch.reference
    }
    body["description"] = .string(says)
    return shared(
      .object(body),
      in: \.bodies, "requestBodies", named: operation.takes.shape?.name ?? "Picture"
    )
  }

  // MARK: Responses

  private mutating func responses(of operation: Operation) -> JSON {
    var all = JSONObject()
    for answer in operation.gives {
      let reason = answer.status.reason
      let headers = Self.headers(answer.fields + Self.fields(of: operation, answer)) { field in
        ![.link, .totalCount].contains(field) && operation.route.method != .post
          || field == .location
      }
      var content: JSONObject?
      if answer.shape != nil || answer.types != [.json] {
        // Client generators know no type of a picture, and read it as bytes of any type.
        let isPicture = answer.types.contains { $0.rawValue.hasPrefix("image/") }
        content = JSONObject(
          (answer.types + (isPicture ? [.octets] : [])).map { type in
            let shape = answer.shape ?? (type == .html ? .text : .binary)
            return (type.rawValue, ["schema": shape.reference])
          })
      }
      let response = Self.object([
        "description": .string(answer.says.isEmpty ? reason : answer.says), "headers": headers,
        "content": content.map(JSON.object),
      ])
      all[String(answer.status.code)] = shared(
        response, in: \.responses, "responses",
        named: (answer.shape?.name ?? "") + reason.filter { $0 != " " }
      )
    }
    if operation.route.method == .get { all["304"] = Self.reference("Unchanged") }
    // With `default`, a generated client would treat an unreadable success as an error.
    let isRead = operation.gives.allSatisfy { $0.types == [.json] }
    for status in isRead ? ["default"] : ["4XX", "5XX"] { all[status] = Self.reference("Error") }
    return .object(all)
  }

  private static func reference(_ response: String) -> JSON {
    ["$ref": .string("#/components/responses/\(response)")]
  }

  /// Returns the headers of a response, or nil without any.
  private static func headers(_ fields: [FieldName], areSure: (FieldName) -> Bool) -> JSON? {
    let headers = fields.map { field in
      let header = object([
        "description": meanings[field.text].map { .string($0.sentence) },
        "schema": ["type": "string"], "required": areSure(field) ? true : nil,
      ])
      return (field.text, header)
    }
    return headers.isEmpty ? nil : .object(JSONObject(headers))
  }

  /// The meanings of header fields of responses.
  private static let meanings = [
    FieldName.entityTag.text: "the version of the resource, for If-Match",
    FieldName.link.text: "the next page of the list; absent for the last one",
    FieldName.location.text: "the path of what was created",
    FieldName.rateLimit.text: "how many requests are left, and when the limit is reset",
    FieldName.rateLimitPolicy.text: "the limits that apply",
    FieldName.retryAfter.text: "the seconds after which the request may succeed",
  ]

  /// Returns the meaning of a path parameter.
  private static func meaning(ofPath name: String) -> String {
    switch name {
    case "key": "the key of the property, or the id of the signing key"
    case "picture": "the name of the picture, from the profile"
    case "app", "issuer": "the name of the \(name)"
    case "kind": "the kind of document"
    case "version": "the number of the version"
    case "chapter": "the name of the chapter"
    case "file": "the name of the file"
    case "code": "the code of the error"
    case "identity": "the id of the identity or the API key"
    case "resource_server": "the id of the API"
    default: "the id of the \(name)"
    }
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
  private static let limits: [FieldName] = [.rateLimit, .rateLimitPolicy]

  /// The responses that every operation may return.
  private static var refusals: JSONObject {
    let content: JSON = ["application/problem+json": ["schema": Shape.problem.reference]]
    return JSONObject([
      ("Unchanged", ["description": "The client has the current version."]),
      (
        "Error",
        object([
          "description":
            "The request failed. Retry-After announces that a repetition may succeed.",
          "headers": headers([.retryAfter] + limits) { _ in false }, "content": content,
        ])
      ),
    ])
  }

  /// All problems with their status, and the groups of problems that operations do not list.
  private static func problems(_ errors: [ErrorType]) -> JSON {
    func codes(_ types: [ErrorType]) -> JSON { .array(types.map { .string($0.code) }) }
    let statuses = errors.map { ($0.code, JSON.number(JSONNumber($0.status.code))) }
    return [
      "statuses": .object(JSONObject(statuses)),
      "everywhere": codes(ErrorType.everywhere),
      "withBody": codes(ErrorType.body),
      "withJSON": codes(ErrorType.json + ErrorType.types(.invalid)),
      "withPath": codes(ErrorType.path),
      "ofPOST": codes(ErrorType.post),
      "bySecurity": [
        "user": codes(Access.userProblems), "client": codes(Access.clientProblems),
        "operator": codes(Access.clientProblems), "device": codes(Access.deviceProblems),
        "deviceCookie": [],
      ],
    ]
  }

  private static let securitySchemes: JSON = [
    "user": [
      "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
      "description": "The access token of a user.",
    ],
    "client": [
      "type": "http", "scheme": "bearer",
      "description": "The secret of an API client of the app or the operator.",
    ],
    "operator": [
      "type": "http", "scheme": "bearer",
      "description": "The secret of an API client of the operator.",
    ],
    "device": [
      "type": "apiKey", "in": "header", "name": .string(FieldName.device.text),
      "description": "The secret of a device.",
    ],
    "deviceCookie": [
      "type": "apiKey", "in": "cookie", "name": .string("\(DeviceCookie.name)-APP"),
      "description":
        "The device in a browser. APP is the id of the app. Changes require an allowed origin.",
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
    case .bearer(let kind, _): [[kind.name: []]]
    case .anyOf(let all): all.flatMap(\.requirements)
    }
  }
}
