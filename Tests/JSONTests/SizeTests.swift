import Testing

@testable import JSON

/// Tests the memory that texts of any structure need.
@Suite struct SizeTests {
  private func parse(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }

  private func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + "0" + String(repeating: "]", count: depth)
  }

  @Test func `a parsed value takes eight bytes, and a constructed one 24`() {
    #expect(MemoryLayout<JSONNode>.stride == 8)
    #expect(MemoryLayout<JSON>.stride <= 24)
  }

  /// Each value takes one node, and each key one and a half, in addition to the texts.
  @Test(arguments: [
    (Array(repeating: "0", count: 10_000), 1), (Array(repeating: "[]", count: 10_000), 1),
    (Array(repeating: "{}", count: 10_000), 1), (Array(repeating: #"{"":0}"#, count: 10_000), 3),
    (Array(repeating: "[[[[0]]]]", count: 10_000), 5),
    (Array(repeating: #""\n""#, count: 10_000), 1),
  ])
  func `an array takes one node for each value`(elements: [String], each: Int) throws {
    let value = try parse("[\(elements.joined(separator: ","))]")
    let place = try #require(value.array?.place)
    #expect(place.text.nodes.count == elements.count * each)
    #expect(place.text.rewritten.count <= elements.count)
  }

  @Test func `many members are found, and take two and a half nodes each`() throws {
    let members = (0..<10_001).map { #""k\#($0)":\#($0)"# }
    let value = try parse("{\(members.joined(separator: ","))}")
    let place = try #require(value.object?.place)
    #expect(place.text.nodes.count == 2 * members.count + (members.count + 1) / 2)
    for index in 0..<10_001 { #expect(value["k\(index)"] == .number(JSONNumber(index))) }
    for key in ["", "k", "k10001", "K0", "k00", "\u{301}"] { #expect(value[key] == nil) }
  }

  @Test func `unchanged values stay in the parsed text`() throws {
    let patch = try JSONPatch(try parse(#"[{"op":"add","path":"/b","value":1}]"#))
    let result = try patch.apply(to: try parse(#"{"a":[\#(nested(40))]}"#))
    #expect(result["a"]?.array?.place != nil)
    #expect(result.extent.depth == 42)
  }

  @Test(arguments: [2, 8, 9, 40]) func `a duplicate key is reported with its place`(
    count: Int
  ) throws {
    var members = (0..<count).map { #""k\#($0)":[{"x":0}]"# }
    members[count - 1] = #""\u006b0":1"#
    members.append(#""k1":1"#)
    let start = #"{"a":[0,{"#
    let text = start + members.joined(separator: ",") + "}]}"
    let error = #expect(throws: JSONError.self) { _ = try parse(text) }
    #expect(error?.reason == .duplicateKey)
    #expect(error?.pointer == "/a/1/k0")
    #expect(
      error?.offset
        == start.utf8.count + members.prefix(count - 1).joined(separator: ",").utf8.count + 1
    )
  }

  @Test func `parsed and constructed values compare as equal, also after changes`() throws {
    let text = #"{"z":[1,{"é":"\n"}],"a":{"b":null,"c":[true,false]},"n":0e-999}"#
    let read = try parse(text)
    let made: JSON = [
      "z": [1, ["é": "\n"]], "a": ["b": .null, "c": [true, false]], "n": .number(JSONNumber("0.0")),
    ]
    #expect(read == made)
    #expect(read.text == made.text)
    var changed = try #require(read.object)
    changed["z"] = nil
    changed["z"] = [1, ["é": "\n"]]
    #expect(JSON.object(changed) == made)
    #expect(
      read.inStoredOrder().text == #"{"a":{"b":null,"c":[true,false]},"n":0.0,"z":[1,{"é":"\n"}]}"#
    )
    #expect(made.inStoredOrder().text == read.inStoredOrder().text)
    #expect(read.inStoredOrder().inStoredOrder().text == read.inStoredOrder().text)
  }
}
