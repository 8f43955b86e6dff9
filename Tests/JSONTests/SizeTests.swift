import Testing

@testable import JSON

/// What a text costs in memory, however it is made up.
@Suite struct SizeTests {
  private func parse(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }

  private func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + "0" + String(repeating: "]", count: depth)
  }

  @Test func `a value that was read takes eight bytes, and one that was made 24`() {
    #expect(MemoryLayout<JSONNode>.stride == 8)
    #expect(MemoryLayout<JSON>.stride <= 24)
  }

  /// Each value a node, each key another and a half of one: with the texts, all there is.
  @Test(arguments: [
    (Array(repeating: "0", count: 10_000), 1), (Array(repeating: "[]", count: 10_000), 1),
    (Array(repeating: "{}", count: 10_000), 1), (Array(repeating: #"{"":0}"#, count: 10_000), 3),
    (Array(repeating: "[[[[0]]]]", count: 10_000), 5),
    (Array(repeating: #""\n""#, count: 10_000), 1),
  ])
  func `what is in an array costs as many nodes as there are values`(
    elements: [String],
    each: Int
  ) throws {
    let value = try parse("[\(elements.joined(separator: ","))]")
    let place = try #require(value.array?.place)
    #expect(place.text.nodes.count == elements.count * each)
    #expect(place.text.rewritten.count <= elements.count)
  }

  @Test func `members that are many are found, each for two nodes and a half`() throws {
    let members = (0..<10_001).map { #""k\#($0)":\#($0)"# }
    let value = try parse("{\(members.joined(separator: ","))}")
    let place = try #require(value.object?.place)
    #expect(place.text.nodes.count == 2 * members.count + (members.count + 1) / 2)
    for index in 0..<10_001 { #expect(value["k\(index)"] == .number(JSONNumber(index))) }
    for key in ["", "k", "k10001", "K0", "k00", "\u{301}"] { #expect(value[key] == nil) }
  }

  @Test func `what is beside a change stays where it was read`() throws {
    let patch = try JSONPatch(try parse(#"[{"op":"add","path":"/b","value":1}]"#))
    let result = try patch.apply(to: try parse(#"{"a":[\#(nested(40))]}"#))
    #expect(result["a"]?.array?.place != nil)
    #expect(result.extent.depth == 42)
  }

  @Test(arguments: [2, 8, 9, 40]) func `a key that is there twice is told where it is`(
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

  @Test func `values read are equal to values made, whatever has changed in either`() throws {
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
