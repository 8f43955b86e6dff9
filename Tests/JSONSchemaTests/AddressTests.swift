import JSON
import JSONSchema
import Testing

/// Tests references by URI, by anchor and by dynamic anchor.
@Suite struct AddressTests {
  /// A schema, values that fit and values that do not.
  private static let judged: [(String, [String], [String])] = [
    (#"{"$id":"https://a.example/s","items":{"$ref":"https://a.example/s"}}"#, ["[[]]", "1"], []),
    (
      ##"{"$id":"https://a.example/x/s","properties":{"a":{"$ref":"s#/$defs/n"}},"$defs":{"n":{"type":"null"}}}"##,
      [#"{"a":null}"#], [#"{"a":1}"#]
    ),
    // Relative to the enclosing subschema with an `$id`; pointers begin there, too.
    (
      ##"""
      {"$id":"https://a.example/s","$ref":"t/u",
       "$defs":{"x":{"$id":"t/","$defs":{"y":{"$id":"u","$ref":"#/$defs/z",
        "$defs":{"z":{"type":"integer"}}}}}}}
      """##, ["1"], ["\"\""]
    ),
    (
      ##"{"$ref":"item","$defs":{"x":{"$id":"item","$ref":"../item#n","$defs":{"y":{"$anchor":"n","type":"null"}}}}}"##,
      ["null"], ["1"]
    ),
    (
      ##"{"$ref":"urn:uuid:0b0b#n","$defs":{"x":{"$id":"urn:uuid:0b0b","$anchor":"n","type":"null"}}}"##,
      ["null"], ["1"]
    ),
    // One anchor in two resources.
    (
      ##"{"$anchor":"n","properties":{"a":{"$id":"a","$anchor":"n","type":"null"},"b":{"$ref":"a#n"}}}"##,
      [#"{"b":null}"#], [#"{"b":1}"#]
    ),
    (
      #"{"$id":"https://a.example/#","$schema":"https://json-schema.org/draft/2020-12/schema"}"#,
      ["1"], []
    ),
    // An `$id` inside the value of `const` is not an identifier.
    (#"{"const":{"$id":"a"},"$defs":{"b":{"$id":"a"}}}"#, [#"{"$id":"a"}"#], ["1"]),
    // Without a dynamic anchor at its start, it is a reference like any other.
    (
      ##"{"$id":"https://a.example/r","$dynamicAnchor":"n","items":{"$dynamicRef":"#/$defs/n"},"$defs":{"n":{"type":"null"}}}"##,
      ["[null]"], ["[1]"]
    ),
    // The outermost dynamic anchor makes the tree strict.
    (
      ##"""
      {"$id":"https://a.example/strict","$dynamicAnchor":"node","$ref":"tree",
       "unevaluatedProperties":false,
       "$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","type":"object",
        "properties":{"children":{"items":{"$dynamicRef":"#node"}}}}}}
      """##, ["{}", #"{"children":[{"children":[]}]}"#], [#"{"x":1}"#, #"{"children":[{"x":1}]}"#]
    ),
    // A resource that validation has left has no effect any more.
    (
      ##"""
      {"$id":"https://a.example/leave","allOf":[{"$id":"first",
        "$defs":{"n":{"$dynamicAnchor":"n","type":"number"}}},{"$id":"second","$ref":"start",
        "$defs":{"n":{"$dynamicAnchor":"n","type":"null"}}}],
       "$defs":{"start":{"$id":"start","$dynamicRef":"inner#n"},
        "inner":{"$id":"inner","$dynamicAnchor":"n","type":"string"}}}
      """##, ["null"], ["1", "\"\""]
    ),
  ]

  @Test(arguments: judged)
  func `references are resolved`(text: String, fits: [String], others: [String]) throws {
    let schema = try schema(text)
    for value in fits { #expect(schema.faults(in: try json(value)) == [], "\(value)") }
    for value in others { #expect(schema.faults(in: try json(value)) != [], "\(value)") }
  }

  @Test func `a cycle through the outermost dynamic anchor ends`() throws {
    let schema = try schema(
      ##"""
      {"$id":"https://a.example/r","$dynamicAnchor":"n","$ref":"start",
       "$defs":{"start":{"$id":"start","$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n"}}}}}
      """##
    )
    #expect(schema.faults(in: 1).map(\.code) == ["cost"])
  }
}
