import JSON
import Testing

@testable import Operators

/// Tests the behaviour of the language that MongoDB shows or documents.
@Suite struct LanguageTests {
  private func code(_ body: () throws -> Void) -> Int? {
    do { try body() } catch let error as OperatorError { return error.code.rawValue } catch {}
    return nil
  }

  /// Applies the update to the document at the filter's match, as the domain does.
  private func change(_ text: String, _ filter: String, _ update: String) throws -> String {
    let match = try #require(try Query(json(filter)).match(document(text)))
    let update = try Update(json(update))
    return try update.apply(to: document(text), now: now, position: match.position).document
      .json(.stored).text
  }

  @Test(arguments: [
    (#"{"a":[1,5,7]}"#, #"{"a":{"$gt":4}}"#, #"{"$set":{"a.$":0}}"#, #"{"a":[1,0,7]}"#),
    (
      #"{"a":[{"n":1},{"n":2,"x":3}]}"#, #"{"a.n":2}"#, #"{"$inc":{"a.$.x":1}}"#,
      #"{"a":[{"n":1},{"n":2,"x":4}]}"#
    ),
    (
      #"{"a":[{"n":1,"m":2},{"n":2,"m":2}]}"#, #"{"a":{"$elemMatch":{"n":2,"m":2}}}"#,
      #"{"$set":{"a.$.k":true}}"#, #"{"a":[{"n":1,"m":2},{"n":2,"m":2,"k":true}]}"#
    ),
    (
      #"{"a":[[1],[2,3]]}"#, #"{"a":{"$elemMatch":{"$eq":[2,3]}}}"#, #"{"$unset":{"a.$":1}}"#,
      #"{"a":[[1],null]}"#
    ),
    (
      #"{"b":{"a":["x","y"]}}"#, #"{"b.a":{"$in":["y"]}}"#, #"{"$set":{"b.a.$":"z"}}"#,
      #"{"b":{"a":["x","z"]}}"#
    ),
    (
      #"{"a":[3,4],"b":1}"#, #"{"b":{"$ne":2},"a":4}"#, #"{"$mul":{"a.$":2}}"#,
      #"{"a":[3,8],"b":1}"#
    ),
  ])
  func `a dollar in a path stands for the element that the filter matched`(
    text: String, filter: String, update: String, result: String
  ) throws {
    #expect(try change(text, filter, update) == result)
  }

  @Test(arguments: [
    (#"{"a":[1]}"#, "{}", #"{"$set":{"a.$":0}}"#, 2),
    (#"{"a":[1]}"#, #"{"a":{"$ne":5}}"#, #"{"$set":{"a.$":0}}"#, 2),
    (#"{"a":[1]}"#, #"{"a.0":1}"#, #"{"$set":{"a.$":0}}"#, 2),
    (#"{"a":[1]}"#, #"{"a":1}"#, #"{"$set":{"a.$":0,"a.0":1}}"#, 40),
    (#"{"a":[[1]]}"#, #"{"a":1}"#, #"{"$set":{"a.$.$":0}}"#, 2),
    ("{}", "{}", #"{"$set":{"$":0}}"#, 2), ("{}", "{}", #"{"$rename":{"a.$":"b"}}"#, 2),
  ])
  func `a dollar without a match is refused`(
    text: String, filter: String, update: String, code: Int
  ) throws {
    let found = self.code {
      let match = try Query(json(filter)).match(document(text))
      _ = try Update(json(update)).apply(to: document(text), now: now, position: match?.position)
    }
    #expect(found == code)
  }

  /// A query, documents that it matches, and other documents.
  @Test(arguments: [
    (
      #"{"a":{"$mod":[4,1]}}"#,
      [#"{"a":5}"#, #"{"a":5.9}"#, #"{"a":[2,9]}"#, #"{"a":{"$numberDecimal":"13.5"}}"#],
      [
        #"{"a":-5}"#, #"{"a":4}"#, #"{"a":"5"}"#, "{}", #"{"a":{"$numberDouble":"NaN"}}"#,
        #"{"a":1e300}"#,
      ]
    ),
    (#"{"a":{"$mod":[-4.7,-1.2]}}"#, [#"{"a":-5}"#], [#"{"a":5}"#]),
    (
      #"{"a":{"$mod":[{"$numberLong":"-1"},0]}}"#, [#"{"a":-9223372036854775808}"#],
      [#"{"a":9223372036854775808}"#]
    ),
    (
      #"{"a":{"$bitsAllSet":5}}"#, [#"{"a":7}"#, #"{"a":5.0}"#, #"{"a":-1}"#],
      [#"{"a":4}"#, #"{"a":5.5}"#, "{}", #"{"a":"5"}"#]
    ),
    (#"{"a":{"$bitsAllSet":[0,200]}}"#, [#"{"a":-1}"#], [#"{"a":1}"#]),
    (#"{"a":{"$bitsAllClear":[1,3]}}"#, [#"{"a":5}"#, #"{"a":0}"#], [#"{"a":2}"#, #"{"a":-1}"#]),
    (
      #"{"a":{"$bitsAnySet":{"$binary":{"base64":"Aw==","subType":"00"}}}}"#,
      [#"{"a":2}"#, #"{"a":{"$binary":{"base64":"AQ==","subType":"00"}}}"#], [#"{"a":4}"#]
    ),
    (#"{"a":{"$bitsAnyClear":3}}"#, [#"{"a":2}"#, #"{"a":0}"#], [#"{"a":3}"#]),
    (#"{"a":{"$bitsAllSet":[]}}"#, [#"{"a":0}"#], ["{}"]),
    (#"{"a":{"$ref":"c","$id":1}}"#, [#"{"a":{"$id":1,"$ref":"c"}}"#], [#"{"a":{"$ref":"c"}}"#]),
  ])
  func `queries match documents`(query: String, found: [String], others: [String]) throws {
    let query = try Query(json(query))
    for text in found { #expect(try query.matches(document(text)), "\(text)") }
    for text in others { #expect(try !query.matches(document(text)), "\(text)") }
  }

  @Test(arguments: [
    (#"{"a":{"$mod":[0,1]}}"#, 2), (#"{"a":{"$mod":[2]}}"#, 2), (#"{"a":{"$mod":["2",1]}}"#, 2),
    (#"{"a":{"$mod":[{"$numberDouble":"Infinity"},1]}}"#, 2), (#"{"a":{"$mod":[0.5,1]}}"#, 2),
    (#"{"a":{"$bitsAllSet":-1}}"#, 2), (#"{"a":{"$bitsAllSet":[-1]}}"#, 2),
    (#"{"a":{"$bitsAllSet":1.5}}"#, 2), (#"{"a":{"$bitsAnySet":"1"}}"#, 2),
    (#"{"a":{"$type":null}}"#, 14), (#"{"a":{"$type":["int",true]}}"#, 14),
    (#"{"a":{"$type":"frob"}}"#, 2), (#"{"a":{"$type":99}}"#, 2),
    (#"{"a.":1}"#, 56), (#"{".a":1}"#, 56), (#"{"a..b":1}"#, 56), (#"{"":1}"#, 56),
    (#"{"a.":{"$exists":true}}"#, 56), (#"{"a":{"$elemMatch":{"b.":1}}}"#, 56),
    (#"{"$or":[{"a.":1}]}"#, 56), (#"{"a.$":1}"#, 2), (#"{"a.$[]":1}"#, 2), (#"{"a.$[b].c":1}"#, 2),
    (#"{"a":{"$ref":"coll"}}"#, 2), (#"{"a":{"$id":1}}"#, 2), (#"{"a":{"$in":[{"$ref":"c"}]}}"#, 2),
  ])
  func `invalid queries are refused`(query: String, code: Int) {
    #expect(self.code { _ = try Query(json(query)) } == code)
  }

  /// A document, an update and the result.
  @Test(arguments: [
    (#"{"a":{}}"#, #"{"$set":{"a.$x":1}}"#, #"{"a":{"$x":1}}"#),
    (#"{"a":{"$x":1}}"#, #"{"$inc":{"a.$x":2}}"#, #"{"a":{"$x":3}}"#),
    (#"{"a":{"$x":1,"b":2}}"#, #"{"$unset":{"a.$x":1}}"#, #"{"a":{"b":2}}"#),
    (#"{"$x":1,"b":2}"#, #"{"$unset":{"$x":1}}"#, #"{"b":2}"#),
    (#"{"a":{"b":1}}"#, #"{"$rename":{"a.b":"a.$x"}}"#, #"{"a":{"$x":1}}"#),
    ("{}", #"{"$push":{"a":{"$slice":1}}}"#, #"{"a":[{"$slice":1}]}"#),
    ("{}", #"{"$push":{"a":{"$position":1}}}"#, #"{"a":[{"$position":1}]}"#),
    (
      #"{"a":0.1}"#, #"{"$mul":{"a":{"$numberDecimal":"3"}}}"#,
      #"{"a":{"$numberDecimal":"0.300000000000000"}}"#
    ),
    (
      #"{"a":{"$numberDecimal":"1"}}"#, #"{"$inc":{"a":2.5}}"#,
      #"{"a":{"$numberDecimal":"3.50000000000000"}}"#
    ),
    (
      #"{"a":{"$numberDecimal":"1.5"}}"#, #"{"$inc":{"a":0.0}}"#, #"{"a":{"$numberDecimal":"1.5"}}"#
    ),
  ])
  func `updates change documents`(text: String, update: String, result: String) throws {
    #expect(try applying(update, to: text).text == result)
  }

  @Test func `a new document may have names with a dollar at the top`() throws {
    let made = try applying(#"{"$set":{"$x":1},"$inc":{"$y":2}}"#, to: "{}", isInsertion: true)
    #expect(made.text == #"{"$x":1,"$y":2}"#)
    for update in [#"{"$set":{"$x":1}}"#, #"{"$inc":{"$x":1}}"#, #"{"$rename":{"a":"$x"}}"#] {
      #expect(code { _ = try applying(update, to: #"{"a":1}"#) } == 52, "\(update)")
    }
  }

  @Test(arguments: [
    (#"{"grades":"x"}"#, #"{"$set":{"grades.subGrades.$[e]":1}}"#, [#"{"e":1}"#], 2),
    (#"{"a":"x"}"#, #"{"$unset":{"a.b.$[]":1}}"#, [], 2),
    (#"{"a":"x"}"#, #"{"$set":{"a.b":1}}"#, [], 28),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":{"":1}}}}"#, [], 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":{"a..b":1}}}}"#, [], 2),
    ("{}", #"{"$push":{"a":{"$each":[],"$sort":{"a.":1}}}}"#, [], 2),
    ("{}", #"{"$set":{"a.$[x":1}}"#, [], 52),
  ])
  func `invalid updates are refused`(text: String, update: String, filters: [String], code: Int) {
    #expect(self.code { _ = try applying(update, to: text, filters: filters) } == code)
  }

  /// jsonb does not keep the order of fields, which these depend on; see
  /// `OperatorLanguage.differences`.
  @Test func `objects are compared in their stored order`() throws {
    let text = #"{"a":[{"x":1,"yy":2}]}"#
    for filter in [
      #"{"a":{"yy":2,"x":1}}"#, #"{"a":{"$in":[{"yy":2,"x":1}]}}"#,
      #"{"a":{"$lt":{"yy":3,"x":1}}}"#,
    ] {
      #expect(try Query(json(filter)).matches(document(text)), "\(filter)")
    }
    for (update, result) in [
      (#"{"$addToSet":{"a":{"yy":2,"x":1}}}"#, text),
      (#"{"$pullAll":{"a":[{"yy":2,"x":1}]}}"#, #"{"a":[]}"#),
      (#"{"$max":{"b":{"yy":0,"x":0}}}"#, #"{"a":[{"x":1,"yy":2}],"b":{"x":0,"yy":0}}"#),
      (
        #"{"$push":{"a":{"$each":[{"yy":1,"x":1}],"$sort":1}}}"#,
        #"{"a":[{"x":1,"yy":1},{"x":1,"yy":2}]}"#
      ),
      // The operands of an operator keep their order.
      (
        #"{"$push":{"a":{"$each":[{"x":2,"yy":1}],"$sort":{"yy":1,"x":1}}}}"#,
        #"{"a":[{"x":2,"yy":1},{"x":1,"yy":2}]}"#
      ),
    ] {
      let outcome = try Update(json(update)).apply(to: document(text), now: now)
      #expect(outcome.document.json(.stored).text == result, "\(update)")
    }
  }

  @Test func `unsupported operators are refused by name`() {
    for name in QueryOperator.withheld {
      for query in [#"{"\#(name)":{}}"#, #"{"a":{"\#(name)":1}}"#] {
        let error = #expect(throws: OperatorError.self) { try Query(json(query)) }
        #expect(error?.detail.contains("MongoDB's \(name) ") == true)
      }
    }
  }

  @Test(arguments: [
    ("(a)(?1)", "recursion"), ("(?<=a+)", "fixed length"), ("\\\\C", "disabled"),
    ("(", "parenthesis"),
  ])
  func `the error for a regular expression has its reason`(pattern: String, word: String) {
    let error = #expect(throws: OperatorError.self) {
      try Query(json(#"{"a":{"$regex":"\#(pattern)"}}"#))
    }
    #expect(error?.code == .invalidRegex)
    #expect(error?.detail.contains(word) == true, "\(error?.detail ?? "")")
  }
}
