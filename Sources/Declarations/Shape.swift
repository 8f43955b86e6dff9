package import JSON

/// The JSON Schema of a value in a request or a response.
///
/// - Source: JSON Schema 2020-12, of which OpenAPI 3.1 is a superset.
package struct Shape: Sendable {
  /// The name in the reference, or nil for a shape that is described where it is used.
  package private(set) var name: String?
  package private(set) var schema: JSONObject
  /// The named shapes within this one.
  private var parts: [Shape] = []
  /// The example for one use of this shape, instead of the example of the schema.
  package private(set) var sample: JSON?

  private init(_ schema: JSONObject, parts: [Shape] = []) {
    self.schema = schema
    self.parts = parts
  }

  private init(_ type: String, _ rules: KeyValuePairs<String, JSON> = [:]) {
    schema = JSONObject()
    schema["type"] = .string(type)
    for (name, rule) in rules { schema[name] = rule }
  }

  /// The schema at a place of use: a `$ref` to the name, or the whole schema.
  package var reference: JSON {
    guard let name else { return .object(schema) }
    return ["$ref": .string("#/components/schemas/\(name)")]
  }

  /// The named shapes within this one, and this one if it has a name.
  package var named: [Shape] { parts.flatMap(\.named) + (name == nil ? [] : [self]) }

  /// Whether this shape itself holds values that are sent only once.
  private var isSecret = false

  /// Whether the value may contain tokens of a session or secrets of a second factor.
  package var givesSecrets: Bool { isSecret || parts.contains(where: \.givesSecrets) }

  /// Returns the shape of values that are sent only once: see `Response.sentOnce`.
  package func sentOnce() -> Shape {
    var shape = self
    shape.isSecret = true
    return shape
  }

  private var asPart: [Shape] { name == nil && !isSecret ? parts : [self] }

  // MARK: Values

  package static let any = Shape(JSONObject())
  package static let flag = Shape("boolean")
  package static let text = Shape("string")
  package static let number = Shape("number")
  package static let null = Shape("null")
  package static let time = Shape("string", ["format": "date-time"])
  package static let count = Shape("integer", ["minimum": 0])
  package static let integer = Shape("integer")
  /// A body that is not JSON.
  package static let binary = Shape("string", ["format": "binary"])
  /// An object with any members.
  ///
  /// The name avoids words that languages and client generators reserve.
  package static let object = Shape("object").named("AnyObject", "An object of any members.")

  /// An object with any members, described where it is used.
  package static let members = Shape("object", ["additionalProperties": true])

  /// Returns the shape of an id, which has 24 hexadecimal digits.
  package static func id(_ example: String) -> Shape {
    Shape("string", ["pattern": idPattern]).like(.string(example))
  }

  package static let idPattern: JSON = "^[0-9a-f]{24}$"

  package static func time(_ example: String) -> Shape { time.like(.string(example)) }

  package static func text(_ length: ClosedRange<Int>) -> Shape {
    Shape(
      "string", ["minLength": number(length.lowerBound), "maxLength": number(length.upperBound)]
    )
  }

  package static func text(pattern: String) -> Shape {
    Shape("string", ["pattern": .string(pattern)])
  }

  package static func integer(_ range: ClosedRange<Int>) -> Shape {
    Shape("integer", ["minimum": number(range.lowerBound), "maximum": number(range.upperBound)])
  }

  package static func choice(_ values: [String]) -> Shape {
    Shape("string", ["enum": .array(values.map(JSON.string))])
  }

  /// Returns the shape of one fixed string.
  package static func only(_ value: String) -> Shape { Shape("string", ["const": .string(value)]) }

  // MARK: Compound shapes

  package static func list(of element: Shape, atMost limit: Int? = nil) -> Shape {
    var list = Shape("array", ["items": element.reference])
    if let limit { list.schema["maxItems"] = number(limit) }
    list.parts = element.asPart
    return list
  }

  /// Returns the shape of an object with members of any name.
  ///
  /// - Parameters:
  ///   - value: the shape of each member.
  ///   - pattern: the pattern of the names.
  ///   - limit: the maximum number of members.
  /// - Returns: the shape.
  package static func map(of value: Shape, named pattern: String? = nil, atMost limit: Int? = nil)
    -> Shape
  {
    var map = Shape("object", ["additionalProperties": value.reference])
    if let pattern { map.schema["propertyNames"] = ["pattern": .string(pattern)] }
    if let limit { map.schema["maxProperties"] = number(limit) }
    map.parts = value.asPart
    return map
  }

  /// Returns the shape of a value that has exactly one of these shapes.
  ///
  /// Client generators map `oneOf` to a union, and `anyOf` to an object with all members.
  package static func either(_ shapes: Shape...) -> Shape { either(shapes) }

  package static func either(_ shapes: [Shape]) -> Shape {
    var schema = JSONObject()
    schema["oneOf"] = .array(shapes.map(\.reference))
    return Shape(schema, parts: shapes.flatMap(\.asPart))
  }

  /// Returns the shape of an object with required and optional members.
  package static func object(
    _ members: KeyValuePairs<String, Shape>, optional: KeyValuePairs<String, Shape> = [:]
  ) -> Shape {
    object(members: Array(members), optional: Array(optional))
  }

  /// Returns the shape of an object with computed members.
  package static func object(
    members: [(key: String, value: Shape)] = [], optional: [(key: String, value: Shape)] = [],
    isClosed: Bool = false
  ) -> Shape {
    let all = members + optional
    var properties = JSONObject()
    for (name, shape) in all { properties[name] = shape.described(as: name).reference }
    var object = Shape("object", ["properties": .object(properties)])
    if !members.isEmpty {
      object.schema["required"] = .array(members.map { .string($0.key) })
    }
    if isClosed { object.schema["additionalProperties"] = false }
    object.parts = all.flatMap { $0.value.asPart }
    return object
  }

  /// Returns the shape of a request body, which has no other members.
  package static func body(_ members: KeyValuePairs<String, Shape> = [:]) -> Shape {
    object(members: Array(members), isClosed: true)
  }

  package var isList: Bool { schema["type"] == "array" }

  package var isInteger: Bool { schema["type"] == "integer" }

  /// The shape that also accepts null.
  package var orNull: Shape {
    guard name == nil, let type = schema["type"]?.string else {
      var either = Shape.either(self, .null)
      // Client generators map this `anyOf` to an optional value.
      either.schema["anyOf"] = either.schema["oneOf"]
      either.schema["oneOf"] = nil
      return either
    }
    var shape = self
    shape.schema["type"] = [.string(type), "null"]
    if let values = schema["enum"]?.array { shape.schema["enum"] = .array(values + [.null]) }
    return shape
  }

  package func named(_ name: String, _ description: String) -> Shape {
    var shape = saying(description)
    shape.name = name
    return shape
  }

  /// Returns the shape of a member with what its name usually means, unless it says so itself.
  private func described(as member: String) -> Shape {
    guard name == nil, schema["description"] == nil else { return self }
    return MemberMeanings.all[member].map(saying) ?? self
  }

  package func saying(_ description: String) -> Shape {
    var shape = self
    shape.schema["description"] = .string(description)
    return shape
  }

  /// Returns the shape with an example for every place of use.
  package func like(_ example: JSON) -> Shape {
    var shape = self
    shape.schema["examples"] = [example]
    return shape
  }

  /// Returns the shape with an example for this place of use.
  package func shown(as sample: JSON) -> Shape {
    var shape = self
    shape.sample = sample
    return shape
  }

  private static func number(_ value: Int) -> JSON { .number(JSONNumber(value)) }
}
