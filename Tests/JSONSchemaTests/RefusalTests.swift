import JSON
import JSONSchema
import Testing

@Suite struct RefusalTests {
  /// A schema, the pointer to its fault, and the violated rule.
  private static let refused: [(String, String, String)] = [
    ("1", "", "type"), ("null", "", "type"), ("[]", "", "type"),
    (#"{"typ":"string"}"#, "/typ", "unknown_keyword"),
    (#"{"properties":{"a/b":{"minimun":1}}}"#, "/properties/a~1b/minimun", "unknown_keyword"),
    (#"{"$defs":{"a":{"x":1}}}"#, "/$defs/a/x", "unknown_keyword"),
    (#"{"$vocabulary":{}}"#, "/$vocabulary", "unsupported_keyword"),
    (#"{"definitions":{}}"#, "/definitions", "unsupported_keyword"),
    (#"{"dependencies":{}}"#, "/dependencies", "unsupported_keyword"),
    (#"{"additionalItems":true}"#, "/additionalItems", "unsupported_keyword"),
    (#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, "/$schema", "unsupported_keyword"),
    (##"{"$recursiveRef":"#"}"##, "/$recursiveRef", "unsupported_keyword"),
    (#"{"$recursiveAnchor":true}"#, "/$recursiveAnchor", "unsupported_keyword"),
    (#"{"$id":1}"#, "/$id", "type"), (##"{"items":{"$id":"#a"}}"##, "/items/$id", "id"),
    (#"{"$id":"a","items":{"$id":"a"}}"#, "/items/$id", "id"),
    (#"{"$id":"\#(String(repeating: "a", count: 1_025))"}"#, "/$id", "id"),
    (
      #"{"items":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}"#, "/items/$schema",
      "unsupported_keyword"
    ),
    (#"{"minContains":-1}"#, "/minContains", "type"),
    (#"{"maxContains":""}"#, "/maxContains", "type"),
    (#"{"then":1}"#, "/then", "type"), (#"{"contentSchema":1}"#, "/contentSchema", "type"),
    (#"{"unevaluatedItems":1}"#, "/unevaluatedItems", "type"),
    (#"{"unevaluatedProperties":{"x":1}}"#, "/unevaluatedProperties/x", "unknown_keyword"),
    (##"{"$dynamicRef":"#a"}"##, "/$dynamicRef", "reference"),
    (##"{"$dynamicRef":"#"}"##, "/$dynamicRef", "cycle"),
    (##"{"$anchor":"a","$dynamicAnchor":"a"}"##, "/$dynamicAnchor", "anchor"),
    // An anchor belongs to its resource.
    (##"{"$ref":"#a","$defs":{"b":{"$id":"b","$anchor":"a"}}}"##, "/$ref", "reference"),
    (#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#, "/$ref", "reference"),
    (#"{"type":"text"}"#, "/type", "type"), (#"{"type":[]}"#, "/type", "type"),
    (#"{"type":["null","null"]}"#, "/type", "type"), (#"{"type":1}"#, "/type", "type"),
    (#"{"enum":1}"#, "/enum", "type"), (#"{"minimum":"1"}"#, "/minimum", "type"),
    (#"{"multipleOf":0}"#, "/multipleOf", "range"), (#"{"multipleOf":-1}"#, "/multipleOf", "range"),
    (#"{"multipleOf":1.0000000000000000000000000000000000001}"#, "/multipleOf", "range"),
    (#"{"minLength":-1}"#, "/minLength", "type"), (#"{"maxLength":1.5}"#, "/maxLength", "type"),
    (#"{"maxItems":null}"#, "/maxItems", "type"),
    (#"{"minProperties":""}"#, "/minProperties", "type"),
    (#"{"pattern":"("}"#, "/pattern", "pattern"), (#"{"pattern":1}"#, "/pattern", "type"),
    (#"{"pattern":"(?R)"}"#, "/pattern", "pattern"),
    (#"{"pattern":"(a)\\2"}"#, "/pattern", "pattern"),
    (#"{"pattern":"\\p{Frob}"}"#, "/pattern", "pattern"),
    (#"{"patternProperties":{"(":true}}"#, "/patternProperties/(", "pattern"),
    (#"{"items":[true]}"#, "/items", "type"), (#"{"prefixItems":{}}"#, "/prefixItems", "type"),
    (#"{"prefixItems":[]}"#, "/prefixItems", "type"),
    (#"{"prefixItems":[true],"items":[true]}"#, "/items", "type"),
    (#"{"prefixItems":[1]}"#, "/prefixItems/0", "type"),
    (#"{"uniqueItems":1}"#, "/uniqueItems", "type"), (#"{"contains":1}"#, "/contains", "type"),
    (#"{"contains":true,"maxContains":-1}"#, "/maxContains", "type"),
    (#"{"if":true,"then":1}"#, "/then", "type"),
    (#"{"properties":[]}"#, "/properties", "type"),
    (#"{"properties":{"a":1}}"#, "/properties/a", "type"),
    (#"{"additionalProperties":1}"#, "/additionalProperties", "type"),
    (#"{"required":"a"}"#, "/required", "type"), (#"{"required":["a","a"]}"#, "/required", "type"),
    (#"{"required":[1]}"#, "/required", "type"),
    (#"{"dependentRequired":{"a":"b"}}"#, "/dependentRequired/a", "type"),
    (#"{"dependentSchemas":[]}"#, "/dependentSchemas", "type"),
    (#"{"allOf":[]}"#, "/allOf", "type"), (#"{"anyOf":{}}"#, "/anyOf", "type"),
    (#"{"oneOf":[{"x":1}]}"#, "/oneOf/0/x", "unknown_keyword"), (#"{"not":1}"#, "/not", "type"),
    (##"{"$ref":"#/$defs/a"}"##, "/$ref", "reference"), (##"{"$ref":"#a"}"##, "/$ref", "reference"),
    (##"{"$ref":"#/%zz"}"##, "/$ref", "reference"),
    (##"{"$ref":"other.json"}"##, "/$ref", "reference"),
    (#"{"$ref":"https://a.example/#/a"}"#, "/$ref", "reference"), (#"{"$ref":1}"#, "/$ref", "type"),
    (##"{"const":{"a":{}},"$ref":"#/const/a"}"##, "/$ref", "reference"),
    (##"{"$ref":"#"}"##, "/$ref", "cycle"),
    (##"{"allOf":[{"$ref":"#"}]}"##, "/allOf/0/$ref", "cycle"),
    (
      ##"{"$defs":{"a":{"anyOf":[true,{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}"##,
      "/$defs/b/not/$ref", "cycle"
    ),
    (##"{"if":{"$ref":"#"}}"##, "/if/$ref", "cycle"),
    (##"{"dependentSchemas":{"a":{"$ref":"#"}}}"##, "/dependentSchemas/a/$ref", "cycle"),
    (#"{"$anchor":"1a"}"#, "/$anchor", "anchor"), (#"{"$anchor":""}"#, "/$anchor", "anchor"),
    (#"{"$anchor":"a","items":{"$anchor":"a"}}"#, "/items/$anchor", "anchor"),
    (#"{"title":1}"#, "/title", "type"), (#"{"examples":1}"#, "/examples", "type"),
    (#"{"deprecated":"no"}"#, "/deprecated", "type"), (#"{"format":1}"#, "/format", "type"),
  ]

  @Test(arguments: refused)
  func `an error in a schema is reported with its place`(
    text: String, pointer: String, rule: String
  ) throws {
    let error = #expect(throws: SchemaError.self) { try schema(text) }
    #expect(error?.pointer == pointer)
    #expect(error?.rule == rule)
    #expect(error?.detail.hasSuffix(".") == true)
  }

  @Test func `a schema that is too large is refused`() throws {
    func rule(_ text: String) -> String? {
      #expect(throws: SchemaError.self) { try schema(text) }?.rule
    }
    let comment = String(repeating: "a", count: JSONSchema.sizeLimit)
    #expect(rule(#"{"$comment":"\#(comment)"}"#) == "size")
    let parts = (0...2_048).map { #""\#($0)":{}"# }.joined(separator: ",")
    #expect(rule(#"{"$defs":{\#(parts)}}"#) == "limit")
    let patterns = (0...64).map { #"{"pattern":"a{\#($0)}"}"# }.joined(separator: ",")
    #expect(rule(#"{"anyOf":[\#(patterns)]}"#) == "limit")
    let many = (0..<1_000).map { #""\#($0)":{}"# }.joined(separator: ",")
    #expect(rule(#"{"$defs":{"\#(comment.prefix(32_768))":{"$defs":{\#(many)}}}}"#) == "limit")
    #expect(rule(#"{"pattern":"(a{1000}){9999}"}"#) == "pattern")
  }
}
