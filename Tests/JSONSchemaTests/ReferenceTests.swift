import FoundationEssentials
import JSON
import JSONSchema
import TestSupport
import Testing

/// Compares results with those of python3-jsonschema for the same schemas and values.
@Suite struct ReferenceTests {
  @Test(arguments: [1, 2, 3, UInt64.random(in: 4 ... .max)])
  func `random schemas and values get the results of another implementation`(
    seed: UInt64
  ) async throws {
    var source = CaseSource(seed: seed)
    let cases = (0..<400).map { _ -> (schema: JSON, instances: [JSON]) in
      (source.rootSchema(), (0..<8).map { _ in source.value(3) })
    }
    let lines = cases.map {
      JSON.object(["schema": $0.schema, "instances": .array($0.instances)]).text
    }
    let file = "/tmp/dossier-schemas-\(UInt64.random(in: 0 ... .max))"
    try (lines.joined(separator: "\n") + "\n").write(
      toFile: file, atomically: false, encoding: .utf8
    )
    defer { try? FileManager.default.removeItem(atPath: file) }
    let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/reference.py"
    let program = try TestProgram("/usr/bin/python3", ["-B", script, file])
    let status = await program.end()
    try #require(status == 0, "\(program.errors)")
    var verdicts = program.output.split(separator: "\n")[...]
    let count = verdicts.count
    try #require(count == cases.count * 8)
    var fits = 0
    for (schema, instances) in cases {
      let compiled = try JSONSchema(schema)
      for instance in instances {
        let faults = compiled.faults(in: instance)
        #expect(
          verdicts.popFirst() == (faults.isEmpty ? "fits" : "does not fit"),
          "seed \(seed): \(schema.text) on \(instance.text): \(faults)"
        )
        if faults.isEmpty { fits += 1 }
      }
    }
    // The test is useful only if both results are frequent.
    #expect(fits > count / 10 && fits < count * 9 / 10)
  }
}

extension JSON {
  fileprivate static func object(_ members: KeyValuePairs<String, JSON>) -> JSON {
    .object(members.reduce(into: JSONObject()) { $0[$1.key] = $1.value })
  }
}

/// Makes schemas and values that are similar, so that about half of the values are valid.
private struct CaseSource {
  private var state: UInt64
  /// A reference from here would be a cycle.
  private var isInOne = false
  private static let names = ["a", "b", "c", "ab"]

  init(seed: UInt64) { state = seed }

  /// SplitMix64.
  private mutating func random(below bound: Int) -> Int {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return Int((value ^ (value >> 31)) % UInt64(bound))
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[random(below: elements.count)]
  }

  private mutating func name() -> String { pick(Self.names) }

  private mutating func number() -> JSON {
    .number(JSONNumber(pick(["0", "1", "1.0", "2", "-1", "0.5", "1.50", "1e1", "3", "-0.25"])))
  }

  private mutating func scalar() -> JSON {
    switch random(below: 8) {
    case 0: .null
    case 1: .bool(random(below: 2) == 0)
    case 2, 3, 4: number()
    default: .string(pick(["", "a", "ab", "abc", "b1", "é", "😀😀", "e\u{301}"]))
    }
  }

  mutating func value(_ depth: Int) -> JSON {
    switch depth > 0 ? random(below: 6) : 5 {
    case 0, 1: return .array((0..<random(below: 4)).map { _ in value(depth - 1) })
    case 2, 3:
      return .object(
        (0..<random(below: 4)).reduce(into: JSONObject()) { object, _ in
          object[name()] = value(depth - 1)
        }
      )
    default: return scalar()
    }
  }

  mutating func rootSchema() -> JSON {
    guard var root = schema(3).object else { return true }
    isInOne = true
    let one = schema(2)
    isInOne = false
    root["$defs"] = .object([
      "one": one, "two": ["$anchor": "two", "items": ["$ref": "#/$defs/one"]],
      "three": ["properties": ["a": ["$ref": "#"]], "maxProperties": 3],
    ])
    return .object(root)
  }

  private mutating func schema(_ depth: Int) -> JSON {
    if random(below: 12) == 0 { return .bool(random(below: 3) > 0) }
    var schema = JSONObject()
    for _ in 0...random(below: 3) { add(to: &schema, depth) }
    return .object(schema)
  }

  private mutating func schemas(_ depth: Int) -> JSON {
    .array((0...random(below: 2)).map { _ in schema(depth) })
  }

  private mutating func named(_ depth: Int, _ names: [String] = Self.names) -> JSON {
    .object((0..<2).reduce(into: JSONObject()) { object, _ in object[pick(names)] = schema(depth) })
  }

  private mutating func list() -> JSON {
    .array(Set((0...random(below: 2)).map { _ in name() }).sorted().map(JSON.string))
  }

  private mutating func count() -> JSON { pick([0, 1, 2, 3]) }

  private mutating func add(to schema: inout JSONObject, _ depth: Int) {
    let inner = depth - 1
    switch random(below: depth > 0 ? 37 : 20) {
    case 0, 1:
      schema["type"] = pick([
        "object", "array", "string", "number", "integer", "null", ["object", "array", "string"],
        ["integer", "null", "boolean"],
      ])
    // Python treats false as 0 and true as 1 within lists, so no list contains booleans.
    case 2: schema["enum"] = [scalar(), scalar(), [pick([2, 3])], ["a": pick([2, 3])]]
    case 3: schema["const"] = scalar()
    case 4:
      schema["multipleOf"] = pick([2, 1, .number(JSONNumber("0.5")), .number(JSONNumber("0.1"))])
    case 5: schema["minimum"] = number()
    case 6: schema["exclusiveMinimum"] = number()
    case 7: schema["maximum"] = number()
    case 8: schema["exclusiveMaximum"] = number()
    case 9: schema["minLength"] = count()
    case 10: schema["maxLength"] = count()
    case 11: schema["pattern"] = pick(["a", "^[a-c]+$", "b$", "^.{2}$", "(a|é)"])
    case 12: schema["minItems"] = count()
    case 13: schema["maxItems"] = count()
    case 14: schema["uniqueItems"] = .bool(random(below: 4) > 0)
    case 15: schema["required"] = list()
    case 16: schema["minProperties"] = count()
    case 17: schema["maxProperties"] = count()
    case 18: schema["dependentRequired"] = .object([name(): list()])
    case 19:
      schema["$ref"] =
        depth > 0 && depth < 3 ? isInOne ? "#two" : pick(["#/$defs/one", "#two"]) : nil
    case 20: schema["items"] = self.schema(inner)
    case 21: schema["prefixItems"] = schemas(inner)
    case 22, 23:
      schema["contains"] = self.schema(inner)
      if random(below: 2) == 0 { schema["minContains"] = count() }
      if random(below: 2) == 0 { schema["maxContains"] = count() }
    case 24, 25: schema["properties"] = named(inner)
    case 26: schema["patternProperties"] = named(inner, ["^a", "b$", "c"])
    case 27: schema["additionalProperties"] = self.schema(inner)
    case 28: schema["propertyNames"] = self.schema(inner)
    case 29: schema["dependentSchemas"] = named(inner)
    case 30: schema["allOf"] = schemas(inner)
    case 31: schema["anyOf"] = schemas(inner)
    case 32: schema["oneOf"] = schemas(inner)
    case 33: schema["not"] = self.schema(inner)
    case 34: schema["items"] = ["$ref": "#"]
    case 35: schema["properties"] = ["a": ["$ref": "#/$defs/three"], "b": ["$ref": "#"]]
    default:
      schema["if"] = self.schema(inner)
      if random(below: 4) > 0 { schema["then"] = self.schema(inner) }
      if random(below: 4) > 0 { schema["else"] = self.schema(inner) }
    }
  }
}
