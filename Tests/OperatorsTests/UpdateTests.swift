import JSON
import Operators
import Testing

@Suite struct UpdateTests {
  /// A document, an update, and the document that results; the same text means unmodified.
  @Test(
    arguments: [
      // $set
      (#"{"a":1}"#, #"{"$set":{"b.c":2}}"#, #"{"a":1,"b":{"c":2}}"#),
      (#"{"a":1}"#, #"{"$set":{"a":1}}"#, #"{"a":1}"#),
      (#"{"a":1}"#, #"{"$set":{"a":1.0}}"#, #"{"a":1.0}"#),
      (#"{"a":1}"#, #"{"$set":{"a":{"$numberLong":"1"}}}"#, #"{"a":{"$numberLong":"1"}}"#),
      (#"{"a":{"x":1,"y":2}}"#, #"{"$set":{"a":{"y":2,"x":1}}}"#, #"{"a":{"x":1,"y":2}}"#),
      ("{}", #"{"$set":{"b":1,"a":2,"10":3,"9":4}}"#, #"{"9":4,"10":3,"a":2,"b":1}"#),
      ("{}", #"{"$set":{"a.0.b":1}}"#, #"{"a":{"0":{"b":1}}}"#),
      (#"{"a":[1]}"#, #"{"$set":{"a.0":2}}"#, #"{"a":[2]}"#),
      (#"{"a":[1]}"#, #"{"$set":{"a.3":2}}"#, #"{"a":[1,null,null,2]}"#),
      (#"{"a":[1]}"#, #"{"$set":{"a.1.b":2}}"#, #"{"a":[1,{"b":2}]}"#),
      (#"{"a":[{"b":1},{"b":1}]}"#, #"{"$set":{"a.1.b":2}}"#, #"{"a":[{"b":1},{"b":2}]}"#),
      (#"{"a":1}"#, #"{"$set":{"b":{"x.y":1,"":2}}}"#, #"{"a":1,"b":{"":2,"x.y":1}}"#),
      (#"{"é":1}"#, "{\"$set\":{\"e\u{301}\":2}}", "{\"é\":1,\"e\u{301}\":2}"),
      (#"{"_id":1,"a":1}"#, #"{"$set":{"_id":1,"a":2}}"#, #"{"_id":1,"a":2}"#),
      (
        #"{"a":123456789012345678901}"#, #"{"$set":{"b":1}}"#, #"{"a":123456789012345678901,"b":1}"#
      ),
      (#"{"r":{"$ref":"c","$id":1}}"#, #"{"$set":{"r.$id":2}}"#, #"{"r":{"$ref":"c","$id":2}}"#),
      // $unset
      (#"{"a":1,"b":2}"#, #"{"$unset":{"a":""}}"#, #"{"b":2}"#),
      (#"{"a":1}"#, #"{"$unset":{"b.c":1,"a.b.c":1}}"#, #"{"a":1}"#),
      (#"{"a":[1,2,3]}"#, #"{"$unset":{"a.1":1}}"#, #"{"a":[1,null,3]}"#),
      (#"{"a":[null]}"#, #"{"$unset":{"a.0":1,"a.5":1,"a.x":1}}"#, #"{"a":[null]}"#),
      (#"{"a":{"b":1}}"#, #"{"$unset":{"a.b":1}}"#, #"{"a":{}}"#),
      // $setOnInsert
      (#"{"a":1}"#, #"{"$setOnInsert":{"b":1,"a.x":1}}"#, #"{"a":1}"#),
      // $inc, $mul
      (#"{"a":1}"#, #"{"$inc":{"a":2,"b.c":-3}}"#, #"{"a":3,"b":{"c":-3}}"#),
      (#"{"a":2147483647}"#, #"{"$inc":{"a":1}}"#, #"{"a":2147483648}"#),
      (#"{"a":{"$numberLong":"1"}}"#, #"{"$inc":{"a":1}}"#, #"{"a":{"$numberLong":"2"}}"#),
      (#"{"a":1}"#, #"{"$inc":{"a":0}}"#, #"{"a":1}"#),
      (#"{"a":1}"#, #"{"$inc":{"a":0.0}}"#, #"{"a":1.0}"#),
      (#"{"a":1}"#, #"{"$inc":{"a":0.5}}"#, #"{"a":1.5}"#),
      (
        #"{"a":0.1}"#, #"{"$inc":{"a":{"$numberDecimal":"0.20"}}}"#,
        #"{"a":{"$numberDecimal":"0.300000000000000"}}"#
      ),
      (#"{"a":3}"#, #"{"$mul":{"a":-2}}"#, #"{"a":-6}"#),
      (#"{"a":65536}"#, #"{"$mul":{"a":65536}}"#, #"{"a":4294967296}"#),
      ("{}", #"{"$mul":{"a":2.5,"b":7}}"#, #"{"a":0.0,"b":0}"#),
      // A result that is a double stays a number for clients that know only JSON.
      (#"{"a":9007199254740993}"#, #"{"$mul":{"a":1.5}}"#, #"{"a":13510798882111488.0}"#),
      (#"{"a":9007199254740993}"#, #"{"$mul":{"a":-150}}"#, #"{"a":-1351079888211148950}"#),
      (#"{"a":9223372036854775807}"#, #"{"$inc":{"a":0.5}}"#, #"{"a":9223372036854776000.0}"#),
      (#"{"a":0.03125}"#, #"{"$mul":{"a":0.0009765625}}"#, #"{"a":0.000030517578125}"#),
      (
        "{}", #"{"$mul":{"a":{"$numberLong":"3"},"b":{"$numberDecimal":"2.50"}}}"#,
        #"{"a":{"$numberLong":"0"},"b":{"$numberDecimal":"0"}}"#
      ),
      // $min, $max
      (#"{"a":5}"#, #"{"$min":{"a":3,"b":1}}"#, #"{"a":3,"b":1}"#),
      (#"{"a":5}"#, #"{"$min":{"a":5.0}}"#, #"{"a":5}"#),
      (#"{"a":5}"#, #"{"$max":{"a":"x"}}"#, #"{"a":"x"}"#),
      (#"{"a":"x"}"#, #"{"$min":{"a":null}}"#, #"{"a":null}"#),
      (#"{"a":[]}"#, #"{"$max":{"a":{"z":1}}}"#, #"{"a":[]}"#),
      // $rename
      (#"{"a":1,"b":2}"#, #"{"$rename":{"a":"c.d"}}"#, #"{"b":2,"c":{"d":1}}"#),
      (#"{"a":1,"b":2}"#, #"{"$rename":{"a":"b"}}"#, #"{"b":1}"#),
      (#"{"a":1}"#, #"{"$rename":{"x":"a","y.z":"a1.b"}}"#, #"{"a":1}"#),
      (#"{"a":{"b":1}}"#, #"{"$rename":{"a.b":"a.c"}}"#, #"{"a":{"c":1}}"#),
      // $bit
      (#"{"a":13}"#, #"{"$bit":{"a":{"and":10}}}"#, #"{"a":8}"#),
      (#"{"a":3}"#, #"{"$bit":{"a":{"or":4,"xor":1}}}"#, #"{"a":6}"#),
      ("{}", #"{"$bit":{"a":{"xor":{"$numberLong":"5"}}}}"#, #"{"a":{"$numberLong":"5"}}"#),
      (#"{"a":1}"#, #"{"$bit":{"a":{"or":1}}}"#, #"{"a":1}"#),
      // Several at once
      (
        #"{"n":1,"l":[1],"o":{"x":1}}"#,
        #"{"$inc":{"n":1},"$push":{"l":2},"$unset":{"o.x":1},"$set":{"o.y":2}}"#,
        #"{"n":2,"l":[1,2],"o":{"y":2}}"#
      ),
      (#"{"a":1}"#, #"{"$set":{},"$inc":{}}"#, #"{"a":1}"#),
    ] as [(String, String, String)]
  )
  func `operators change documents`(document: String, update: String, result: String) throws {
    let outcome = try applying(update, to: document)
    #expect(outcome.text == result)
    #expect(outcome.isModified == (document != result))
  }

  /// A document, an update, its error and the place of the error.
  @Test(
    arguments: [
      (#"{"a":5}"#, #"{"$set":{"a.b":1}}"#, 28, "/$set/a.b", "a.b"),
      (#"{"a":null}"#, #"{"$set":{"a.b":1}}"#, 28, "/$set/a.b", "a.b"),
      (#"{"a":[1]}"#, #"{"$set":{"a.b":1}}"#, 28, "/$set/a.b", "a.b"),
      (#"{"a":[1]}"#, #"{"$set":{"a.00":1}}"#, 28, "/$set/a.00", "a.00"),
      (#"{"a":[5]}"#, #"{"$inc":{"a.0.b.c":1}}"#, 28, "/$inc/a.0.b.c", "a.0.b"),
      (
        #"{"a":{"$oid":"0123456789abcdef01234567"}}"#, #"{"$set":{"a.b":1}}"#, 28, "/$set/a.b",
        "a.b"
      ),
      (#"{"a":[]}"#, #"{"$set":{"a.1500001":1}}"#, 34, "/$set/a.1500001", "a.1500001"),
      ("{}", #"{"$set":{"a":1,"a.b":2}}"#, 40, "/$set/a.b", "a"),
      ("{}", #"{"$set":{"a":1},"$inc":{"a":2}}"#, 40, "/$inc/a", "a"),
      ("{}", #"{"$set":{"a.b.c":1},"$unset":{"a.b":2}}"#, 40, "/$unset/a.b", "a.b"),
      ("{}", #"{"$rename":{"a":"b"},"$set":{"a":2}}"#, 40, "/$set/a", "a"),
      ("{}", #"{"$rename":{"a":"b","b":"c"}}"#, 40, "/$rename/b", "b"),
      ("{}", #"{"$set":{"a.$[]":1,"a.0":2}}"#, 40, "/$set/a.0", "a"),
      (#"{"_id":1}"#, #"{"$set":{"_id":2}}"#, 66, "/$set/_id", "_id"),
      (#"{"_id":{"a":1}}"#, #"{"$set":{"_id.a":2}}"#, 66, "/$set/_id.a", "_id"),
      (#"{"_id":1}"#, #"{"$unset":{"_id":1}}"#, 66, "/$unset/_id", "_id"),
      (#"{"_id":1}"#, #"{"$rename":{"_id":"x"}}"#, 66, "/$rename/_id", "_id"),
      ("{}", #"{"$set":{"_id":[1]}}"#, 53, "/$set/_id", "_id"),
      (#"{"a":"x"}"#, #"{"$inc":{"a":1}}"#, 14, "/$inc/a", "a"),
      (#"{"a":null}"#, #"{"$mul":{"a":1}}"#, 14, "/$mul/a", "a"),
      ("{}", #"{"$inc":{"a":"1"}}"#, 14, "/$inc/a", ""),
      ("{}", #"{"$mul":{"a":null}}"#, 14, "/$mul/a", ""),
      (#"{"a":9223372036854775807}"#, #"{"$inc":{"a":1}}"#, 2, "/$inc/a", "a"),
      (#"{"a":9223372036854775807}"#, #"{"$mul":{"a":2}}"#, 2, "/$mul/a", "a"),
      (#"{"a":1.5}"#, #"{"$bit":{"a":{"or":1}}}"#, 2, "/$bit/a", "a"),
      ("{}", #"{"$bit":{"a":{"or":1.0}}}"#, 2, "/$bit/a", ""),
      ("{}", #"{"$bit":{"a":{"not":1}}}"#, 2, "/$bit/a", ""),
      ("{}", #"{"$bit":{"a":{}}}"#, 2, "/$bit/a", ""),
      ("{}", #"{"$bit":{"a":1}}"#, 2, "/$bit/a", ""),
      ("{}", #"{"$currentDate":{"a":1}}"#, 2, "/$currentDate/a", ""),
      ("{}", #"{"$currentDate":{"a":{"$type":"time"}}}"#, 2, "/$currentDate/a", ""),
      ("{}", #"{"$rename":{"a":1}}"#, 2, "/$rename/a", ""),
      ("{}", #"{"$rename":{"a":"a"}}"#, 2, "/$rename/a", ""),
      ("{}", #"{"$rename":{"a":"a.b"}}"#, 2, "/$rename/a", ""),
      ("{}", #"{"$rename":{"a.b":"a"}}"#, 2, "/$rename/a.b", ""),
      ("{}", #"{"$rename":{"a.$[]":"b"}}"#, 2, "/$rename/a.$[]", ""),
      (#"{"a":[{"b":1}]}"#, #"{"$rename":{"a.0.b":"c"}}"#, 2, "/$rename/a.0.b", "a.0.b"),
      (#"{"a":1,"c":[1]}"#, #"{"$rename":{"a":"c.0"}}"#, 2, "/$rename/a", "c.0"),
      (#"{"a":1}"#, #"{"$rename":{"a.b":"c"}}"#, 28, "/$rename/a.b", "a.b"),
      (#"{"a":1,"c":2}"#, #"{"$rename":{"a":"c.d"}}"#, 28, "/$rename/a", "c.d"),
      ("{}", #"{"$set":{"":1}}"#, 56, "/$set/", ""),
      ("{}", #"{"$set":{"a..b":1}}"#, 56, "/$set/a..b", ""),
      ("{}", #"{"$unset":{"a.":1}}"#, 56, "/$unset/a.", ""),
      ("{}", #"{"$set":{"$a":1}}"#, 52, "/$set/$a", ""),
      ("{}", #"{"$set":{"a.$":1}}"#, 2, "/$set/a.$", ""),
      ("{}", #"{"$set":{"$[]":1}}"#, 2, "/$set/$[]", ""),
      ("{}", #"{"$frob":{"a":1}}"#, 9, "/$frob", ""),
      ("{}", #"{"$set":{"a":1},"b":1}"#, 9, "/b", ""),
      ("{}", #"{"b":1,"$set":{"a":1}}"#, 52, "/$set", ""),
      ("{}", #"{"$set":1}"#, 9, "/$set", ""),
      ("{}", #"[{"$set":{"a":1}}]"#, 9, "", ""),
      ("{}", "1", 9, "", ""),
    ] as [(String, String, Int, String, String)]
  )
  func `an invalid update is refused with its place`(
    document: String, update: String, code: Int, pointer: String, path: String
  ) throws {
    let error = #expect(throws: OperatorError.self) { try applying(update, to: document) }
    #expect(error?.code.rawValue == code)
    #expect(error?.pointer == pointer)
    #expect(error?.path == path)
  }

  @Test func `the current date is always a modification`() throws {
    let date = #"{"$date":"2023-11-14T22:13:20.500Z"}"#
    let outcome = try applying(
      #"{"$currentDate":{"a":true,"b":false,"c":{"$type":"date"},"d":{"$type":"timestamp"}}}"#,
      to: #"{"a":\#(date)}"#
    )
    let timestamp = #"{"$timestamp":{"t":1700000000,"i":1}}"#
    #expect(outcome.text == #"{"a":\#(date),"b":\#(date),"c":\#(date),"d":\#(timestamp)}"#)
    #expect(try applying(#"{"$currentDate":{"a":true}}"#, to: #"{"a":\#(date)}"#).isModified)
  }

  @Test func `an upsert applies $setOnInsert`() throws {
    let outcome = try applying(
      #"{"$setOnInsert":{"a":1,"b.c":2},"$inc":{"n":1}}"#, to: #"{"_id":7}"#, isInsertion: true
    )
    #expect(outcome.text == #"{"_id":7,"a":1,"b":{"c":2},"n":1}"#)
  }

  @Test(arguments: [
    (#"{"a":1,"_id":1}"#, #"{"b":2}"#, #"{"b":2,"_id":1}"#),
    (#"{"a":1,"_id":1}"#, #"{"_id":1,"b":2}"#, #"{"b":2,"_id":1}"#),
    (#"{"a":1,"_id":1}"#, #"{"_id":1,"a":1}"#, #"{"a":1,"_id":1}"#),
    (#"{"a":1,"_id":1}"#, "{}", #"{"_id":1}"#), (#"{"a":1}"#, #"{"b":2}"#, #"{"b":2}"#),
  ])
  func `a replacement keeps the id`(document: String, update: String, result: String) throws {
    let outcome = try applying(update, to: document)
    #expect(outcome.text == result)
    #expect(outcome.isModified == (document != result))
  }

  @Test func `a replacement cannot change the id, and has no filters`() throws {
    let error = #expect(throws: OperatorError.self) {
      try applying(#"{"_id":2}"#, to: #"{"_id":1}"#)
    }
    #expect(error?.code == .immutableField)
    #expect(throws: OperatorError.self) {
      try applying(#"{"a":2}"#, to: "{}", filters: [#"{"i":1}"#])
    }
  }

  @Test func `a replacement has no operators`() throws {
    #expect(throws: OperatorError.self) {
      try Update(json(#"{"$set":{}}"#), isReplacement: true)
    }
    let update = try Update(json("{}"), isReplacement: true)
    let outcome = try update.apply(to: document(#"{"a":1}"#), now: now)
    #expect(outcome.document.json(.stored).text == "{}")
  }

  /// The documents have the form that jsonb returns.
  @Test(arguments: [
    (#"{"l":[{"id":1,"name":"x"}]}"#, #"{"$addToSet":{"l":{"name":"x","id":1}}}"#),
    (#"{"l":[{"id":1,"name":"x"}]}"#, #"{"$set":{"l":[{"name":"x","id":1}]}}"#),
    (#"{"l":{"id":1,"name":"x"}}"#, #"{"$max":{"l":{"name":"x","id":1}}}"#),
    (#"{"b":{"id":1,"name":"x"},"_id":1}"#, #"{"_id":1,"b":{"name":"x","id":1}}"#),
    (#"{"b":1,"_id":1}"#, #"{"b":1}"#),
  ])
  func `a stored object equals the original`(document text: String, update: String) throws {
    let document = try document(text)
    #expect(try !Update(json(update)).apply(to: document, now: now).isModified)
  }

  @Test func `a value with another order of members is found and removed`() throws {
    let document = try document(#"{"l":[{"id":1,"name":"x"}]}"#)
    let object = #"{"name":"x","id":1}"#
    for update in [#"{"$pullAll":{"l":[\#(object)]}}"#, #"{"$pull":{"l":{"$in":[\#(object)]}}}"#] {
      let outcome = try Update(json(update)).apply(to: document, now: now)
      #expect(outcome.document.json(.stored).text == #"{"l":[]}"#)
    }
    for query in [#"{"l":\#(object)}"#, #"{"l":{"$in":[\#(object)]}}"#] {
      #expect(try Query(json(query)).matches(document))
    }
    let pushed = try Update(
      json(#"{"$push":{"l":{"$each":[\#(object)],"$sort":{"name":1,"id":-1}}}}"#)
    )
    .apply(to: document, now: now)
    #expect(
      pushed.document.json(.stored).text == #"{"l":[{"id":1,"name":"x"},{"id":1,"name":"x"}]}"#
    )
  }
}
