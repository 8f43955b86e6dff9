import Testing

@testable import JSON

@Suite struct ParserTests {
  private func parse(_ text: String) throws(JSONError) -> JSON { try JSON.parse(Array(text.utf8)) }

  @Test(arguments: [
    "null", "true", " [ ] ", "{}", #"{"a":{"b":[1,-0,2.50,1e5,1E-5]}}"#, #""\u00e9\ud83d\ude00""#,
    "{\"\u{e9}\":1,\"e\u{301}\":2}", "1e308", "-1e-308", "1e349", "-4.9406564584124654e-324",
    "-1.7976931348623157e308", "0", "0.0e0", #""\\\"\/\b\f\n\r\t""#,
  ])
  func `valid JSON is parsed`(text: String) throws { _ = try parse(text) }

  @Test(arguments: [
    ("", "json.empty"), ("  ", "json.empty"), ("nul", "json.syntax"), ("[1,]", "json.syntax"),
    ("[1 2]", "json.syntax"), ("{\"a\" 1}", "json.syntax"), ("{a:1}", "json.syntax"),
    ("{\"a\":1,}", "json.syntax"), ("01", "json.trailing"), ("1.", "json.syntax"),
    (".5", "json.syntax"), ("+1", "json.syntax"), ("1e", "json.syntax"), ("NaN", "json.syntax"),
    ("\"\t\"", "json.syntax"), ("\"\\x\"", "json.syntax"), ("\"abc", "json.syntax"),
    ("\"\\u12\"", "json.syntax"), ("1 1", "json.trailing"), ("{}}", "json.trailing"),
    (#"{"a":1,"\u0061":2}"#, "json.duplicate_key"), (#""\u0000""#, "json.nul"),
    (#""\ud800""#, "json.surrogate"), (#""\ud800\u0041""#, "json.surrogate"),
    (#""\udc00""#, "json.surrogate"), ("1e350", "json.number"), ("1e131071", "json.number"),
    ("1e-400", "json.number"), ("1e99999999999999999999", "json.number"),
    ("1e-9223372036854775808", "json.number"), ("10e9223372036854775807", "json.number"),
    ("0.1e-9223372036854775808", "json.number"), ("-1e-99999999999999999999", "json.number"),
    ("10e-349", "json.number"), ("0.0000000000e-9223372036854775808x", "json.trailing"),
    ("\u{feff}1", "json.syntax"), ("// c\n1", "json.syntax"), ("'a'", "json.syntax"),
  ])
  func `invalid JSON is refused with its code`(text: String, code: String) {
    let error = #expect(throws: JSONError.self) { _ = try parse(text) }
    #expect(error?.reason.rawValue == code)
  }

  @Test(arguments: [
    [0x22, 0xff, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xf5, 0x80, 0x80, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22], [0x22, 0x5c, 0x6e, 0xff, 0x22],
  ])
  func `text that is not UTF-8 is refused`(bytes: [UInt8]) {
    let error = #expect(throws: JSONError.self) { _ = try JSON.parse(bytes) }
    #expect(error?.reason == .utf8)
  }

  @Test func `values at the limits are accepted, and values above are refused`() throws {
    let nested = { (depth: Int) in
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try parse(nested(64))
    #expect(throws: JSONError.self) { _ = try parse(nested(65)) }
    #expect(throws: JSONError.self) { _ = try parse(String(repeating: "{\"a\":", count: 65)) }
    for written in ["7", "7.", "-0."] {
      let limit = 350 - written.utf8.count
      _ = try parse(written + String(repeating: "7", count: limit))
      #expect(throws: JSONError.self) {
        _ = try parse(written + String(repeating: "7", count: limit + 1))
      }
    }
  }

  @Test(arguments: [
    ("0e-16383", "0.0"), ("-0e-9223372036854775808", "-0.0"),
    ("0.00e9223372036854775807", "0"), ("-0e1073741823", "-0"), ("0e+99999999999999999999", "0"),
    ("0e350", "0e350"), ("0e-1000", "0.0"), ("0e-10", "0e-10"), ("0E99", "0E99"),
  ])
  func `zero with any exponent is zero`(text: String, read: String) throws {
    #expect(try parse(text).text == read)
  }

  @Test func `an error has its pointer and offset`() {
    let error = #expect(throws: JSONError.self) {
      _ = try parse(#"{"a":[1,{"b/c":tru}]}"#)
    }
    #expect(error?.pointer == "/a/1/b~1c")
    #expect(error?.offset == 15)
  }

  @Test(arguments: [
    #"{"b":2.0,"a":[1e5,"\u0001\"\\é😀",null,true],"c":{}}"#, "[]", "-0.50", #""""#,
  ])
  func `written JSON parses back with its order and spelling`(text: String) throws {
    let value = try parse(text)
    #expect(value.text == text)
    #expect(try JSON.parse(value.serialized()) == value)
  }

  @Test func `an object keeps its order through changes and removals`() {
    var object = JSONObject()
    for index in 0..<100 { object["k\(index)"] = .number(JSONNumber(index)) }
    object["k50"] = nil
    object["k7"] = "seven"
    #expect(object.count == 99)
    #expect(object["k50"] == nil)
    #expect(object.keys == (0..<100).filter { $0 != 50 }.map { "k\($0)" })
    #expect(object["k7"] == "seven")
    for index in 0..<100 { object["k\(index)"] = nil }
    #expect(object.count == 0)
    object["again"] = true
    #expect(object.keys == ["again"])
  }

  @Test func `strings compare by bytes`() {
    #expect(JSON.string("\u{e9}") != JSON.string("e\u{301}"))
    #expect(JSON.array(["\u{e9}"]) != JSON.array(["e\u{301}"]))
    let keys = Set(["\u{e9}", "e\u{301}", "e\u{301}"].map { ByteString($0) })
    #expect(keys.count == 2)
    #expect(ByteString("e\u{301}") < ByteString("\u{e9}"))
  }

  /// Swift treats a slash, tilde or dot with a combining accent as one character.
  @Test func `pointers are parsed and written by bytes`() {
    #expect(
      JSONPointer("/a/\u{301}b")?.tokens.map { Array($0.utf8) } == [[0x61], [0xcc, 0x81, 0x62]]
    )
    #expect(JSONPointer("/~1\u{301}/~0\u{301}")?.description == "/~1\u{301}/~0\u{301}")
    #expect(JSONPointer.escaped("/\u{301}~\u{301}") == "~1\u{301}~0\u{301}")
    #expect(JSONPointer("/~\u{301}0") == nil)
  }

  @Test(
    arguments: [
      ("/ab/cd", 6, "/ab/cd"), ("/ab/cd", 5, "/ab"), ("/ab/cd", 3, "/ab"), ("/ab/cd", 2, ""),
      ("/abcdef", 3, ""), ("", 0, ""), ("/a/", 2, "/a"), ("/é/\u{301}", 4, "/é"), ("//", 1, "/"),
    ]
  )
  func `a pointer that is too long names the closest enclosing value`(
    _ pointer: String,
    bytes: Int,
    told: String
  ) {
    #expect(Array(JSONPointer.shortened(pointer, bytes).utf8) == Array(told.utf8))
  }

  @Test func `numbers compare exactly by value`() {
    #expect(JSONNumber("1") == JSONNumber("1.0"))
    #expect(JSONNumber("10e-1") == JSONNumber("1"))
    #expect(JSONNumber("-0") == JSONNumber("0.00"))
    #expect(JSONNumber("9007199254740993") != JSONNumber("9007199254740992"))
    #expect(JSONNumber("1") != JSONNumber("-1"))
  }
}

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
