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
