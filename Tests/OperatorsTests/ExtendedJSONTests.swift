import JSON
import Operators
import Testing

@Suite struct ExtendedJSONTests {
  /// Each row: the input, and its canonical, relaxed and stored forms.
  @Test(arguments: [
    ("5", #"{"$numberInt":"5"}"#, "5", "5"),
    ("-2147483648", #"{"$numberInt":"-2147483648"}"#, "-2147483648", "-2147483648"),
    ("2147483648", #"{"$numberLong":"2147483648"}"#, "2147483648", "2147483648"),
    (#"{"$numberLong":"5"}"#, #"{"$numberLong":"5"}"#, "5", #"{"$numberLong":"5"}"#),
    (#"{"$numberInt":"7"}"#, #"{"$numberInt":"7"}"#, "7", "7"),
    ("1.0", #"{"$numberDouble":"1.0"}"#, "1.0", "1.0"),
    ("1.50", #"{"$numberDouble":"1.5"}"#, "1.50", "1.50"),
    ("1e2", #"{"$numberDouble":"100.0"}"#, "1e2", "100.0"),
    (
      "1e300", #"{"$numberDouble":"1e+300"}"#, "1e300",
      "1" + String(repeating: "0", count: 300) + ".0"
    ),
    ("-1.5e-7", #"{"$numberDouble":"-1.5e-07"}"#, "-1.5e-7", "-0.00000015"),
    (
      #"{"$numberDouble":"18014398509481984"}"#, #"{"$numberDouble":"1.8014398509481984e+16"}"#,
      "1.8014398509481984e+16", "18014398509481984.0"
    ),
    ("-1e320", #"{"$numberDouble":"-Infinity"}"#, "-1e320", "-1e320"),
    ("0.00000001", #"{"$numberDouble":"1e-08"}"#, "0.00000001", "0.00000001"),
    (
      "123456789012345678901", #"{"$numberDouble":"1.2345678901234568e+20"}"#,
      "123456789012345678901", "123456789012345678901"
    ),
    (
      #"{"$numberDouble":"-0.0"}"#, #"{"$numberDouble":"-0.0"}"#, "-0.0",
      #"{"$numberDouble":"-0.0"}"#
    ),
    (
      #"{"$numberDouble":"NaN"}"#, #"{"$numberDouble":"NaN"}"#, #"{"$numberDouble":"NaN"}"#,
      #"{"$numberDouble":"NaN"}"#
    ),
    (
      #"{"$numberDouble":"-Infinity"}"#, #"{"$numberDouble":"-Infinity"}"#,
      #"{"$numberDouble":"-Infinity"}"#, #"{"$numberDouble":"-Infinity"}"#
    ),
    (
      #"{"$date":"2012-12-24T12:15:30.501Z"}"#, #"{"$date":{"$numberLong":"1356351330501"}}"#,
      #"{"$date":"2012-12-24T12:15:30.501Z"}"#, #"{"$date":"2012-12-24T12:15:30.501Z"}"#
    ),
    (
      #"{"$date":"2000-02-29T00:00:00+01:30"}"#, #"{"$date":{"$numberLong":"951777000000"}}"#,
      #"{"$date":"2000-02-28T22:30:00Z"}"#, #"{"$date":"2000-02-28T22:30:00Z"}"#
    ),
    (
      #"{"$date":"2012-12-24T16:15:30.5-0800"}"#, #"{"$date":{"$numberLong":"1356394530500"}}"#,
      #"{"$date":"2012-12-25T00:15:30.500Z"}"#, #"{"$date":"2012-12-25T00:15:30.500Z"}"#
    ),
    (
      #"{"$date":{"$numberLong":"253402300799999"}}"#,
      #"{"$date":{"$numberLong":"253402300799999"}}"#, #"{"$date":"9999-12-31T23:59:59.999Z"}"#,
      #"{"$date":"9999-12-31T23:59:59.999Z"}"#
    ),
    (
      #"{"$date":{"$numberLong":"-1"}}"#, #"{"$date":{"$numberLong":"-1"}}"#,
      #"{"$date":{"$numberLong":"-1"}}"#, #"{"$date":{"$numberLong":"-1"}}"#
    ),
    (
      #"{"$uuid":"00112233-4455-6677-8899-aabbccddeeff"}"#,
      #"{"$binary":{"base64":"ABEiM0RVZneImaq7zN3u/w==","subType":"04"}}"#,
      #"{"$binary":{"base64":"ABEiM0RVZneImaq7zN3u/w==","subType":"04"}}"#,
      #"{"$binary":{"base64":"ABEiM0RVZneImaq7zN3u/w==","subType":"04"}}"#
    ),
    (
      #"{"$regularExpression":{"pattern":"^a","options":"mi"}}"#,
      #"{"$regularExpression":{"pattern":"^a","options":"im"}}"#,
      #"{"$regularExpression":{"pattern":"^a","options":"im"}}"#,
      #"{"$regularExpression":{"pattern":"^a","options":"im"}}"#
    ),
  ])
  func `numbers, dates and similar values are written in each form`(
    text: String, canonical: String, relaxed: String, stored: String
  ) throws {
    let value = try value(text)
    #expect(value.json(.canonical).text == canonical)
    #expect(value.json(.relaxed).text == relaxed)
    #expect(value.json(.stored).text == stored)
  }

  @Test(arguments: [
    #"{"$oid":"0123456789abcdef01234567"}"#, #"{"$symbol":"s"}"#, #"{"$numberDecimal":"1.10"}"#,
    #"{"$binary":{"base64":"","subType":"00"}}"#, #"{"$binary":{"base64":"AQI=","subType":"80"}}"#,
    #"{"$code":"f()"}"#, #"{"$code":"f()","$scope":{"x":1}}"#,
    #"{"$timestamp":{"t":4294967295,"i":1}}"#,
    #"{"$dbPointer":{"$ref":"c","$id":{"$oid":"0123456789abcdef01234567"}}}"#, #"{"$minKey":1}"#,
    #"{"$maxKey":1}"#, #"{"$undefined":true}"#, #"{"$ref":"c","$id":1,"$db":"d"}"#,
    #"{"a":[{"b":null},true,"é"],"":{}}"#, #"{"$unknown":1,"b":2}"#,
    #"{"$regex":"a","$options":"i"}"#,
  ])
  func `other values survive writing and parsing`(text: String) throws {
    #expect(try value(text).json(.stored).text == text)
    #expect(try BSON(try value(text).json(.canonical)) == value(text))
    #expect(try BSON(try value(text).json(.relaxed)) == value(text))
  }

  @Test func `the order of a wrapper's members does not count`() throws {
    let binary = try value(#"{"$binary":{"subType":"0","base64":"AQ=="}}"#)
    #expect(binary == .binary([1], subtype: 0))
    #expect(try value(#"{"$scope":{},"$code":"f"}"#) == .javascript("f", scope: BSONDocument()))
    #expect(
      try value(#"{"$oid":"ABCDEFABCDEFABCDEFABCDEF"}"#) == .objectID("abcdefabcdefabcdefabcdef")
    )
  }

  @Test(arguments: [
    #"{"$oid":"0123"}"#, #"{"$oid":"0123456789abcdef0123456g"}"#, #"{"$oid":1}"#,
    #"{"$oid":"0123456789abcdef01234567","x":1}"#, #"{"x":1,"$oid":"0123456789abcdef01234567"}"#,
    #"{"$numberInt":5}"#, #"{"$numberInt":"2147483648"}"#, #"{"$numberInt":"+5"}"#,
    #"{"$numberInt":"5.0"}"#, #"{"$numberLong":"9223372036854775808"}"#, #"{"$numberLong":""}"#,
    #"{"$numberDouble":"inf"}"#, #"{"$numberDouble":"0x1p3"}"#, #"{"$numberDouble":1.0}"#,
    #"{"$numberDouble":""}"#, #"{"$numberDecimal":"1.2.3"}"#, #"{"$numberDecimal":"e5"}"#,
    #"{"$binary":"AQ=="}"#, #"{"$binary":{"base64":"A","subType":"00"}}"#,
    #"{"$binary":{"base64":"AQ==","subType":"000"}}"#, #"{"$binary":{"base64":"AQ=="}}"#,
    #"{"$uuid":"00112233-4455-6677-8899-aabbccddeef"}"#,
    #"{"$uuid":"0011223344556677-8899-aabbccddeeff----"}"#, #"{"$code":1}"#,
    #"{"$code":"f","$scope":1}"#, #"{"$code":"f","x":{}}"#,
    #"{"$code":"f","$scope":{"$oid":"0123456789abcdef01234567"}}"#,
    #"{"$timestamp":{"t":-1,"i":1}}"#,
    #"{"$timestamp":{"t":1}}"#, #"{"$timestamp":{"t":4294967296,"i":1}}"#,
    #"{"$regularExpression":{"pattern":"a"}}"#, #"{"$dbPointer":{"$ref":"c","$id":1}}"#,
    #"{"$date":5}"#, #"{"$date":"2012-12-24"}"#, #"{"$date":"2013-02-29T00:00:00Z"}"#,
    #"{"$date":"2100-02-29T00:00:00Z"}"#,
    #"{"$date":"2012-12-24T24:00:00Z"}"#, #"{"$date":"2012-12-24T12:00:00"}"#,
    #"{"$date":{"$numberLong":"1","x":1}}"#, #"{"$minKey":2}"#, #"{"$undefined":false}"#,
    // The Kelvin sign, which Swift treats as equal to the letter K.
    "{\"$min\u{212a}ey\":1}",
  ])
  func `a malformed wrapper is data`(text: String) throws {
    let whole = "{\"a/b\":[0,\(text)]}"
    guard case .document = try value(text) else { return #expect(Bool(false), "\(text)") }
    #expect(try value(whole).json(.stored).text == whole)
    let unset = try applying(#"{"$unset":{"a":1},"$set":{"b":1}}"#, to: "{\"a\":\(text)}")
    #expect(unset.text == #"{"b":1}"#)
    let set = try applying("{\"$set\":{\"a\":\(text)}}", to: "{}")
    #expect(try set.text == "{\"a\":\(json(text).inStoredOrder().text)}")
  }

  @Test func `the whole document is not a wrapper`() throws {
    let wrapper = #"{"$oid":"0123456789abcdef01234567"}"#
    #expect(try document(wrapper).json(.stored).text == wrapper)
    #expect(
      try applying(#"{"$set":{"b":1}}"#, to: wrapper).text
        == #"{"$oid":"0123456789abcdef01234567","b":1}"#
    )
  }

  @Test func `a document is at most 64 levels deep, and its container somewhat more`() throws {
    func nested(_ depth: Int, _ inmost: JSON = 1) -> JSON {
      (0..<depth).reduce(inmost) { json, _ in .array([json]) }
    }
    _ = try BSON(nested(72))
    let error = #expect(throws: OperatorError.self) { try BSON(nested(73)) }
    #expect(error?.code == .overflow)
    // A type wrapper does not count as a level if the stored form has no wrapper.
    for update: JSON in [
      ["a": nested(63, ["$numberInt": "1"])], ["$set": ["a": nested(63, ["$numberInt": "1"])]],
    ] {
      #expect(try applying(update.text, to: "{}").text.contains("1"))
    }
    for update: JSON in [["a": nested(64)], ["$set": ["a": nested(64)]]] {
      let error = #expect(throws: OperatorError.self) { try applying(update.text, to: "{}") }
      #expect(error?.code == .overflow)
    }
  }

  @Test(
    arguments: [
      0, 1, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, 68_169_600_000,
      253_402_300_799_999,
    ] as [Int64]
  )
  func `dates survive formatting and parsing`(milliseconds: Int64) throws {
    let text = BSON.date(milliseconds).json(.relaxed).text
    #expect(!text.contains("numberLong"))
    #expect(try value(text) == .date(milliseconds))
  }

  /// Steps of 29 days reach every day of the month.
  @Test func `days from 1970 to 2400 survive formatting and parsing`() throws {
    for day in stride(from: Int64(0), to: 157_054, by: 29) {
      let date = BSON.date(day * 86_400_000)
      let isSame = try BSON(date.json(.relaxed)) == date
      if !isSame { Issue.record("day \(day): \(date.json(.relaxed).text)") }
    }
    #expect(BSON.date(157_053 * 86_400_000).json(.relaxed).text.contains("2399-12-31"))
  }

  @Test(arguments: [
    (#"{"$numberLong":"5"}"#, "5"), (#"{"$numberInt":"-6"}"#, "-6"),
    (#"{"$numberLong":"9223372036854775807"}"#, "9223372036854775807"),
    (#"{"$numberDouble":"1.5"}"#, "1.5"), (#"{"$numberDouble":"NaN"}"#, #""NaN""#),
    (#"{"$numberDouble":"-Infinity"}"#, #""-Infinity""#),
    (#"{"$numberDecimal":"1.10"}"#, "1.10"), (#"{"$numberDecimal":"1E+300"}"#, "1E+300"),
    (#"{"$numberDecimal":"1E+301"}"#, #""1E+301""#), (#"{"$numberDecimal":"NaN"}"#, #""NaN""#),
    (#"{"$numberDecimal":"-1E-6000"}"#, #""-1E-6000""#),
    (#"{"$date":"2012-12-24T13:15:30.501+01:00"}"#, #""2012-12-24T12:15:30.501Z""#),
    (#"{"$date":{"$numberLong":"-1000"}}"#, #""1969-12-31T23:59:59Z""#),
    (#"{"$date":{"$numberLong":"-62135596800000"}}"#, #""0001-01-01T00:00:00Z""#),
    (#"{"$date":{"$numberLong":"-62135596800001"}}"#, #""-62135596800001""#),
    (#"{"$date":{"$numberLong":"9223372036854775807"}}"#, #""9223372036854775807""#),
    (#"{"$oid":"57E193D7A9CC81B4027498B5"}"#, #""57e193d7a9cc81b4027498b5""#),
    (
      #"{"$dbPointer":{"$ref":"b","$id":{"$oid":"56e1fc72e0c917e9c4714161"}}}"#,
      #""56e1fc72e0c917e9c4714161""#
    ),
    (
      #"{"$uuid":"73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}"#,
      #""73ffd264-44b3-4c69-90e8-e7d1dfc035d4""#
    ),
    (#"{"$binary":{"base64":"AQI=","subType":"04"}}"#, #""AQI=""#),
    (#"{"$symbol":"a"}"#, #""a""#), (#"{"$code":"b"}"#, #""b""#),
    (#"{"$code":"b","$scope":{"x":1}}"#, #""b""#),
    (#"{"$regularExpression":{"pattern":"^a","options":"i"}}"#, #""^a""#),
    (#"{"$timestamp":{"t":42,"i":1}}"#, "42"), (#"{"$minKey":1}"#, #""MinKey""#),
    (#"{"$maxKey":1}"#, #""MaxKey""#), (#"{"$undefined":true}"#, "null"),
    // These are data, though their names look like those of types.
    (#"{"$oid":"x"}"#, #"{"$oid":"x"}"#), (#"{"$numberLong":5}"#, #"{"$numberLong":5}"#),
    (#"{"$numberLong":"5","a":1}"#, #"{"$numberLong":"5","a":1}"#), ("[1,null]", "[1,null]"),
  ])
  func `each type has a form in plain JSON`(text: String, plain: String) throws {
    #expect(BSON.plain(try json(text)).text == plain)
    let document = try json(#"{"a":[0,\#(text)],"b":1}"#)
    #expect(BSON.plain(document).text == #"{"a":[0,\#(plain)],"b":1}"#)
  }
}
