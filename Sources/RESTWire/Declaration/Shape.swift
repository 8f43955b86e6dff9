import JSON

/// What a JSON value of the API looks like, as a JSON Schema.
///
/// - Source: JSON Schema 2020-12, of which OpenAPI 3.1 is a superset.
struct Shape: Sendable {
  /// Under which the reference explains it; nil for one that is explained where it is.
  private(set) var name: String?
  private(set) var schema: JSONObject
  /// Shapes with a name that are within this one.
  private var parts: [Shape] = []
  /// The example that the reference shows for a use of this shape, in place of its schema's.
  private(set) var sample: JSON?

  private init(_ schema: JSONObject, parts: [Shape] = []) {
    self.schema = schema
    self.parts = parts
  }

  private init(_ type: String, _ rules: KeyValuePairs<String, JSON> = [:]) {
    schema = JSONObject()
    schema["type"] = .string(type)
    for (name, rule) in rules { schema[name] = rule }
  }

  /// The schema where it is used: its name, if it has one.
  var reference: JSON {
    guard let name else { return .object(schema) }
    return ["$ref": .string("#/components/schemas/\(name)")]
  }

  /// All shapes with a name that this one consists of, itself among them.
  var named: [Shape] { parts.flatMap(\.named) + (name == nil ? [] : [self]) }

  /// Whether it has, or may have, tokens of a new session, or secrets of a second factor.
  var givesSecrets: Bool { named.contains { $0.name.map(Self.secrets.contains) == true } }

  private static let secrets: Set<String> = ["Tokens", "Enrollment", "RecoveryCodes"]

  private var asPart: [Shape] { name == nil ? parts : [self] }

  // MARK: Values

  static let any = Shape(JSONObject())
  static let flag = Shape("boolean")
  static let text = Shape("string")
  static let number = Shape("number")
  static let null = Shape("null")
  static let time = Shape("string", ["format": "date-time"])
  static let count = Shape("integer", ["minimum": 0])
  static let integer = Shape("integer")
  /// Bytes of another media type than JSON.
  static let binary = Shape("string", ["format": "binary"])
  /// An object that nobody here looks into.
  ///
  /// No name here is one that languages or generators of clients have for something else.
  static let object = Shape("object").named("AnyObject", "An object of any members.")

  /// The same without a name, to be described where it is used.
  static let members = Shape("object", ["additionalProperties": true])

  /// 24 hexadecimal digits.
  static func id(_ example: String) -> Shape {
    Shape("string", ["pattern": "^[0-9a-f]{24}$"]).like(.string(example))
  }

  static func time(_ example: String) -> Shape { time.like(.string(example)) }

  static func text(_ length: ClosedRange<Int>) -> Shape {
    Shape(
      "string",
      ["minLength": number(length.lowerBound), "maxLength": number(length.upperBound)]
    )
  }

  static func text(pattern: String) -> Shape { Shape("string", ["pattern": .string(pattern)]) }

  static func integer(_ range: ClosedRange<Int>) -> Shape {
    Shape("integer", ["minimum": number(range.lowerBound), "maximum": number(range.upperBound)])
  }

  static func choice(_ values: [String]) -> Shape {
    Shape("string", ["enum": .array(values.map(JSON.string))])
  }

  /// One string.
  static func only(_ value: String) -> Shape { Shape("string", ["const": .string(value)]) }

  // MARK: Made of others

  static func list(of element: Shape, atMost limit: Int? = nil) -> Shape {
    var list = Shape("array", ["items": element.reference])
    if let limit { list.schema["maxItems"] = number(limit) }
    list.parts = element.asPart
    return list
  }

  /// An object whose members have names that are not known beforehand.
  ///
  /// - Parameters:
  ///   - value: of each.
  ///   - pattern: of the names.
  ///   - limit: how many there may be.
  /// - Returns: the shape.
  static func map(of value: Shape, named pattern: String? = nil, atMost limit: Int? = nil) -> Shape
  {
    var map = Shape("object", ["additionalProperties": value.reference])
    if let pattern { map.schema["propertyNames"] = ["pattern": .string(pattern)] }
    if let limit { map.schema["maxProperties"] = number(limit) }
    map.parts = value.asPart
    return map
  }

  /// A value of one of these shapes, of which no two have a value in common.
  ///
  /// Generators of clients make a union of `oneOf`, and one object with the members of all of `anyOf`.
  static func either(_ shapes: Shape...) -> Shape { either(shapes) }

  static func either(_ shapes: [Shape]) -> Shape {
    var schema = JSONObject()
    schema["oneOf"] = .array(shapes.map(\.reference))
    return Shape(schema, parts: shapes.flatMap(\.asPart))
  }

  /// An object with these members, of which some may be left out.
  static func object(
    _ members: KeyValuePairs<String, Shape>,
    optional: KeyValuePairs<String, Shape> = [:]
  ) -> Shape {
    object(members: Array(members), optional: Array(optional))
  }

  /// As `object`, of members that are made of something else.
  static func object(
    members: [(key: String, value: Shape)] = [],
    optional: [(key: String, value: Shape)] = [],
    isClosed: Bool = false
  ) -> Shape {
    let all = members + optional
    var properties = JSONObject()
    for (name, shape) in all { properties[name] = shape.reference }
    var object = Shape("object", ["properties": .object(properties)])
    if !members.isEmpty {
      object.schema["required"] = .array(members.map { .string($0.key) })
    }
    if isClosed { object.schema["additionalProperties"] = false }
    object.parts = all.flatMap { $0.value.asPart }
    return object
  }

  /// The body of a request: the API refuses members that it does not know.
  static func body(
    _ members: KeyValuePairs<String, Shape> = [:],
    optional: KeyValuePairs<String, Shape> = [:]
  ) -> Shape {
    object(members: Array(members), optional: Array(optional), isClosed: true)
  }

  var isInteger: Bool { schema["type"] == "integer" }

  /// Also null.
  var orNull: Shape {
    guard name == nil, let type = schema["type"]?.string else {
      var either = Shape.either(self, .null)
      // Of this, the generators make the type of the shape that may be missing.
      either.schema["anyOf"] = either.schema["oneOf"]
      either.schema["oneOf"] = nil
      return either
    }
    var shape = self
    shape.schema["type"] = [.string(type), "null"]
    if let values = schema["enum"]?.array { shape.schema["enum"] = .array(values + [.null]) }
    return shape
  }

  func named(_ name: String, _ description: String) -> Shape {
    var shape = saying(description)
    shape.name = name
    return shape
  }

  func saying(_ description: String) -> Shape {
    var shape = self
    shape.schema["description"] = .string(description)
    return shape
  }

  /// With a value that the reference shows wherever the shape is used.
  func like(_ example: JSON) -> Shape {
    var shape = self
    shape.schema["examples"] = [example]
    return shape
  }

  /// With a value that the reference shows where this shape is used.
  func shown(as sample: JSON) -> Shape {
    var shape = self
    shape.sample = sample
    return shape
  }

  private static func number(_ value: Int) -> JSON { .number(JSONNumber(value)) }
}
