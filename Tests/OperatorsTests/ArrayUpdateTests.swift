import Operators
import Testing

@Suite struct ArrayUpdateTests {
  /// A document, an update, and the document that results; the same text means unmodified.
  @Test(arguments: [
    // $push
    ("{}", #"{"$push":{"a":1}}"#, #"{"a":[1]}"#),
    (#"{"a":[1]}"#, #"{"$push":{"a":[2,3]}}"#, #"{"a":[1,[2,3]]}"#),
    (#"{"a":[1]}"#, #"{"$push":{"a":{"$each":[2,3]}}}"#, #"{"a":[1,2,3]}"#),
    (#"{"a":[1]}"#, #"{"$push":{"a":{"$each":[]}}}"#, #"{"a":[1]}"#),
    ("{}", #"{"$push":{"a":{"$each":[]}}}"#, #"{"a":[]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[9],"$position":0}}}"#, #"{"a":[9,1,2]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[9],"$position":-1}}}"#, #"{"a":[1,9,2]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[9],"$position":-9}}}"#, #"{"a":[9,1,2]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$position":9,"$each":[9]}}}"#, #"{"a":[1,2,9]}"#),
    (
      #"{"a":[1,2]}"#,
      #"{"$push":{"a":{"$each":[9],"$position":{"$numberLong":"-9223372036854775808"}}}}"#,
      #"{"a":[9,1,2]}"#
    ),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[3],"$slice":2}}}"#, #"{"a":[1,2]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[3],"$slice":-2}}}"#, #"{"a":[2,3]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[],"$slice":0}}}"#, #"{"a":[]}"#),
    (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[],"$slice":9.0}}}"#, #"{"a":[1,2]}"#),
    (#"{"a":[3,1]}"#, #"{"$push":{"a":{"$each":[2],"$sort":1}}}"#, #"{"a":[1,2,3]}"#),
    (
      #"{"a":[3,"x",null]}"#, #"{"$push":{"a":{"$each":[2.5],"$sort":-1}}}"#,
      #"{"a":["x",3,2.5,null]}"#
    ),
    (
      #"{"a":[{"m":1,"n":2},{"m":1,"n":1}]}"#,
      #"{"$push":{"a":{"$slice":-3,"$sort":{"n":1,"m":-1},"$each":[{"n":1,"m":2},5]}}}"#,
      #"{"a":[{"m":2,"n":1},{"m":1,"n":1},{"m":1,"n":2}]}"#
    ),
    (
      #"{"a":[{"b":{"c":2}},{"b":{"c":1}},{"b":1}]}"#,
      #"{"$push":{"a":{"$each":[],"$sort":{"b.c":-1}}}}"#,
      #"{"a":[{"b":{"c":2}},{"b":{"c":1}},{"b":1}]}"#
    ),
    // $addToSet
    ("{}", #"{"$addToSet":{"a":1}}"#, #"{"a":[1]}"#),
    (#"{"a":[1,2]}"#, #"{"$addToSet":{"a":1.0}}"#, #"{"a":[1,2]}"#),
    (#"{"a":[1]}"#, #"{"$addToSet":{"a":[1]}}"#, #"{"a":[1,[1]]}"#),
    (#"{"a":[1,1]}"#, #"{"$addToSet":{"a":{"$each":[3,2,3.0,1]}}}"#, #"{"a":[1,1,3,2]}"#),
    ("{}", #"{"$addToSet":{"a":{"$each":[]}}}"#, #"{"a":[]}"#),
    (#"{"a":[{"x":1,"y":2}]}"#, #"{"$addToSet":{"a":{"y":2,"x":1}}}"#, #"{"a":[{"x":1,"y":2}]}"#),
    (#"{"a":["é"]}"#, "{\"$addToSet\":{\"a\":\"e\u{301}\"}}", "{\"a\":[\"é\",\"e\u{301}\"]}"),
    // $pop
    (#"{"a":[1,2,3]}"#, #"{"$pop":{"a":1}}"#, #"{"a":[1,2]}"#),
    (#"{"a":[1,2,3]}"#, #"{"$pop":{"a":-1.0}}"#, #"{"a":[2,3]}"#),
    (#"{"a":[]}"#, #"{"$pop":{"a":1,"b":1,"c.d":1}}"#, #"{"a":[]}"#),
    (#"{"a":[[1,2]]}"#, #"{"$pop":{"a.0":1,"a.7":1}}"#, #"{"a":[[1]]}"#),
    // $pull
    (#"{"a":[1,2,1.0,"1"]}"#, #"{"$pull":{"a":1}}"#, #"{"a":[2,"1"]}"#),
    (#"{"a":[1,2,3,4]}"#, #"{"$pull":{"a":{"$gte":3}}}"#, #"{"a":[1,2]}"#),
    (#"{"a":[1,2,3]}"#, #"{"$pull":{"a":{"$in":[1,3,7]}}}"#, #"{"a":[2]}"#),
    (#"{"a":[[1],[2],1]}"#, #"{"$pull":{"a":[1]}}"#, #"{"a":[[2],1]}"#),
    (#"{"a":[[7],[1]]}"#, #"{"$pull":{"a":{"$gt":5}}}"#, #"{"a":[[1]]}"#),
    (#"{"a":[{"x":1,"y":1},{"x":2},5]}"#, #"{"$pull":{"a":{"x":1}}}"#, #"{"a":[{"x":2},5]}"#),
    (
      #"{"a":[{"x":1},{"x":9},{"y":1},9]}"#, #"{"$pull":{"a":{"$or":[{"x":{"$gt":5}},{"y":1}]}}}"#,
      #"{"a":[{"x":1},9]}"#
    ),
    (#"{"a":[{"x":1},5,null]}"#, #"{"$pull":{"a":{}}}"#, #"{"a":[5,null]}"#),
    (#"{"a":["ab","b",1]}"#, #"{"$pull":{"a":{"$regex":"^A","$options":"i"}}}"#, #"{"a":["b",1]}"#),
    (
      #"{"a":["ab","b"]}"#,
      #"{"$pull":{"a":{"$regularExpression":{"pattern":"a","options":""}}}}"#, #"{"a":["b"]}"#
    ),
    (
      #"{"a":[{"b":[{"c":1},{"c":9}]},{"b":[]}]}"#,
      #"{"$pull":{"a":{"b":{"$elemMatch":{"c":{"$gt":5}}}}}}"#, #"{"a":[{"b":[]}]}"#
    ),
    (
      #"{"a":[{"$oid":"0123456789abcdef01234567"}]}"#,
      #"{"$pull":{"a":{"$oid":"0123456789ABCDEF01234567"}}}"#, #"{"a":[]}"#
    ),
    (#"{"a":[1]}"#, #"{"$pull":{"a":2,"b":1,"c.d":{"$gt":1}}}"#, #"{"a":[1]}"#),
    // $pullAll
    (#"{"a":[1,2,1,3]}"#, #"{"$pullAll":{"a":[1,3.0],"b":[1]}}"#, #"{"a":[2]}"#),
    (
      #"{"a":[{"x":1,"y":2},{"x":1,"y":3}]}"#, #"{"$pullAll":{"a":[{"y":2,"x":1}]}}"#,
      #"{"a":[{"x":1,"y":3}]}"#
    ),
    // $[]
    (#"{"a":[1,2]}"#, #"{"$inc":{"a.$[]":10}}"#, #"{"a":[11,12]}"#),
    (#"{"a":[]}"#, #"{"$inc":{"a.$[]":10}}"#, #"{"a":[]}"#),
    (
      #"{"a":[{"b":1},{}]}"#, #"{"$set":{"a.$[].b":5},"$inc":{"a.$[].c":1}}"#,
      #"{"a":[{"b":5,"c":1},{"b":5,"c":1}]}"#
    ),
    (#"{"a":[[1,2],[3]]}"#, #"{"$mul":{"a.$[].$[]":2}}"#, #"{"a":[[2,4],[6]]}"#),
    (#"{"a":[1,2]}"#, #"{"$unset":{"a.$[]":1}}"#, #"{"a":[null,null]}"#),
  ])
  func `operators change arrays`(document: String, update: String, result: String) throws {
    let outcome = try applying(update, to: document)
    #expect(outcome.text == result)
    #expect(outcome.isModified == (document != result))
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"$push":{"a":1}}"#, 2), (#"{"a":null}"#, #"{"$push":{"a":1}}"#, 2),
    (#"{"a":1}"#, #"{"$addToSet":{"a":1}}"#, 2), (#"{"a":1}"#, #"{"$pop":{"a":1}}"#, 14),
    (#"{"a":1}"#, #"{"$pull":{"a":1}}"#, 2), (#"{"a":1}"#, #"{"$pullAll":{"a":[1]}}"#, 2),
    (#"{"a":1}"#, #"{"$pop":{"a.b":1}}"#, 28), (#"{"a":1}"#, #"{"$pull":{"a.b":1}}"#, 28),
    (#"{"a":1}"#, #"{"$pullAll":{"a.b":[1]}}"#, 28), ("{}", #"{"$pop":{"a":2}}"#, 9),
    ("{}", #"{"$pop":{"a":"1"}}"#, 9), ("{}", #"{"$pop":{"a":1.5}}"#, 9),
    ("{}", #"{"$push":{"a":{"$each":1}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$frob":1}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"x":1}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$slice":1.5}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$slice":"1"}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$position":null}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":2}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":{}}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":{"a":0}}}}"#, 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":{"a..b":1}}}}"#, 2),
    ("{}", #"{"$addToSet":{"a":{"$each":1}}}"#, 14),
    ("{}", #"{"$addToSet":{"a":{"$each":[],"$slice":1}}}"#, 2),
    ("{}", #"{"$pullAll":{"a":1}}"#, 2), ("{}", #"{"$pull":{"a":{"$frob":1}}}"#, 2),
    ("{}", #"{"$inc":{"a.$[]":1}}"#, 2), (#"{"a":1}"#, #"{"$inc":{"a.$[]":1}}"#, 2),
    (#"{"a":{"b":1}}"#, #"{"$inc":{"a.$[].b":1}}"#, 2),
    (#"{"a":[1,"x"]}"#, #"{"$inc":{"a.$[]":1}}"#, 14),
    (#"{"a":[1]}"#, #"{"$set":{"a.$[].b":1}}"#, 28),
  ])
  func `invalid array updates are refused`(document: String, update: String, code: Int) throws {
    let error = #expect(throws: OperatorError.self) { try applying(update, to: document) }
    #expect(error?.code.rawValue == code)
    #expect(error?.pointer.hasPrefix("/$") == true)
  }

  @Test func `an error within an array names the element`() throws {
    let error = #expect(throws: OperatorError.self) {
      try applying(#"{"$inc":{"a.$[].b":1}}"#, to: #"{"a":[{"b":1},{"b":"x"}]}"#)
    }
    #expect(error?.path == "a.1.b")
    #expect(error?.pointer == "/$inc/a.$[].b")
  }

  @Test(arguments: [
    (#"{"a":[1,5,9]}"#, #"{"$set":{"a.$[i]":0}}"#, [#"{"i":{"$gte":5}}"#], #"{"a":[1,0,0]}"#),
    (#"{"a":[1,5]}"#, #"{"$set":{"a.$[i]":0}}"#, [#"{"i":7}"#], #"{"a":[1,5]}"#),
    (
      #"{"a":[{"b":1,"c":0},{"b":2,"c":0}]}"#, #"{"$inc":{"a.$[x1].c":1}}"#, [#"{"x1.b":2}"#],
      #"{"a":[{"b":1,"c":0},{"b":2,"c":1}]}"#
    ),
    (
      #"{"a":[{"b":[1,2]},{"b":[3]}]}"#, #"{"$unset":{"a.$[i].b.$[j]":1}}"#,
      [#"{"j":{"$lt":3,"$gt":1}}"#, #"{"$or":[{"i.b":{"$size":2}},{"i.b":7}]}"#],
      #"{"a":[{"b":[1,null]},{"b":[3]}]}"#
    ),
    (
      #"{"a":[{"n":1},{"n":2},{"n":3}]}"#,
      #"{"$set":{"a.$[low].x":1,"a.$[high].y":2,"a.$[].z":3}}"#,
      [#"{"low.n":{"$lte":2}}"#, #"{"high.n":{"$gte":2}}"#],
      #"{"a":[{"n":1,"x":1,"z":3},{"n":2,"x":1,"y":2,"z":3},{"n":3,"y":2,"z":3}]}"#
    ),
    (
      #"{"a":["x",{"x":1}]}"#, #"{"$set":{"a.$[i]":0}}"#,
      [#"{"i":{"$regularExpression":{"pattern":"X","options":"i"}}}"#], #"{"a":[0,{"x":1}]}"#
    ),
  ])
  func `array filters select elements`(
    document: String, update: String, filters: [String], result: String
  ) throws {
    let outcome = try applying(update, to: document, filters: filters)
    #expect(outcome.text == result)
    #expect(outcome.isModified == (document != result))
  }

  @Test(
    arguments: [
      (#"{"$set":{"a.$[i]":0}}"#, [], 2, "/$set/a.$[i]"),
      (#"{"$set":{"a.$[i]":0}}"#, [#"{"i":1}"#, #"{"j":1}"#], 9, "/arrayFilters/1"),
      (#"{"$set":{"a.$[i]":0}}"#, [#"{"i":1}"#, #"{"i.b":2}"#], 9, "/arrayFilters/1"),
      (#"{"$set":{"a.$[i]":0}}"#, [#"{"i":1,"j":1}"#], 9, "/arrayFilters/0"),
      (#"{"$set":{"a.$[i]":0}}"#, ["{}"], 9, "/arrayFilters/0"),
      (#"{"$set":{"a.$[i]":0}}"#, ["1"], 9, "/arrayFilters/0"),
      (#"{"$set":{"a.$[i]":0}}"#, [#"{"I":1}"#], 2, "/arrayFilters/0"),
      (#"{"$set":{"a.$[I]":0}}"#, [], 2, "/$set/a.$[I]"),
      (#"{"$set":{"a.$[i-j]":0}}"#, [], 2, "/$set/a.$[i-j]"),
      (#"{"$set":{"a.$[i]":0}}"#, [#"{"i":{"$frob":1}}"#], 2, "/arrayFilters/0/i/$frob"),
      (#"{"$set":{"a.$[i]":0}}"#, [#"{"i":{"$oid":1}}"#], 2, "/arrayFilters/0/i/$oid"),
      (#"{"$set":{"a.$[i]":0,"a.$[j].b":0}}"#, [#"{"i.n":1}"#, #"{"j.n":1}"#], 40, nil),
    ] as [(String, [String], Int, String?)]
  )
  func `invalid array filters are refused`(
    update: String, filters: [String], code: Int, pointer: String?
  ) throws {
    let error = #expect(throws: OperatorError.self) {
      try applying(update, to: #"{"a":[{"n":1}]}"#, filters: filters)
    }
    #expect(error?.code.rawValue == code)
    if let pointer { #expect(error?.pointer == pointer) } else { #expect(error?.path == "a.0") }
  }
}
