import Testing

@testable import JSON

@Suite struct MergePatchTests {
  /// RFC 7396, appendix A.
  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
    (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
    (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
    (#"{"a":"foo"}"#, "null", "null"),
    (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
  ])
  func `the examples of RFC 7396 give their results`(target: String, patch: String, result: String)
    throws
  {
    let parsed = try [target, patch, result].map { try JSON.parse(Array($0.utf8)) }
    #expect(parsed[0].merging(parsed[1]) == parsed[2])
  }
}

@Suite struct JSONPatchTests {
  private func apply(_ patch: String, to document: String) throws -> String {
    let patch = try JSONPatch(try JSON.parse(Array(patch.utf8)))
    return try patch.apply(to: try JSON.parse(Array(document.utf8))).text
  }

  /// The first sixteen are based on RFC 6902, appendix A, the others on its rules.
  @Test(arguments: [
    (
      #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#,
      #"{"foo":"bar","baz":"qux"}"#
    ),
    (
      #"{"foo":["a","c"]}"#, #"[{"op":"add","path":"/foo/1","value":"b"}]"#,
      #"{"foo":["a","b","c"]}"#
    ),
    (#"{"baz":1,"foo":2}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":2}"#),
    (#"{"foo":["a","b","c"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo":["a","c"]}"#),
    (#"{"baz":1,"foo":2}"#, #"[{"op":"replace","path":"/baz","value":3}]"#, #"{"baz":3,"foo":2}"#),
    (
      #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
      #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
      #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
    ),
    (
      #"{"foo":[1,2,3,4]}"#, #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
      #"{"foo":[1,3,4,2]}"#
    ),
    (
      #"{"a":1.0,"b":{"x":1,"y":[2]}}"#,
      #"[{"op":"test","path":"/a","value":1},{"op":"test","path":"/b","value":{"y":[2],"x":1}}]"#,
      #"{"a":1.0,"b":{"x":1,"y":[2]}}"#
    ),
    (
      #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"g":{}},"xyz":1}]"#,
      #"{"foo":"bar","child":{"g":{}}}"#
    ),
    (#"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#, #"{"/":9,"~1":10}"#),
    (
      #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc"]}]"#,
      #"{"foo":["bar",["abc"]]}"#
    ),
    (#"{"a":1}"#, #"[{"op":"add","path":"","value":[2]}]"#, "[2]"),
    (#"{"a":1}"#, #"[{"op":"move","from":"/a","path":"/a"}]"#, #"{"a":1}"#),
    (
      #"{"a":[1]}"#,
      #"[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/0","value":2}]"#,
      #"{"a":[1],"b":[2,1]}"#
    ),
    (#"{"":1}"#, #"[{"op":"replace","path":"/","value":2}]"#, #"{"":2}"#),
    (#"{"a":null}"#, #"[{"op":"test","path":"/a","value":null}]"#, #"{"a":null}"#),
  ])
  func `a valid operation is applied`(document: String, patch: String, result: String) throws {
    #expect(try apply(patch, to: document) == result)
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"[{"op":"add","path":"/b/c","value":1}]"#),
    (#"{"a":[1]}"#, #"[{"op":"add","path":"/a/2","value":1}]"#),
    (#"{"a":[1]}"#, #"[{"op":"add","path":"/a/01","value":1}]"#),
    (#"{"a":[1]}"#, #"[{"op":"add","path":"/a/-1","value":1}]"#),
    (#"{"a":[1]}"#, #"[{"op":"add","path":"/a/1e0","value":1}]"#),
    (#"{"a":[1]}"#, #"[{"op":"replace","path":"/a/-","value":1}]"#),
    (#"{"a":1}"#, #"[{"op":"remove","path":"/b"}]"#),
    (#"{"a":1}"#, #"[{"op":"replace","path":"/b","value":1}]"#),
    (#"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a","path":"/a/b"}]"#),
    (#"{"a":1}"#, #"[{"op":"copy","from":"/b","path":"/c"}]"#),
    (#"{"a":1}"#, #"[{"op":"remove","path":""}]"#),
    (#"{"a":"text"}"#, #"[{"op":"add","path":"/a/0","value":1}]"#),
  ])
  func `an operation that does not fit the document is refused`(document: String, patch: String)
    throws
  {
    let error = #expect(throws: JSONPatchError.self) { _ = try apply(patch, to: document) }
    guard case .notApplicable(pointer: "/0", _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a failed test names its operation`() {
    #expect(throws: JSONPatchError.testFailed(pointer: "/1")) {
      _ = try apply(
        #"[{"op":"test","path":"/a","value":1},{"op":"test","path":"/a","value":"1"}]"#,
        to: #"{"a":1}"#
      )
    }
  }

  @Test(arguments: [
    (#"{"op":"add"}"#, ""), ("[1]", "/0"), (#"[{"path":"/a"}]"#, "/0/op"),
    (#"[{"op":"frob","path":"/a"}]"#, "/0/op"),
    (#"[{"op":"add","path":"a","value":1}]"#, "/0/path"),
    (#"[{"op":"add","path":"/a"}]"#, "/0/value"), (#"[{"op":"copy","path":"/a"}]"#, "/0/from"),
    (#"[{"op":"test","path":"/~2","value":1}]"#, "/0/path"),
    (#"[{"op":"remove","path":null}]"#, "/0/path"),
  ])
  func `the error for a malformed patch names the member`(patch: String, pointer: String) throws {
    let json = try JSON.parse(Array(patch.utf8))
    let error = #expect(throws: JSONPatchError.self) { _ = try JSONPatch(json) }
    guard case .malformed(pointer, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a patch cannot grow a document without bound`() throws {
    let double = #"{"op":"copy","from":"","path":"/a"}"#
    let patch = "[" + Array(repeating: double, count: 63).joined(separator: ",") + "]"
    #expect(throws: JSONPatchError.self) {
      _ = try apply(patch, to: #"{"a":1,"b":"\#(String(repeating: "x", count: 100_000))"}"#)
    }
    let deeper = Array(repeating: double, count: 70).joined(separator: ",")
    #expect(throws: JSONPatchError.self) { _ = try apply("[\(deeper)]", to: "{}") }
  }

  /// Each change moves the value out of its container instead of copying the container.
  @Test func `many changes of one wide container are applied`() throws {
    let keys = (0..<20_000).map { #""k\#($0)":0"# }.joined(separator: ",")
    let moves = (0..<1_000).map { #"{"op":"move","from":"/k\#($0)","path":"/m\#($0)"}"# }
    let result = try apply("[\(moves.joined(separator: ","))]", to: "{\(keys)}")
    #expect(result.hasSuffix(#""m998":0,"m999":0}"#))
  }

  @Test func `a patch that moves too many elements is refused`() throws {
    let zeros = Array(repeating: "0", count: 400_000).joined(separator: ",")
    let move = #"{"op":"move","from":"/a/0","path":"/a/-"}"#
    let moves = Array(repeating: move, count: 1_000).joined(separator: ",")
    let error = #expect(throws: JSONPatchError.self) {
      _ = try apply("[\(moves)]", to: #"{"a":[\#(zeros)]}"#)
    }
    guard case .notApplicable = error else { return #expect(Bool(false), "\(error as Any)") }
  }

  @Test func `no intermediate document exceeds the depth limit`() throws {
    let nested = { (depth: Int) in
      String(repeating: #"{"a":"#, count: depth) + "0" + String(repeating: "}", count: depth)
    }
    let path = { (parts: Int) in String(repeating: "/a", count: parts) }
    let add = { (parts: Int, depth: Int) in
      #"{"op":"add","path":"\#(path(parts))","value":\#(nested(depth))}"#
    }
    let remove = #"{"op":"remove","path":"/a"}"#
    _ = try apply("[\(add(40, 24)),\(remove)]", to: nested(40))
    #expect(throws: JSONPatchError.self) {
      _ = try apply("[\(add(40, 25)),\(remove)]", to: nested(40))
    }
    let move = #"{"op":"move","from":"/b","path":"\#(path(40))"}"#
    #expect(throws: JSONPatchError.self) {
      _ = try apply("[\(move),\(remove)]", to: #"{"a":\#(nested(39)),"b":\#(nested(25))}"#)
    }
  }
}
