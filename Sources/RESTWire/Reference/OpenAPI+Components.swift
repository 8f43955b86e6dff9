import Declarations
import Accounts
import Runtime
import HTTP
import JSON
import WireKit
import Records

extension OpenAPI {
  /// The components, collected while the operations are described.
  struct Components {
    private(set) var parameters = JSONObject()
    private(set) var responses: JSONObject = OpenAPI.refusals
    private(set) var bodies = JSONObject()
    /// The number of occurrences of each response and body, or nil after they are counted.
    private var counts: [[UInt8]: Int]? = [:]
    /// The responses and bodies that occur more than once.
    private var shared: Set<[UInt8]> = []
    /// The names of the shared components.
    private var names: [[UInt8]: String] = [:]

    /// Ends the count.
    ///
    /// From here on, repeated responses and bodies become components.
    mutating func share() {
      shared = Set((counts ?? [:]).filter { $0.value > 1 }.keys)
      counts = nil
    }

    static func reference(_ response: String) -> JSON {
      ["$ref": .string("#/components/responses/\(response)")]
    }

    mutating func parameter(
      _ name: String, _ place: String, _ field: String, _ shape: Shape, isRequired: Bool = false
    ) -> JSON {
      var parameter = JSONObject()
      parameter["name"] = .string(field)
      parameter["in"] = .string(place)
      parameter["schema"] = shape.reference
      if isRequired { parameter["required"] = true }
      parameters[name] = .object(parameter)
      return ["$ref": .string("#/components/parameters/\(name)")]
    }

    mutating func response(_ response: JSONObject, _ answer: Answer) -> JSON {
      let name = (answer.shape?.name ?? "") + answer.status.reason.filter { $0 != " " }
      return component(response, \.responses, "responses", named: name)
    }

    mutating func body(_ body: JSONObject, _ operation: Operation) -> JSON {
      component(body, \.bodies, "requestBodies", named: operation.takes.shape?.name ?? "Picture")
    }

    private mutating func component(
      _ object: JSONObject, _ all: WritableKeyPath<Components, JSONObject>, _ place: String,
      named base: String
    ) -> JSON {
      let bytes = object.serialized()
      counts?[bytes, default: 0] += 1
      guard shared.contains(bytes) else { return .object(object) }
      var name = names[bytes] ?? base
      var count = 1
      while names[bytes] == nil, self[keyPath: all][name] != nil {
        count += 1
        name = "\(base)\(count)"
      }
      names[bytes] = name
      self[keyPath: all][name] = .object(object)
      return ["$ref": .string("#/components/\(place)/\(name)")]
    }

    /// Returns the headers of a response, or nil without any.
    static func headers(_ fields: [FieldName], areSure: (FieldName) -> Bool) -> JSON? {
      guard !fields.isEmpty else { return nil }
      var headers = JSONObject()
      for field in fields {
        var header = JSONObject()
        header["schema"] = ["type": "string"]
        if areSure(field) { header["required"] = true }
        headers[field.text] = .object(header)
      }
      return .object(headers)
    }
  }

  /// The responses that every operation may return.
  private static var refusals: JSONObject {
    let content: JSON = ["application/problem+json": ["schema": Shape.problem.reference]]
    var refusals = JSONObject()
    refusals["Unchanged"] = ["description": "The client has the current version."]
    refusals["Error"] = [
      "description": "The request failed. Retry-After announces that a repetition may succeed.",
      "headers": Components.headers([.retryAfter] + limits) { _ in false } ?? [:],
      "content": content,
    ]
    return refusals
  }

  /// All problems with their status, and the groups of problems that operations do not list.
  static var problems: JSON {
    func codes(_ types: [ErrorType]) -> JSON { .array(types.map { .string($0.code) }) }
    var statuses = JSONObject()
    for type in RESTWire.problems {
      statuses[type.code] = .number(JSONNumber(type.status.code))
    }
    return [
      "statuses": .object(statuses),
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

  /// Returns all named shapes, each once.
  static func shapes(of chapters: [Chapter], _ catalog: RecordShape) -> [Shape] {
    let used = chapters.flatMap(\.operations).flatMap { operation in
      [operation.takes.shape].compactMap(\.self) + operation.gives.compactMap(\.shape)
        + operation.takes.query.map(\.shape) + operation.parameters.map(Shape.parameter)
    }
    var known: [String: Shape] = [:]
    for shape in (used + [.jsonPatch, .problem]).flatMap(\.named) {
      if let name = shape.name { known[name] = shape }
    }
    let settings = Shape.settings(catalog)
    if let name = settings.name, known[name] != nil { known[name] = settings }
    return known.sorted { $0.key < $1.key }.map(\.value)
  }

  static func schemas(of chapters: [Chapter], _ catalog: RecordShape) -> JSONObject {
    var schemas = JSONObject()
    for shape in shapes(of: chapters, catalog) {
      guard let name = shape.name else { continue }
      schemas[name] = .object(shape.schema)
    }
    return schemas
  }

  static let securitySchemes: JSON = [
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
  var requirements: [JSON] {
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
