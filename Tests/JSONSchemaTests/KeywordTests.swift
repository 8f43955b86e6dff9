import JSON
import JSONSchema
import Testing

@Suite struct KeywordTests {
  /// A schema, values that fit and values that do not.
  private static let judged: [(String, [String], [String])] = [
    ("true", ["1", "{}"], []), ("false", [], ["1", "{}"]), ("{}", ["null"], []),
    (#"{"type":"null"}"#, ["null"], ["0", "false", "\"\"", "[]", "{}"]),
    (#"{"type":"boolean"}"#, ["true", "false"], ["null", "0"]),
    (#"{"type":"integer"}"#, ["1", "1.0", "-10e2", "1e300", "120e-1"], ["1.5", "1e-1", "\"1\""]),
    (#"{"type":"number"}"#, ["1", "1.5"], ["\"1\"", "null"]),
    (#"{"type":"string"}"#, ["\"\""], ["1", "[]"]),
    (#"{"type":"array"}"#, ["[]"], ["{}"]), (#"{"type":"object"}"#, ["{}"], ["[]"]),
    (#"{"type":["string","null"]}"#, ["null", "\"a\""], ["1"]),
    (
      #"{"enum":[1,"a",null,{"a":[1.0]}]}"#, ["1.0", "\"a\"", "null", #"{"a":[10e-1]}"#],
      ["2", "\"A\"", "false", #"{"a":[1,1]}"#, #"{"a":[1],"b":1}"#]
    ),
    (#"{"enum":[]}"#, [], ["1"]),
    (#"{"const":{"a":1,"b":[2]}}"#, [#"{"b":[2.0],"a":1e0}"#], [#"{"a":1}"#, "1"]),
    (#"{"const":0}"#, ["0", "-0", "0.0", "0e9"], ["false", "1", "\"0\""]),
    (#"{"const":false}"#, ["false"], ["0", "null"]),
    // Two encodings of one letter are two strings.
    (#"{"const":"\u00e9"}"#, [#""é""#], [#""e\u0301""#]),
    (#"{"const":{"\u00e9":1}}"#, [#"{"é":1}"#], [#"{"e\u0301":1}"#]),
    (#"{"const":9007199254740993}"#, ["9007199254740993.0"], ["9007199254740992"]),
    (#"{"multipleOf":0.01}"#, ["0.07", "19.99", "1e308", "0", "-4.02"], ["0.075", "1e-308"]),
    (#"{"multipleOf":3}"#, ["9", "9.0", "300e1", "-6", "\"a\""], ["10", "1e30", "4.5"]),
    (#"{"multipleOf":1e-7}"#, ["1234567.1234567"], ["1234567.12345678"]),
    (
      #"{"multipleOf":123456789012345678901234567}"#, ["246913578024691357802469134"],
      ["246913578024691357802469135"]
    ),
    (#"{"minimum":1.5}"#, ["1.5", "1.50", "2", "1e9", "\"\""], ["1.4999999999999999999", "-2"]),
    (#"{"exclusiveMinimum":-1}"#, ["-0.9", "0"], ["-1", "-1.0", "-2", "-1e2"]),
    (#"{"maximum":1e2}"#, ["100", "99.9", "-1000"], ["100.0000000000000000001", "1e3"]),
    (#"{"exclusiveMaximum":0}"#, ["-1e-300"], ["0", "1e-300"]),
    (#"{"minLength":2}"#, ["\"ab\"", "\"éé\"", "1"], ["\"a\"", "\"😀\""]),
    // Code points: e and an accent are two.
    (#"{"maxLength":2}"#, ["\"ab\"", "\"😀😀\"", #""e\u0301""#], ["\"abc\"", #""e\u0301a""#]),
    (#"{"maxLength":2.0}"#, ["\"ab\""], ["\"abc\""]),
    (#"{"pattern":"^a+$"}"#, ["\"aa\"", "1"], ["\"ab\"", #""a\n""#, "\"\""]),
    (#"{"pattern":"b"}"#, ["\"abc\""], ["\"ac\""]),
    (#"{"pattern":"^[\\u0061-c]$"}"#, ["\"b\""], ["\"d\""]),
    (#"{"items":{"type":"integer"}}"#, ["[]", "[1,2]", "{}"], ["[1,\"a\"]"]),
    (#"{"items":false}"#, ["[]"], ["[1]"]),
    (
      #"{"prefixItems":[{"type":"integer"},{"type":"string"}]}"#,
      ["[]", "[1]", "[1,\"a\"]", "[1,\"a\",null]"], ["[\"a\"]", "[1,1]"]
    ),
    (#"{"prefixItems":[true],"items":{"type":"string"}}"#, ["[1]", "[1,\"a\"]"], ["[1,1]"]),
    (#"{"items":false,"prefixItems":[true,true]}"#, ["[1,1]"], ["[1,1,1]"]),
    (#"{"contains":{"const":1}}"#, ["[2,1]", "[1,1]", "{}"], ["[]", "[2]"]),
    (#"{"contains":{"const":1},"minContains":2}"#, ["[1,2,1]"], ["[1,2]"]),
    (#"{"contains":{"const":1},"maxContains":1}"#, ["[1]"], ["[]", "[1,1]"]),
    (#"{"contains":{"const":1},"minContains":0,"maxContains":1}"#, ["[]", "[1]"], ["[1,1]"]),
    (#"{"contains":true,"minContains":2,"maxContains":1}"#, ["1"], ["[]", "[1]", "[1,1]"]),
    (#"{"minItems":1,"maxItems":2}"#, ["[1]", "[1,2]", "{}"], ["[]", "[1,2,3]"]),
    (
      #"{"uniqueItems":true}"#, ["[]", #"[1,true,"1",[1],{"a":1},null]"#, #"["é","e\u0301"]"#],
      ["[1,1.0]", #"[{"a":1,"b":2},{"b":2.0,"a":1}]"#, "[[],[]]", "[0,-0]"]
    ),
    (#"{"uniqueItems":false}"#, ["[1,1]"], []),
    (
      #"{"properties":{"a":{"type":"integer"}}}"#, ["{}", #"{"a":1}"#, #"{"b":""}"#, "1"],
      [#"{"a":""}"#]
    ),
    (#"{"properties":{"a":false}}"#, ["{}"], [#"{"a":1}"#]),
    (
      #"{"patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":2}}}"#,
      [#"{"x":1,"ay":2,"xy":2,"z":""}"#], [#"{"x":""}"#, #"{"xy":1}"#]
    ),
    (
      #"{"properties":{"a":true},"patternProperties":{"^x":true},"additionalProperties":false}"#,
      [#"{"a":1,"x1":1}"#], [#"{"b":1}"#]
    ),
    (
      #"{"additionalProperties":{"type":"null"},"properties":{"\u00e9":true}}"#,
      [#"{"b":null,"é":1}"#], [#"{"b":1}"#, #"{"e\u0301":1}"#]
    ),
    (#"{"propertyNames":{"maxLength":2}}"#, [#"{"ab":1}"#, "1"], [#"{"abc":1}"#]),
    (#"{"required":["a","b"]}"#, [#"{"a":null,"b":1}"#, "[]"], [#"{"a":1}"#, "{}"]),
    (
      #"{"dependentRequired":{"a":["b"]}}"#, ["{}", #"{"b":1}"#, #"{"a":1,"b":1}"#, "1"],
      [#"{"a":1}"#]
    ),
    (
      #"{"dependentSchemas":{"a":{"minProperties":2}}}"#, ["{}", #"{"b":1}"#, #"{"a":1,"b":1}"#],
      [#"{"a":1}"#]
    ),
    (
      #"{"minProperties":1,"maxProperties":2}"#, [#"{"a":1}"#, "[]"],
      ["{}", #"{"a":1,"b":2,"c":3}"#]
    ),
    (#"{"allOf":[{"minimum":1},{"maximum":2}]}"#, ["1", "2", "\"\""], ["0", "3"]),
    (#"{"anyOf":[{"type":"string"},{"minimum":2}]}"#, ["\"\"", "2", "null"], ["1"]),
    (#"{"oneOf":[{"type":"integer"},{"minimum":2}]}"#, ["1", "2.5", "null"], ["2", "1.5"]),
    (#"{"not":{"type":"string"}}"#, ["1"], ["\"\""]),
    (
      #"{"if":{"minimum":10},"then":{"multipleOf":10},"else":{"type":"integer"}}"#,
      ["20", "7"], ["21", "7.5"]
    ),
    (#"{"if":{"minimum":10},"then":{"multipleOf":10}}"#, ["20", "7.5"], ["21"]),
    (#"{"if":{"minimum":10},"else":{"type":"integer"}}"#, ["20.5", "7"], ["7.5"]),
    (#"{"if":false}"#, ["1"], []),
    // Without the keywords to which they belong, they have no effect.
    (#"{"then":false,"else":false}"#, ["1"], []),
    (#"{"minContains":9,"maxContains":0}"#, ["[]", "[1]"], []),
    (#"{"contentMediaType":"application/json","contentSchema":false}"#, [#""{}""#], []),
    (##"{"$ref":"#/$defs/a%20b~1c","$defs":{"a b/c":{"type":"string"}}}"##, ["\"\""], ["1"]),
    (
      ##"{"$ref":"#word","minLength":1,"$defs":{"x":{"$anchor":"word","type":"string"}}}"##,
      ["\"a\""], ["1", "\"\""]
    ),
    (
      ##"{"properties":{"a":{"minimum":1},"b":{"$ref":"#/properties/a"}}}"##, [##"{"b":1}"##],
      [#"{"b":0}"#]
    ),
    // A tree.
    (
      ##"{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}"##,
      ["{}", #"{"next":{"next":{}}}"#], [#"{"next":{"next":1}}"#, #"{"next":{"a":1}}"#]
    ),
    (
      #"""
      {"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://a.example/s",
       "$comment":"","title":"","description":"","default":1,"examples":[1],"deprecated":true,
       "readOnly":true,"writeOnly":false,"format":"email","contentMediaType":"text/plain",
       "contentEncoding":"base64"}
      """#, ["1", "\"not an address\""], []
    ),
  ]

  @Test(arguments: judged)
  func `keywords accept and reject values`(text: String, fits: [String], others: [String]) throws {
    let schema = try schema(text)
    for value in fits { #expect(schema.faults(in: try json(value)) == [], "\(value)") }
    for value in others { #expect(schema.faults(in: try json(value)) != [], "\(value)") }
  }

  @Test func `each error has its place, the keyword's place, a code and the rule`() throws {
    let schema = try schema(
      #"""
      {"type":"object","required":["name"],"additionalProperties":false,"properties":{
        "name":{"type":"string"},"ages":{"items":{"$ref":"#/$defs/age"}},
        "a/b":{"anyOf":[{"type":"string"},{"type":"null"}]},
        "off":{"items":false},"x":{"dependentRequired":{"a":["b"]}}},
       "$defs":{"age":{"minimum":0,"exclusiveMaximum":150.5,"enum":[1,2,-1,200]}}}
      """#
    )
    let faults = schema.faults(
      in: try json(#"{"ages":[1,-1,200],"a/b":1,"off":[1],"x":{"a":1},"m~n":1}"#)
    )
    #expect(
      faults.map { [$0.pointer, $0.schemaPointer, $0.code, $0.detail] } == [
        ["/name", "/required", "required", "This member is required."],
        ["/ages/1", "/$defs/age/minimum", "minimum", "This must be at least 0."],
        [
          "/ages/2", "/$defs/age/exclusiveMaximum", "exclusive_maximum",
          "This must be below 150.5.",
        ],
        ["/a~1b", "/properties/a~1b/anyOf", "any_of", "This fits none of the alternatives."],
        ["/off/0", "/properties/off/items", "items", "No value is allowed here."],
        [
          "/x/b", "/properties/x/dependentRequired", "dependent_required",
          "Another member of the object requires this one.",
        ],
        [
          "/m~0n", "/additionalProperties", "additional_properties",
          "A member of this name is not allowed.",
        ],
      ]
    )
    #expect(schema.faults(in: try json("[]")).map(\.detail) == ["This must be of type object."])
  }

  @Test(arguments: [
    (#"{"enum":["a",1,null]}"#, "2", #"This must be one of "a", 1, null."#),
    (#"{"const":{"a":1}}"#, "2", #"This must be {"a":1}."#),
    (#"{"type":["string","null"]}"#, "2", "This must be of type string or null."),
    (#"{"minLength":3}"#, #""""#, "This must have at least 3 characters."),
    (#"{"contains":true,"maxContains":2}"#, "[]", "From 1 to 2 of the elements must fit contains."),
    (#"{"propertyNames":{"maxLength":1}}"#, #"{"ab":1}"#, "This may have at most 1 characters."),
    (#"{"oneOf":[true,true]}"#, "1", "This must fit one alternative, and no other."),
  ])
  func `error details are sentences`(text: String, value: String, detail: String) throws {
    #expect(try schema(text).faults(in: json(value)).map(\.detail) == [detail])
  }
}
