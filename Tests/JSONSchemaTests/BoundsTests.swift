import JSON
import JSONSchema
import Testing

/// Tests that validation is bounded: each of these cases would otherwise take minutes.
@Suite struct BoundsTests {
  private func codes(_ text: String, _ value: JSON) throws -> [String] {
    try schema(text).faults(in: value).map(\.code)
  }

  @Test func `at most twenty errors are reported`() throws {
    let value = JSON.array([JSON](repeating: "a", count: 1_000))
    let faults = try schema(#"{"items":{"type":"integer"}}"#).faults(in: value)
    #expect(faults.count == 20)
    #expect(faults.last?.pointer == "/19")
  }

  @Test func `branches that double at each level are limited`() throws {
    let parts = (0..<60).map { level in
      let next = ##"{"$ref":"#/$defs/\##(level + 1)"}"##
      return #""\#(level)":{"anyOf":[\#(next),\#(next)]}"#
    }
    let text = ##"{"$ref":"#/$defs/0","$defs":{\##(parts.joined(separator: ",")),"60":false}}"##
    let faults = try schema(text).faults(in: 1)
    #expect(faults.map(\.code) == ["cost"])
    #expect(faults[0].schemaPointer.hasPrefix("/$defs/"))
  }

  @Test func `a pattern that takes too long has its own error`() throws {
    let text = JSON.string(String(repeating: "a", count: 60_000) + "!")
    #expect(try codes(#"{"pattern":"(a+)+$"}"#, text) == ["cost"])
    #expect(try codes(#"{"pattern":"(a*)*b"}"#, text) == ["pattern"])
    let names = JSON.object(
      (0..<20_000).reduce(into: JSONObject()) {
        $0["\($1)" + String(repeating: "a", count: 30) + "!"] = 1
      }
    )
    #expect(try codes(#"{"patternProperties":{"(a+)+$":true}}"#, names) == ["cost"])
  }

  @Test func `unique elements are checked without comparing all pairs`() throws {
    let many = JSON.array((0..<100_000).map { .number(JSONNumber($0)) })
    #expect(try codes(#"{"uniqueItems":true}"#, many) == [])
    // Every level evaluates all levels below it.
    let deep = (0..<60).reduce(JSON.string(String(repeating: "a", count: 1_000_000))) { inner, _ in
      [inner]
    }
    let text = ##"{"uniqueItems":true,"items":{"$ref":"#"}}"##
    #expect(try codes(text, deep) == ["cost"])
  }

  @Test func `nested references end before the stack overflows`() throws {
    let parts = (0..<1_000).map { ##""\##($0)":{"$ref":"#/$defs/\##($0 + 1)"}"## }
    let text = ##"{"$ref":"#/$defs/0","$defs":{\##(parts.joined(separator: ",")),"1000":true}}"##
    #expect(try codes(text, 1) == ["cost"])
    let deep = (0..<500).reduce(JSON.array([])) { inner, _ in [inner] }
    #expect(try codes(##"{"items":{"$ref":"#"}}"##, deep) == ["cost"])
    let usual = (0..<64).reduce(JSON.array([])) { inner, _ in [inner] }
    #expect(try codes(##"{"items":{"allOf":[{"$ref":"#"}]}}"##, usual) == [])
  }

  @Test func `a large valid document is within the budget`() throws {
    let text = #"""
      {"type":"object","additionalProperties":{"type":"array","items":{"type":"object",
       "required":["id","name"],"additionalProperties":false,"properties":{
        "id":{"type":"integer","minimum":0},"name":{"type":"string","pattern":"^[a-z ]+$",
        "maxLength":40},"tags":{"items":{"enum":["a","b"]},"uniqueItems":true}}}}}
      """#
    let rows = (0..<15_000).map { index -> JSON in
      ["id": .number(JSONNumber(index)), "name": "some name of twenty", "tags": ["a", "b"]]
    }
    let value: JSON = ["rows": .array(rows)]
    #expect(value.serialized().count > 800_000)
    #expect(try codes(text, value) == [])
  }
}
