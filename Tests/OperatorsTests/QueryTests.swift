import JSON
import Operators
import Testing

@Suite struct QueryTests {
  private func matches(_ query: String, _ text: String) throws -> Bool {
    try Query(try json(query)).matches(try document(text))
  }

  /// A query, documents that it matches, and documents that it does not match.
  @Test(
    arguments: [
      ("{}", ["{}", #"{"a":1}"#], []),
      // Equality
      (
        #"{"a":1}"#, [#"{"a":1}"#, #"{"a":1.0}"#, #"{"a":[0,1]}"#],
        [#"{"a":"1"}"#, "{}", #"{"a":[[1]]}"#]
      ),
      (
        #"{"a":[1,2]}"#, [#"{"a":[1,2]}"#, #"{"a":[[1,2]]}"#], [#"{"a":[2,1]}"#, #"{"a":[1,2,3]}"#]
      ),
      (
        #"{"a":{"x":1,"y":2}}"#, [#"{"a":{"x":1,"y":2}}"#],
        [#"{"a":{"y":2,"x":1}}"#, #"{"a":{"x":1}}"#]
      ),
      (#"{"a":{}}"#, [#"{"a":{}}"#], [#"{"a":{"x":1}}"#, "{}"]),
      (#"{"a":{"$eq":"é"}}"#, [#"{"a":"é"}"#], ["{\"a\":\"e\u{301}\"}"]),
      (#"{"a":{"$ref":"c","$id":1}}"#, [#"{"a":{"$id":1,"$ref":"c"}}"#], ["{}"]),
      (
        #"{"a":{"$oid":"0123456789abcdef01234567"}}"#,
        [#"{"a":{"$oid":"0123456789abcdef01234567"}}"#], [#"{"a":"0123456789abcdef01234567"}"#]
      ),
      (#"{"a":1,"b":2}"#, [#"{"a":1,"b":2}"#], [#"{"a":1}"#, #"{"a":1,"b":1}"#]),
      // Complements
      (#"{"a":{"$ne":3}}"#, ["{}", #"{"a":4}"#, #"{"a":[]}"#], [#"{"a":3}"#, #"{"a":[1,3]}"#]),
      (
        #"{"a":{"$nin":[3,null]}}"#, [#"{"a":4}"#, #"{"a":[]}"#],
        ["{}", #"{"a":[1,3]}"#, #"{"a":[null]}"#]
      ),
      (
        #"{"a":{"$not":{"$gt":5}}}"#, ["{}", #"{"a":5}"#, #"{"a":"x"}"#],
        [#"{"a":6}"#, #"{"a":[1,6]}"#]
      ),
      (
        #"{"a":{"$not":{"$gt":5,"$lt":9}}}"#, ["{}", #"{"a":5}"#, #"{"a":9}"#],
        [#"{"a":6}"#, #"{"a":[1,10]}"#]
      ),
      (
        #"{"a":{"$not":{"$regularExpression":{"pattern":"^x","options":""}}}}"#,
        ["{}", #"{"a":"y"}"#], [#"{"a":"xy"}"#]
      ),
      (#"{"$nor":[{"a":1},{"b":1}]}"#, ["{}", #"{"a":2}"#], [#"{"a":1}"#, #"{"b":[1]}"#]),
      // Order within one type
      (
        #"{"a":{"$lt":5}}"#, [#"{"a":4.9}"#, #"{"a":[9,1]}"#, #"{"a":{"$numberDecimal":"-1"}}"#],
        [#"{"a":5}"#, #"{"a":"1"}"#, "{}", #"{"a":null}"#, #"{"a":[]}"#]
      ),
      (#"{"a":{"$gte":"b"}}"#, [#"{"a":"b"}"#, #"{"a":"c"}"#], [#"{"a":"a"}"#, #"{"a":9}"#]),
      (#"{"a":{"$gt":1,"$lt":5}}"#, [#"{"a":3}"#, #"{"a":[0,9]}"#], [#"{"a":1}"#, #"{"a":[9]}"#]),
      (
        #"{"a":{"$gte":null}}"#, ["{}", #"{"a":null}"#, #"{"a":[null]}"#],
        [#"{"a":0}"#, #"{"a":[]}"#]
      ),
      (#"{"a":{"$gt":null}}"#, [], ["{}", #"{"a":null}"#, #"{"a":1}"#]),
      (
        #"{"a":{"$gt":[1]}}"#, [#"{"a":[2]}"#, #"{"a":[1,0]}"#, #"{"a":[[3]]}"#],
        [#"{"a":[1]}"#, #"{"a":2}"#]
      ),
      (#"{"a":{"$gt":{"$minKey":1}}}"#, [#"{"a":1}"#, #"{"a":null}"#], [#"{"a":{"$minKey":1}}"#]),
      (#"{"a":{"$lte":{"$maxKey":1}}}"#, [#"{"a":1}"#, #"{"a":{"$maxKey":1}}"#], []),
      (#"{"a":{"$eq":{"$maxKey":1}}}"#, [#"{"a":{"$maxKey":1}}"#], [#"{"a":1}"#]),
      (
        #"{"a":{"$gte":{"$numberDouble":"NaN"}}}"#, [#"{"a":{"$numberDouble":"NaN"}}"#],
        [#"{"a":1}"#]
      ),
      (#"{"a":{"$lt":5}}"#, [], [#"{"a":{"$numberDouble":"NaN"}}"#]),
      (
        #"{"a":{"$lt":{"$date":"2020-01-01T00:00:00Z"}}}"#,
        [#"{"a":{"$date":{"$numberLong":"0"}}}"#], [#"{"a":0}"#, #"{"a":"2019"}"#]
      ),
      // $in
      (#"{"a":{"$in":[1,"x"]}}"#, [#"{"a":1.0}"#, #"{"a":["x"]}"#], ["{}", #"{"a":"1"}"#]),
      (#"{"a":{"$in":[null]}}"#, ["{}", #"{"a":null}"#, #"{"a":[1,null]}"#], [#"{"a":[]}"#]),
      (#"{"a":{"$in":[[1]]}}"#, [#"{"a":[1]}"#, #"{"a":[[1]]}"#], [#"{"a":1}"#]),
      (#"{"a":{"$in":[]}}"#, [], ["{}", #"{"a":[]}"#]),
      (
        #"{"a":{"$in":[{"$regularExpression":{"pattern":"^x","options":"i"}},3]}}"#,
        [#"{"a":"Xy"}"#, #"{"a":3}"#, #"{"a":[1,"x"]}"#], [#"{"a":"yx"}"#, "{}"]
      ),
      // $exists, $type
      (#"{"a":{"$exists":true}}"#, [#"{"a":null}"#, #"{"a":[]}"#], ["{}"]),
      (#"{"a":{"$exists":0}}"#, ["{}"], [#"{"a":null}"#]),
      (
        #"{"a.0":{"$exists":true}}"#, [#"{"a":[1]}"#, #"{"a":{"0":1}}"#],
        [#"{"a":[]}"#, #"{"a":1}"#]
      ),
      (
        #"{"a":{"$type":"number"}}"#, [#"{"a":1}"#, #"{"a":1.5}"#, #"{"a":["x",1]}"#],
        [#"{"a":"1"}"#, "{}"]
      ),
      (#"{"a":{"$type":["string",16]}}"#, [#"{"a":"x"}"#, #"{"a":1}"#], [#"{"a":1.5}"#]),
      (#"{"a":{"$type":"array"}}"#, [#"{"a":[]}"#, #"{"a":[[]]}"#], [#"{"a":1}"#]),
      (#"{"a":{"$type":-1}}"#, [#"{"a":{"$minKey":1}}"#], [#"{"a":1}"#]),
      (#"{"a":{"$type":"null"}}"#, [#"{"a":null}"#], ["{}"]),
      // Logic
      (#"{"$or":[{"a":1},{"b":{"$gt":1}}]}"#, [#"{"a":1}"#, #"{"b":2}"#], ["{}", #"{"b":1}"#]),
      (#"{"$and":[{"a":{"$gt":1}},{"a":{"$lt":5}}],"b":1}"#, [#"{"a":2,"b":1}"#], [#"{"a":2}"#]),
      (#"{"$comment":"why","a":1}"#, [#"{"a":1}"#], ["{}"]),
      // $regex
      (
        #"{"a":{"$regex":"^ab?c$"}}"#, [#"{"a":"ac"}"#, #"{"a":["x","abc"]}"#],
        [#"{"a":"abbc"}"#, #"{"a":1}"#, "{}"]
      ),
      (#"{"a":{"$options":"im","$regex":"^b"}}"#, [#"{"a":"a\nB"}"#], [#"{"a":"ab"}"#]),
      (#"{"a":{"$regex":"a.c","$options":"s"}}"#, [#"{"a":"a\nc"}"#], [#"{"a":"ac"}"#]),
      (#"{"a":{"$regex":"a b # c","$options":"x"}}"#, [#"{"a":"ab"}"#], [#"{"a":"a b"}"#]),
      (#"{"a":{"$regex":"^.$"}}"#, [#"{"a":"é"}"#, #"{"a":"😀"}"#], [#"{"a":"ab"}"#]),
      (#"{"a":{"$regex":"é","$options":"i"}}"#, [#"{"a":"É"}"#], []),
      (
        #"{"a":{"$regularExpression":{"pattern":"x","options":""}}}"#,
        [#"{"a":"axb"}"#, #"{"a":{"$regularExpression":{"pattern":"x","options":""}}}"#],
        [#"{"a":{"$regularExpression":{"pattern":"x","options":"i"}}}"#]
      ),
      (
        #"{"a":{"$eq":{"$regularExpression":{"pattern":"x","options":""}}}}"#,
        [#"{"a":{"$regularExpression":{"pattern":"x","options":""}}}"#], [#"{"a":"x"}"#]
      ),
      (#"{"a":{"$regex":"x","$ne":"xx"}}"#, [#"{"a":"x"}"#], [#"{"a":"xx"}"#]),
      // Arrays
      (
        #"{"a":{"$size":2}}"#, [#"{"a":[1,2]}"#, #"{"a":[[],[]]}"#],
        [#"{"a":[1]}"#, #"{"a":[[1,2]]}"#, #"{"a":2}"#]
      ),
      (#"{"a":{"$size":0}}"#, [#"{"a":[]}"#], ["{}", #"{"a":null}"#]),
      (#"{"a":{"$all":[1,2]}}"#, [#"{"a":[2,3,1]}"#], [#"{"a":[1]}"#, "{}"]),
      (#"{"a":{"$all":[1]}}"#, [#"{"a":1}"#, #"{"a":[1]}"#], [#"{"a":[[1]]}"#]),
      (#"{"a":{"$all":[]}}"#, [], ["{}", #"{"a":[]}"#]),
      (#"{"a":{"$all":[[1,2]]}}"#, [#"{"a":[1,2]}"#, #"{"a":[[1,2]]}"#], [#"{"a":[1]}"#]),
      (
        #"{"a":{"$all":[{"$elemMatch":{"x":1}},{"$elemMatch":{"y":2}}]}}"#,
        [#"{"a":[{"x":1},{"y":2}]}"#], [#"{"a":[{"x":1}]}"#]
      ),
      (
        #"{"a":{"$elemMatch":{"$gt":1,"$lt":5}}}"#, [#"{"a":[0,3]}"#],
        [#"{"a":[0,9]}"#, #"{"a":3}"#, #"{"a":[[3]]}"#]
      ),
      (
        #"{"a":{"$elemMatch":{"x":1,"y":2}}}"#, [#"{"a":[{"x":1,"y":2}]}"#],
        [#"{"a":[{"x":1},{"y":2}]}"#, #"{"a":{"x":1,"y":2}}"#]
      ),
      (
        #"{"a":{"$elemMatch":{"$or":[{"x":1},{"y":1}]}}}"#, [#"{"a":[{"y":1}]}"#],
        [#"{"a":[{"y":2},1]}"#]
      ),
      (
        #"{"a":{"$elemMatch":{"$not":{"$gt":1}}}}"#, [#"{"a":[5,1]}"#],
        [#"{"a":[5]}"#, #"{"a":[]}"#]
      ),
      (#"{"a":{"$elemMatch":{"$elemMatch":{"$eq":1}}}}"#, [#"{"a":[[1]]}"#], [#"{"a":[1]}"#]),
      (#"{"a":{"$elemMatch":{"$ne":null}}}"#, [#"{"a":[null,1]}"#], [#"{"a":[null]}"#, "{}"]),
      (#"{"a":{"$elemMatch":{}}}"#, [#"{"a":[{}]}"#], [#"{"a":[1]}"#, #"{"a":[]}"#]),
      (#"{"a":{"$elemMatch":{"1":5}}}"#, [#"{"a":[[4,5]]}"#], [#"{"a":[[5]]}"#]),
      // Dotted paths
      (
        #"{"a.b":1}"#, [#"{"a":{"b":1}}"#, #"{"a":[{"b":2},{"b":[1]}]}"#],
        [#"{"a.b":1}"#, #"{"a":[[{"b":1}]]}"#]
      ),
      (#"{"a.b":{"$gt":1,"$lt":5}}"#, [#"{"a":[{"b":0},{"b":9}]}"#], [#"{"a":[{"b":0}]}"#]),
      (
        #"{"a.1":5}"#, [#"{"a":[4,5]}"#, #"{"a":{"1":5}}"#, #"{"a":[{"1":5}]}"#],
        [#"{"a":[5,4]}"#, #"{"a":[0,[5]]}"#]
      ),
      (#"{"a.1.b":5}"#, [#"{"a":[0,{"b":5}]}"#, #"{"a":[0,[{"b":5}]]}"#], [#"{"a":[{"b":5}]}"#]),
      (#"{"a.01":5}"#, [#"{"a":{"01":5}}"#], [#"{"a":[4,5]}"#]),
      (#"{"a.b":{"$size":1}}"#, [#"{"a":[{"b":[]},{"b":[1]}]}"#], [#"{"a":[{"b":1}]}"#]),
      (#"{"a.b":{"$ne":1}}"#, [#"{"a":[{"b":2}]}"#, #"{"a":1}"#], [#"{"a":[{"b":2},{"b":1}]}"#]),
    ] as [(String, [String], [String])]
  )
  func `a query matches its documents`(query: String, matching: [String], others: [String]) throws {
    for document in matching { #expect(try matches(query, document), "\(document)") }
    for document in others { #expect(try !matches(query, document), "\(document)") }
  }

  /// Each row: `a`, and whether null matches at `a`, at `a.b` and among the elements of `a`.
  @Test(
    arguments: [
      (nil, true, true, false), ("null", true, true, false),
      (#"{"$undefined":true}"#, true, true, false),
      ("4", false, true, false), ("{}", false, true, false), (#"{"b":"hi"}"#, false, false, false),
      (#"{"b":null}"#, false, true, false), (#"{"b":{"$undefined":true}}"#, false, true, false),
      ("[]", false, false, false), ("[[]]", false, false, false),
      ("[1,\"x\",4]", false, false, false),
      ("[null,null]", true, false, true), ("[1,\"x\",null,4]", true, false, true),
      (#"[{"b":null},{},{"b":null}]"#, false, true, false),
      (#"[{"b":1},{"b":3}]"#, false, false, false),
      (#"[{"b":3},{}]"#, false, true, false), (#"[{"b":[null]}]"#, false, true, false),
    ] as [(String?, Bool, Bool, Bool)]
  )
  func `null matches missing fields`(a: String?, plain: Bool, dotted: Bool, element: Bool) throws {
    let document = a.map { #"{"a":\#($0)}"# } ?? "{}"
    #expect(try matches(#"{"a":null}"#, document) == plain)
    #expect(try matches(#"{"a":{"$in":[null]}}"#, document) == plain)
    #expect(try matches(#"{"a":{"$lte":null}}"#, document) == plain)
    #expect(try matches(#"{"a":{"$ne":null}}"#, document) != plain)
    #expect(try matches(#"{"a":{"$nin":[null,7]}}"#, document) != plain)
    #expect(try matches(#"{"a.b":null}"#, document) == dotted)
    #expect(try matches(#"{"a.b":{"$ne":null}}"#, document) != dotted)
    #expect(try matches(#"{"a":{"$elemMatch":{"$eq":null}}}"#, document) == element)
  }

  @Test(arguments: [
    (#"{"$frob":1}"#, 2, "/$frob"), (#"{"a":{"$frob":1}}"#, 2, "/a/$frob"),
    (#"{"a":{"$gt":1,"b":1}}"#, 2, "/a/b"), (#"{"$and":[]}"#, 2, "/$and"),
    (#"{"$or":{"a":1}}"#, 2, "/$or"), (#"{"$or":[{"a":1},2]}"#, 2, "/$or/1"),
    (#"{"$where":"1"}"#, 2, "/$where"), (#"{"a":{"$in":1}}"#, 2, "/a/$in"),
    (#"{"a":{"$in":[{"$gt":1}]}}"#, 2, "/a/$in/0"), (#"{"a":{"$not":1}}"#, 2, "/a/$not"),
    (#"{"a":{"$not":{}}}"#, 2, "/a/$not"), (#"{"a":{"$not":{"b":1}}}"#, 2, "/a/$not"),
    (#"{"a":{"$size":-1}}"#, 2, "/a/$size"), (#"{"a":{"$size":1.5}}"#, 2, "/a/$size"),
    (#"{"a":{"$type":"text"}}"#, 2, "/a/$type"), (#"{"a":{"$type":20}}"#, 2, "/a/$type"),
    (#"{"a":{"$type":[]}}"#, 9, "/a/$type"), (#"{"a":{"$all":1}}"#, 2, "/a/$all"),
    (#"{"a":{"$all":[{"$gt":1}]}}"#, 2, "/a/$all/0"),
    (#"{"a":{"$all":[{"$elemMatch":{}},1]}}"#, 2, "/a/$all/1"),
    (#"{"a":{"$elemMatch":1}}"#, 2, "/a/$elemMatch"),
    (#"{"a":{"$elemMatch":{"x":{"$frob":1}}}}"#, 2, "/a/$elemMatch/x/$frob"),
    (#"{"a":{"$ne":{"$regularExpression":{"pattern":"x","options":""}}}}"#, 2, "/a/$ne"),
    (#"{"a":{"$undefined":true}}"#, 2, "/a"), (#"{"a":{"$regex":1}}"#, 2, "/a/$regex"),
    (#"{"a":{"$regex":"("}}"#, 51091, "/a/$regex"),
    (#"{"a":{"$regex":"\\C"}}"#, 51091, "/a/$regex"),
    (#"{"a":{"$regex":"a","$options":"g"}}"#, 51108, "/a/$regex"),
    (#"{"a":{"$options":"i"}}"#, 2, "/a/$options"),
    (
      #"{"a":{"$regex":{"$regularExpression":{"pattern":"x","options":"i"}},"$options":"i"}}"#,
      51075, "/a/$regex"
    ),
    (#"{"a":{"$oid":1}}"#, 2, "/a/$oid"), ("[]", 9, ""),
  ])
  func `an invalid query reports its place`(query: String, code: Int, pointer: String) throws {
    let error = #expect(throws: OperatorError.self) { _ = try Query(try json(query)) }
    #expect(error?.code.rawValue == code)
    #expect(error?.pointer == pointer)
  }

  @Test(arguments: [
    (#"{"a":1,"b.c":{"$eq":2},"d":{"$gt":1}}"#, #"{"a":1,"b":{"c":2}}"#),
    (
      #"{"$and":[{"a":1},{"$or":[{"b":2}]}],"c":{"$in":[3]},"e":{"$in":[1,2]}}"#,
      #"{"a":1,"b":2,"c":3}"#
    ),
    (#"{"$or":[{"a":1},{"b":1}],"c":{"$ne":1},"d":{"$regex":"x"}}"#, "{}"),
    (#"{"a.0":1}"#, #"{"a":{"0":1}}"#), ("{}", "{}"), (#"{"a":null}"#, #"{"a":null}"#),
  ])
  func `an upsert starts from the equalities of the query`(query: String, document: String) throws {
    #expect(try Query(json(query)).insertion().json(.stored).text == document)
  }

  @Test(arguments: [
    #"{"a":1,"$and":[{"a":1}]}"#, #"{"a":{"b":1},"a.b":1}"#, #"{"a":{"$all":[1,2]}}"#,
  ])
  func `a query with a field twice starts no document`(query: String) throws {
    let error = #expect(throws: OperatorError.self) { try Query(json(query)).insertion() }
    #expect(error?.code == .notSingleValueField)
  }
}
