import JSON
import JSONSchema
import Testing

/// Tests `unevaluatedItems` and `unevaluatedProperties`, which apply to values that no adjacent
/// keyword has evaluated.
@Suite struct LeftoverTests {
  /// A schema, values that fit and values that do not.
  private static let judged: [(String, [String], [String])] = [
    (
      #"{"properties":{"a":true},"unevaluatedProperties":false}"#, ["{}", #"{"a":1}"#, "[1]"],
      [#"{"b":1}"#]
    ),
    // It applies last, at every position in the schema.
    (
      #"{"unevaluatedProperties":false,"patternProperties":{"^a":true}}"#, [#"{"ab":1}"#],
      [#"{"b":1}"#]
    ),
    (#"{"additionalProperties":true,"unevaluatedProperties":false}"#, [#"{"b":1}"#], []),
    (#"{"unevaluatedProperties":{"type":"string"}}"#, [#"{"a":""}"#], [#"{"a":1}"#]),
    (
      #"{"allOf":[{"properties":{"a":true}}],"properties":{"b":true},"unevaluatedProperties":false}"#,
      [#"{"a":1,"b":1}"#], [#"{"a":1,"c":1}"#]
    ),
    // All alternatives that fit count, not only the first.
    (
      #"""
      {"anyOf":[{"properties":{"a":true}},{"required":["b"],"properties":{"b":true}},
                {"required":["c"],"properties":{"c":{"type":"string"}}}],
       "unevaluatedProperties":false}
      """#, [#"{"a":1,"b":1}"#, #"{"a":1,"b":1,"c":""}"#], [#"{"a":1,"c":1}"#]
    ),
    (
      #"""
      {"oneOf":[{"required":["a"],"properties":{"a":true}},{"required":["b"],"properties":{"b":true}}],
       "unevaluatedProperties":false}
      """#, [#"{"a":1}"#, #"{"b":1}"#], [#"{"a":1,"c":1}"#]
    ),
    (
      #"{"not":{"not":{"properties":{"a":true}}},"unevaluatedProperties":false}"#, ["{}"],
      [#"{"a":1}"#]
    ),
    (
      #"""
      {"if":{"required":["a"],"properties":{"a":{"const":1}}},"then":{"properties":{"b":true}},
       "else":{"properties":{"c":true}},"unevaluatedProperties":false}
      """#, [#"{"a":1,"b":1}"#, #"{"c":1}"#], [#"{"a":1,"c":1}"#, #"{"b":1}"#, #"{"a":2,"c":1}"#]
    ),
    (
      #"{"if":{"properties":{"a":true}},"unevaluatedProperties":false}"#, [#"{"a":1}"#],
      [#"{"b":1}"#]
    ),
    (
      #"{"dependentSchemas":{"a":{"properties":{"a":true,"b":true}}},"unevaluatedProperties":false}"#,
      [#"{"a":1,"b":1}"#], [#"{"b":1}"#]
    ),
    (
      ##"{"$ref":"#/$defs/x","unevaluatedProperties":false,"$defs":{"x":{"properties":{"a":true}}}}"##,
      [#"{"a":1}"#], [#"{"b":1}"#]
    ),
    // Members that an adjacent subschema evaluates count as unevaluated.
    (
      #"{"allOf":[{"properties":{"a":true}},{"unevaluatedProperties":false}]}"#, ["{}"],
      [#"{"a":1}"#]
    ),
    // The evaluated members of an inner object do not count for the outer one, nor the reverse.
    (
      #"""
      {"properties":{"a":{"properties":{"b":true}}},"unevaluatedProperties":false}
      """#, [#"{"a":{"b":1,"c":1}}"#], [#"{"a":{},"b":1}"#]
    ),
    (
      #"{"unevaluatedProperties":false,"allOf":[{"unevaluatedProperties":true}]}"#, [#"{"a":1}"#],
      []
    ),
    (#"{"propertyNames":{"minLength":1},"unevaluatedProperties":false}"#, ["{}"], [#"{"a":1}"#]),
    (#"{"prefixItems":[true],"unevaluatedItems":false}"#, ["[]", "[1]", #"{"a":1}"#], ["[1,2]"]),
    (#"{"items":true,"unevaluatedItems":false}"#, ["[1,2]"], []),
    (#"{"unevaluatedItems":{"type":"string"}}"#, [#"["a"]"#], ["[1]"]),
    (
      #"{"contains":{"const":1},"unevaluatedItems":{"const":2}}"#, ["[1]", "[2,1,2,1]"],
      ["[1,3]", "[2]"]
    ),
    (
      #"""
      {"allOf":[{"contains":{"multipleOf":2}},{"contains":{"multipleOf":3}}],
       "unevaluatedItems":{"multipleOf":5}}
      """#, ["[2,3,4,5,6]"], ["[2,3,4,7,8]"]
    ),
    (
      #"{"anyOf":[{"prefixItems":[true]},{"prefixItems":[true,{"const":1}]}],"unevaluatedItems":false}"#,
      ["[0,1]", "[0]"], ["[0,2]", "[0,1,2]"]
    ),
    (#"{"items":{"items":true},"unevaluatedItems":false}"#, ["[[1]]"], []),
  ]

  @Test(arguments: judged)
  func `unevaluated parts are rejected`(text: String, fits: [String], others: [String]) throws {
    let schema = try schema(text)
    for value in fits { #expect(schema.faults(in: try json(value)) == [], "\(value)") }
    for value in others { #expect(schema.faults(in: try json(value)) != [], "\(value)") }
  }

  @Test func `unevaluated parts are reported once, and only without other errors`() throws {
    let schema = try schema(
      #"{"properties":{"a":{"type":"string"}},"unevaluatedProperties":false}"#
    )
    let left = schema.faults(in: try json(#"{"a":"","b":1}"#))
    #expect(left.map(\.pointer) == ["/b"])
    #expect(left.map(\.schemaPointer) == ["/unevaluatedProperties"])
    #expect(left.map(\.code) == ["unevaluated_properties"])
    #expect(left.map(\.detail) == ["A member of this name is not allowed."])
    #expect(schema.faults(in: try json(#"{"a":1,"b":1}"#)).map(\.pointer) == ["/a"])
  }
}
