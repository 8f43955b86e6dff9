import JSON
import Operators
import Testing

@Suite struct ProjectionTests {
  private static let text =
    #"{"_id":7,"a":1,"b":{"x":1,"y":{"z":2}},"c":[{"x":1,"y":2},5,[{"x":3}]]}"#

  @Test(arguments: [
    ("{}", text),
    (#"{"a":1}"#, #"{"_id":7,"a":1}"#),
    (#"{"a":true,"_id":0}"#, #"{"a":1}"#),
    (#"{"_id":1}"#, #"{"_id":7}"#),
    (#"{"_id":0}"#, #"{"a":1,"b":{"x":1,"y":{"z":2}},"c":[{"x":1,"y":2},5,[{"x":3}]]}"#),
    (#"{"_id":1,"a":0,"c":0}"#, #"{"_id":7,"b":{"x":1,"y":{"z":2}}}"#),
    (#"{"b.y.z":1}"#, #"{"_id":7,"b":{"y":{"z":2}}}"#),
    (#"{"b":{"y":{"z":1}}}"#, #"{"_id":7,"b":{"y":{"z":2}}}"#),
    (#"{"b.y":0,"c":0}"#, #"{"_id":7,"a":1,"b":{"x":1}}"#),
    (#"{"c.x":1}"#, #"{"_id":7,"c":[{"x":1},[{"x":3}]]}"#),
    (#"{"c.x":0,"a":0,"b":0}"#, #"{"_id":7,"c":[{"y":2},5,[{}]]}"#),
    (#"{"a.x":1,"nothing":1}"#, #"{"_id":7}"#),
    (#"{"a":{"$numberDouble":"NaN"}}"#, #"{"_id":7,"a":1}"#),
    (
      #"{"a":{"$numberLong":"0"}}"#,
      #"{"_id":7,"b":{"x":1,"y":{"z":2}},"c":[{"x":1,"y":2},5,[{"x":3}]]}"#
    ),
  ])
  func shows(_ projection: String, _ expected: String) throws {
    var budget = Budget()
    let shown = try Projection(json(projection)).apply(to: document(Self.text), &budget)
    #expect(shown.json(.stored).text == expected)
  }

  private static let lists = #"{"_id":7,"n":1,"a":[1,2,3,4,5],"b":{"c":[1,2,3],"d":1}}"#
  private static let rows =
    #"{"e":[{"x":1,"y":[1,2]},{"x":2,"y":[3,4]},{"x":2,"y":[5]},[{"y":[6]}]]}"#

  /// - Source: MongoDB manual, "$slice (projection)".
  @Test(arguments: [
    ("2", "[1,2]"), ("-2", "[4,5]"), ("0", "[]"), ("9", "[1,2,3,4,5]"), ("-9", "[1,2,3,4,5]"),
    ("[1,2]", "[2,3]"), ("[-2,1]", "[4]"), ("[-9,2]", "[1,2]"), ("[9,1]", "[]"), ("[4,9]", "[5]"),
    ("1.9", "[1]"), (#"{"$numberLong":"2147483648"}"#, "[1,2,3,4,5]"),
    (#"{"$numberDouble":"NaN"}"#, "[]"), (#"[{"$numberDouble":"-Infinity"},1]"#, "[1]"),
  ])
  func `a slice keeps elements and excludes nothing`(operand: String, kept: String) throws {
    let shown = try Self.shown(#"{"a":{"$slice":\#(operand)}}"#, Self.lists)
    #expect(shown == #"{"_id":7,"n":1,"a":\#(kept),"b":{"c":[1,2,3],"d":1}}"#)
  }

  /// - Source: MongoDB manual, "Projection operators"; `projection_parser.cpp` for projections of
  ///   operators alone.
  @Test(arguments: [
    ("{}", #"{"a":{"$slice":1},"n":1}"#, #"{"_id":7,"n":1,"a":[1]}"#),
    ("{}", #"{"a":{"$slice":1},"_id":1}"#, #"{"_id":7,"a":[1]}"#),
    ("{}", #"{"a":{"$slice":1},"_id":0,"b":0}"#, #"{"n":1,"a":[1]}"#),
    ("{}", #"{"b.c":{"$slice":-1}}"#, #"{"_id":7,"n":1,"a":[1,2,3,4,5],"b":{"c":[3],"d":1}}"#),
    ("{}", #"{"b":{"c":{"$slice":1}},"n":1}"#, #"{"_id":7,"n":1,"b":{"c":[1]}}"#),
    ("{}", #"{"n":{"$slice":1},"a":0,"b":0}"#, #"{"_id":7,"n":1}"#),
    ("{}", #"{"a":{"$elemMatch":{"$gt":3}}}"#, #"{"_id":7,"a":[4]}"#),
    ("{}", #"{"a":{"$elemMatch":{"$gt":3}},"_id":0}"#, #"{"a":[4]}"#),
    ("{}", #"{"a":{"$elemMatch":{"$gt":9}},"n":1}"#, #"{"_id":7,"n":1}"#),
    ("{}", #"{"n":{"$elemMatch":{"$gt":0}}}"#, #"{"_id":7}"#),
    ("{}", #"{"a":{"$elemMatch":{"$gt":3}},"b":0}"#, #"{"_id":7,"n":1,"a":[4]}"#),
    (#"{"a":{"$gt":2}}"#, #"{"a.$":1}"#, #"{"_id":7,"a":[3]}"#),
    (#"{"a":{"$gt":2}}"#, #"{"a.$":1,"n":1}"#, #"{"_id":7,"n":1,"a":[3]}"#),
    (#"{"b.c":2}"#, #"{"b.c.$":1}"#, #"{"_id":7,"b":{"c":[2]}}"#),
    (#"{"n":1}"#, #"{"n.$":1}"#, #"{"_id":7,"n":1}"#),
  ])
  func `operators select elements`(query: String, projection: String, result: String) throws {
    #expect(try Self.shown(projection, Self.lists, query) == result)
  }

  @Test(arguments: [
    ("{}", #"{"e":{"$elemMatch":{"x":2}}}"#, #"{"e":[{"x":2,"y":[3,4]}]}"#),
    ("{}", #"{"e":{"$elemMatch":{"x":2,"y":5}}}"#, #"{"e":[{"x":2,"y":[5]}]}"#),
    (
      "{}", #"{"e.y":{"$slice":1}}"#,
      #"{"e":[{"x":1,"y":[1]},{"x":2,"y":[3]},{"x":2,"y":[5]},[{"y":[6]}]]}"#
    ),
    (#"{"e.x":2}"#, #"{"e.$":1}"#, #"{"e":[{"x":2,"y":[3,4]}]}"#),
    (#"{"e.x":2}"#, #"{"e.y.$":1}"#, #"{"e":[{"y":[3,4]}]}"#),
    (#"{"e":{"$elemMatch":{"x":2,"y":5}}}"#, #"{"e.$":1}"#, #"{"e":[{"x":2,"y":[5]}]}"#),
  ])
  func `operators select documents`(query: String, projection: String, result: String) throws {
    #expect(try Self.shown(projection, Self.rows, query) == result)
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"e.$":1}"#, "/e.$"), (#"{"a":1}"#, #"{"a.$":0}"#, "/a.$"),
    (#"{"a":1}"#, #"{"a.$":1,"b":0}"#, "/b"), (#"{"a":1}"#, #"{"a.$.b":1}"#, "/a.$.b"),
    (#"{"a":1,"b":1}"#, #"{"a.$":1,"b.$":1}"#, "/b.$"), (#"{"a":1}"#, #"{"$":1}"#, "/$"),
    (#"{"a":1}"#, #"{"a.$":1,"e":{"$elemMatch":{"x":1}}}"#, "/e/$elemMatch"),
    (#"{"a":1}"#, #"{"e":{"$elemMatch":{"x":1}},"a.$":1}"#, "/a.$"),
    (#"{"a":1}"#, #"{"a.$":{"$slice":1}}"#, "/a.$"), (#"{"a":1}"#, #"{"a.$":1,"a":1}"#, "/a"),
    ("{}", #"{"b.c":{"$elemMatch":{"$gt":1}}}"#, "/b.c/$elemMatch"),
    ("{}", #"{"a":{"$elemMatch":1}}"#, "/a/$elemMatch"),
    ("{}", #"{"a":{"$elemMatch":{"$frob":1}}}"#, "/a/$elemMatch/$frob"),
    ("{}", #"{"a":{"$slice":[1,0]}}"#, "/a/$slice"), ("{}", #"{"a":{"$slice":[1]}}"#, "/a/$slice"),
    ("{}", #"{"a":{"$slice":"x"}}"#, "/a/$slice"),
    ("{}", #"{"a":{"$slice":1,"b":1}}"#, "/a/$slice"),
    ("{}", #"{"a":{"$slice":1},"a.b":1}"#, "/a.b"), ("{}", #"{"a":{"$meta":"x"}}"#, "/a/$meta"),
  ])
  func `an invalid selection reports its place`(
    query: String, projection: String, pointer: String
  ) throws {
    let error = #expect(throws: OperatorError.self) {
      _ = try Projection(json(projection), of: Query(json(query)))
    }
    #expect(error?.pointer == pointer)
    #expect(error?.code == .badValue)
  }

  @Test func `a positional projection needs an element that the query found`() throws {
    let error = #expect(throws: OperatorError.self) {
      try Self.shown(#"{"a.$":1}"#, Self.lists, #"{"a":{"$not":{"$gt":9}}}"#)
    }
    #expect(error?.code == .badValue)
  }

  private static func shown(
    _ projection: String, _ text: String, _ query: String = "{}"
  ) throws -> String {
    var budget = Budget()
    let (query, document) = (try Query(json(query)), try document(text))
    let match = try #require(try query.match(document, &budget))
    return try Projection(json(projection), of: query)
      .apply(to: document, position: match.position, &budget).json(.stored).text
  }

  @Test(arguments: [
    (#"{"a":1,"b":0}"#, "/b"), (#"{"a":"$b"}"#, "/a"), (#"{"a":{"$slice":1}}"#, "/a/$slice"),
    (#"{"a":1,"a.b":1}"#, "/a.b"), (#"{"a.b":1,"a":1}"#, "/a"), (#"{"a..b":1}"#, "/a..b"),
    (#"{"$x":1}"#, "/$x"), (#"{"a":[1]}"#, "/a"), (#"{"a":null}"#, "/a"), (#"{"a":{}}"#, "/a"),
    (#"{"a.$":1}"#, "/a.$"),
  ])
  func refuses(_ projection: String, _ pointer: String) throws {
    let error = #expect(throws: OperatorError.self) { try Projection(try json(projection)) }
    #expect(error?.pointer == pointer)
  }

  @Test func aHugeOneIsRefused() throws {
    let names = (0...1_000).map { "\"f\($0)\":1" }.joined(separator: ",")
    #expect(throws: OperatorError.self) { try Projection(try json("{\(names)}")) }
  }
}
