import Testing

@testable import Operators

@Suite struct OrderTests {
  /// Each is below the next.
  private static let ascending = [
    #"{"$minKey":1}"#, "null", #"{"$numberDouble":"NaN"}"#, #"{"$numberDouble":"-Infinity"}"#,
    #"{"$numberDecimal":"-1E+400"}"#, "-9223372036854775808", "-1.5",
    #"{"$numberDecimal":"-1.4"}"#, "-1", "0", #"{"$numberDouble":"5e-324"}"#,
    #"{"$numberDecimal":"0.1"}"#, "0.1", "1", #"{"$numberDecimal":"1.0000000000000000001"}"#,
    #"{"$numberLong":"9007199254740992"}"#, #"{"$numberLong":"9007199254740993"}"#,
    "9007199254740994.0", "9223372036854775807", "9223372036854775808.0", "1e308",
    #"{"$numberDecimal":"1E+400"}"#, #"{"$numberDecimal":"Infinity"}"#, #""""#, #""A""#, #""a""#,
    #""a\u0001""#, #""b""#, #""e\u0301""#, #""é""#, "{}", #"{"a":null}"#, #"{"a":1}"#,
    #"{"a":1,"b":1}"#, #"{"a":2}"#, #"{"b":1}"#, #"{"a":"x"}"#, "[]", "[null]", "[1]", "[1,1]",
    "[2]", #"{"$binary":{"base64":"/w==","subType":"00"}}"#,
    #"{"$binary":{"base64":"AAA=","subType":"00"}}"#,
    #"{"$binary":{"base64":"AAA=","subType":"05"}}"#, #"{"$oid":"000000000000000000000000"}"#,
    #"{"$oid":"00000000000000000000000a"}"#, "false", "true", #"{"$date":{"$numberLong":"-1"}}"#,
    #"{"$date":"1970-01-01T00:00:00Z"}"#, #"{"$timestamp":{"t":1,"i":2}}"#,
    #"{"$timestamp":{"t":2,"i":1}}"#, #"{"$regularExpression":{"pattern":"a","options":""}}"#,
    #"{"$regularExpression":{"pattern":"a","options":"i"}}"#,
    #"{"$dbPointer":{"$ref":"c","$id":{"$oid":"000000000000000000000000"}}}"#, #"{"$code":"f"}"#,
    #"{"$code":"f","$scope":{}}"#, #"{"$maxKey":1}"#,
  ]

  @Test func `all values have one order`() throws {
    let values = try Self.ascending.map { try value($0) }
    for (position, first) in values.enumerated() {
      for (other, second) in values.enumerated() {
        #expect(
          BSON.compare(first, second) == Order(position, other),
          "\(Self.ascending[position]) and \(Self.ascending[other])"
        )
      }
    }
  }

  @Test(arguments: [
    [
      "1", "1.0", #"{"$numberLong":"1"}"#, #"{"$numberDecimal":"1.00"}"#,
      #"{"$numberDecimal":"10E-1"}"#,
    ],
    ["0", #"{"$numberDouble":"-0.0"}"#, #"{"$numberDecimal":"-0E+5"}"#],
    ["0.5", #"{"$numberDecimal":"0.50"}"#], [#""a""#, #"{"$symbol":"a"}"#],
    [#"{"$numberDouble":"NaN"}"#, #"{"$numberDecimal":"NaN"}"#],
    [#"{"$numberDouble":"Infinity"}"#, #"{"$numberDecimal":"Infinity"}"#],
    [#"{"a":[1,{"b":2}]}"#, #"{"a":[1.0,{"b":2.0}]}"#],
    [
      "1e23",
      #"{"$numberDecimal":"99999999999999991611392"}"#,
    ],
  ])
  func `equal values have one hash, and stay distinct`(texts: [String]) throws {
    let values = texts.compactMap { try? value($0) }
    for first in values {
      for second in values {
        #expect(BSON.compare(first, second) == .same)
        #expect(EqualityKey(first).hashValue == EqualityKey(second).hashValue)
      }
    }
    #expect(Set(values.map { EqualityKey($0) }).count == 1)
    #expect(values.indices.allSatisfy { index in values.firstIndex(of: values[index]) == index })
  }

  @Test func `the order of fields counts`() throws {
    #expect(try value(#"{"a":1,"b":2}"#) != value(#"{"b":2,"a":1}"#))
    #expect(try BSON.compare(value(#"{"a":1,"b":2}"#), value(#"{"b":2,"a":1}"#)) == .ascending)
  }
}
