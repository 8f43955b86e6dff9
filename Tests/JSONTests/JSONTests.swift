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
