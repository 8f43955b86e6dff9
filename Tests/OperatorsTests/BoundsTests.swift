import JSON
import Testing

@testable import Operators

/// Tests that hostile input costs an error, not the time or the memory of the worker.
@Suite struct BoundsTests {
  private func refusal(_ body: () throws -> Void) -> OperatorError.Code? {
    do { try body() } catch let error as OperatorError { return error.code } catch {}
    return nil
  }

  /// Uses a hundredth of a request's steps, which takes a hundredth of the time.
  private func matches(_ query: String, _ text: String) throws -> Bool {
    var budget = Budget(steps: Budget.defaultSteps / 100)
    return try Query(json(query)).matches(document(text), &budget)
  }

  @Test(arguments: [
    "(a+)+$", "(a|a)*[bc]", "(.*)(.*)(.*)(.*)(.*)[xy]", #"^(\\w+\\s?)*[$%]"#,
    "((a{0,9}){0,9}){0,9}[bc]",
  ])
  func `a pattern that backtracks too long is stopped`(pattern: String) throws {
    let text = String(repeating: "a", count: 200) + "!"
    let query = #"{"a":{"$regex":"\#(pattern)"}}"#
    #expect(refusal { _ = try matches(query, #"{"a":"\#(text)"}"#) } == .maxTimeExpired)
  }

  @Test func `a normal pattern finds its match in a long text`() throws {
    let query = try Query(try json(#"{"a":{"$regex":"foo.*bar","$options":"s"}}"#))
    let text = String(repeating: "lorem ipsum ", count: 2_000)
    #expect(try query.matches(document(#"{"a":"\#(text)foo\#(text)bar"}"#)))
    #expect(try !query.matches(document(#"{"a":"\#(text)foo\#(text)"}"#)))
  }

  @Test(arguments: ["(((a{1000}){1000}){1000})", "(((a{0}){9999}){9999})", "a{70000}"])
  func `a pattern that compiles to too much code is refused`(pattern: String) throws {
    #expect(refusal { _ = try Query(json(#"{"a":{"$regex":"\#(pattern)"}}"#)) } == .invalidRegex)
  }

  @Test func `patterns, conditions, paths and filters have limits`() throws {
    let long = String(repeating: "a", count: 4_097)
    #expect(refusal { _ = try Query(json(#"{"a":{"$regex":"\#(long)"}}"#)) } == .invalidRegex)
    let patterns = (0..<65).map { #"{"f\#($0)":{"$regex":"a"}}"# }.joined(separator: ",")
    #expect(refusal { _ = try Query(json(#"{"$and":[\#(patterns)]}"#)) } == .badValue)
    // The limit covers all patterns of one request.
    let allowance = PatternAllowance()
    for _ in 0..<16 {
      let pulled = #"{"$pull":{"a":{"$regex":"a"},"b":{"$regex":"a"}}}"#
      let filter = try json(#"{"i":{"$regex":"a"}}"#)
      let update = try json(String(pulled.dropLast()) + #","$set":{"c.$[i]":1}}"#)
      _ = try Update(update, arrayFilters: [filter], allowance)
      _ = try Query(json(#"{"a":{"$regex":"a"}}"#), allowance)
    }
    #expect(refusal { _ = try Query(json(#"{"a":{"$regex":"a"}}"#), allowance) } == .badValue)
    let pull = try json(#"{"$pull":{"a":{"$regex":"a"}}}"#)
    #expect(refusal { _ = try Update(pull, allowance) } == .badValue)
    let fields = { (count: Int) in (0..<count).map { #""f\#($0)":1"# }.joined(separator: ",") }
    _ = try Query(json("{\(fields(1_000))}"))
    #expect(refusal { _ = try Query(json("{\(fields(1_001))}")) } == .badValue)
    _ = try Update(json(#"{"$set":{\#(fields(1_000))}}"#))
    #expect(refusal { _ = try Update(json(#"{"$set":{\#(fields(1_001))}}"#)) } == .badValue)
    let filters = try (0..<65).map { try json(#"{"i\#($0)":1}"#) }
    #expect(
      refusal { _ = try Update(json(#"{"$set":{"a":1}}"#), arrayFilters: JSONArray(filters)) }
        == .badValue
    )
  }

  @Test func `neither paths nor results are deeper than 64`() throws {
    let path = { (parts: Int) in Array(repeating: "a", count: parts).joined(separator: ".") }
    let deepest = try applying(#"{"$set":{"\#(path(64))":1}}"#, to: "{}")
    _ = try JSON.parse(Array(deepest.text.utf8))
    #expect(refusal { _ = try applying(#"{"$set":{"\#(path(65))":1}}"#, to: "{}") } == .overflow)
    #expect(refusal { _ = try applying(#"{"$set":{"\#(path(64))":[]}}"#, to: "{}") } == .overflow)
    // A value that is stored with a type wrapper is one level deeper.
    let long = #"{"$numberLong":"1"}"#
    #expect(
      refusal { _ = try applying(#"{"$set":{"\#(path(64))":\#(long)}}"#, to: "{}") } == .overflow
    )
    #expect(refusal { _ = try Query(json(#"{"\#(path(65))":1}"#)) } == .overflow)
    let nested = { (levels: Int) in
      (0..<levels).reduce(["a": 1] as JSON) { query, _ in ["$and": [query]] }
    }
    _ = try Query(nested(35))
    #expect(refusal { _ = try Query(nested(36)) } == .overflow)
  }

  @Test func `a path of numbers is not resolved in exponentially many ways`() throws {
    let nested = (0..<31).reduce("0") { value, _ in #"[{"0":\#(value)}]"# }
    let path = Array(repeating: "0", count: 50).joined(separator: ".")
    let query = #"{"a.\#(path)":1}"#
    #expect(refusal { _ = try matches(query, #"{"a":\#(nested)}"#) } == .maxTimeExpired)
  }

  @Test func `writes of one value to every element are limited`() throws {
    let array = Array(repeating: "0", count: 20_000).joined(separator: ",")
    let value = String(repeating: "x", count: 10_000)
    #expect(
      refusal {
        _ = try applying(#"{"$set":{"a.$[]":"\#(value)"}}"#, to: #"{"a":[\#(array)]}"#)
      } == .documentTooLarge
    )
    let paths = (0..<100).map { #""f\#($0).1400000":1"# }.joined(separator: ",")
    let arrays = (0..<100).map { #""f\#($0)":[]"# }.joined(separator: ",")
    #expect(
      refusal { _ = try applying(#"{"$set":{\#(paths)}}"#, to: "{\(arrays)}") }
        == .documentTooLarge
    )
  }

  @Test func `many conditions on many elements exhaust the budget`() throws {
    let elements = (0..<1_000).map(String.init).joined(separator: ",")
    let text = #"{"a":[\#(elements)]}"#
    let either = (2_000..<2_900).map { #"{"a":\#($0)}"# }.joined(separator: ",")
    #expect(refusal { _ = try matches(#"{"$or":[\#(either)]}"#, text) } == .maxTimeExpired)
    // A list is looked up, not walked.
    let values = (2_000..<2_900).map(String.init).joined(separator: ",")
    #expect(try !matches(#"{"a":{"$in":[\#(values)]}}"#, text))
  }

  @Test(arguments: [
    #"{"$push":{"a":{"$each":[],"$sort":{"$numberLong":"-9223372036854775808"}}}}"#,
    #"{"$push":{"a":{"$each":[],"$sort":{"a":{"$numberLong":"-9223372036854775808"}}}}}"#,
    #"{"$pop":{"a":{"$numberLong":"-9223372036854775808"}}}"#,
  ])
  func `the smallest number is not a sort direction`(update: String) throws {
    #expect(refusal { _ = try applying(update, to: #"{"a":[1]}"#) } != nil)
  }

  @Test(arguments: [
    ("$position", "-9223372036854775808"), ("$position", "9223372036854775807"),
    ("$slice", "-9223372036854775808"), ("$slice", "9223372036854775807"),
  ])
  func `the smallest and largest number count from an end`(name: String, number: String) throws {
    let update = ##"{"$push":{"a":{"$each":[2],"\##(name)":{"$numberLong":"\##(number)"}}}}"##
    let outcome = try applying(update, to: #"{"a":[1]}"#)
    #expect([#"{"a":[1,2]}"#, #"{"a":[2,1]}"#].contains(outcome.text))
  }

  /// A hash that ignores a difference of values makes a set as slow as a list.
  @Test(arguments: [
    #"{"$timestamp":{"t":1,"i":N}}"#, #"{"$code":"","$scope":{"a":N}}"#,
    #"{"$regularExpression":{"pattern":"N","options":"i"}}"#, #"{"$numberDecimal":"1NE-6000"}"#,
    #"{"$numberDecimal":"1NE+6000"}"#, #"{"$numberDecimal":"1.00000000000000000000000N"}"#,
    #"{"$dbPointer":{"$ref":"N","$id":{"$oid":"000000000000000000000000"}}}"#,
    #"{"$numberLong":"922337203685477N"}"#, #"{"a":{"b":N}}"#, "[[N]]", #""N""#,
  ])
  func `different values have different hashes`(pattern: String) throws {
    let values = try (1_000..<2_000).map { number in
      let text = pattern.split(separator: "N", omittingEmptySubsequences: false)
        .joined(separator: String(number))
      return EqualityKey(try BSON(json(text)))
    }
    #expect(Set(values.map(\.hashValue)).count > 990)
  }

  @Test func `texts that only look alike have different hashes`() {
    let texts = (0..<1_024).map { number in
      (0..<10).map { number >> $0 & 1 == 0 ? "\u{e9}" : "e\u{301}" }.joined()
    }
    #expect(Set(texts.map { EqualityKey(.string($0)).hashValue }).count > 1_000)
    #expect(Set(texts.map { FieldName($0).hashValue }).count > 1_000)
  }

  @Test(arguments: [
    ["1", "1.0", "1e0", #"{"$numberDecimal":"1.000"}"#, #"{"$numberDecimal":"0.1E1"}"#],
    ["0", "-0.0", #"{"$numberDecimal":"-0E+10"}"#, #"{"$numberLong":"0"}"#],
    ["0.5", #"{"$numberDecimal":"0.50"}"#, #"{"$numberDouble":"0.5"}"#],
    ["-1e300", #"{"$numberDouble":"-1e300"}"#],
    ["1e22", #"{"$numberDecimal":"1E+22"}"#, #"{"$numberDecimal":"10000000000000000000000"}"#],
    ["9007199254740993", #"{"$numberDecimal":"9007199254740993"}"#],
    ["-9223372036854775808", #"{"$numberDecimal":"-9223372036854775808"}"#],
    ["9223372036854775808.0", #"{"$numberDecimal":"9223372036854775808"}"#],
    [#"{"$numberDouble":"Infinity"}"#, #"{"$numberDecimal":"Infinity"}"#],
    [#"{"$numberDouble":"NaN"}"#, #"{"$numberDecimal":"NaN"}"#],
    [#"{"$numberDecimal":"0.000000000931322574615478515625"}"#, "9.31322574615478515625e-10"],
  ])
  func `equal numbers of all types have one hash`(texts: [String]) throws {
    let values = try texts.map { EqualityKey(try BSON(json($0))) }
    #expect(Set(values).count == 1)
    #expect(Set(values.map(\.hashValue)).count == 1)
  }

  @Test func `a sort has at most as many keys as in MongoDB`() throws {
    let keys = { (count: Int) in (0..<count).map { #""k\#($0)":1"# }.joined(separator: ",") }
    let push = { (count: Int) in #"{"$push":{"a":{"$each":[],"$sort":{\#(keys(count))}}}}"# }
    _ = try Update(json(push(32)))
    #expect(refusal { _ = try Update(json(push(33))) } == .badValue)
  }

  @Test func `long texts cost more than one step`() throws {
    let text = String(repeating: "a", count: 3_200)
    let either = (0..<100).map { #"{"a":"\#(text)\#($0)"}"# }.joined(separator: ",")
    #expect(
      refusal { _ = try matches(#"{"$or":[\#(either)]}"#, #"{"a":["\#(text)","\#(text)"]}"#) }
        == .maxTimeExpired
    )
  }

  @Test func `removals without effect are counted`() throws {
    let elements = Array(repeating: "0", count: 10_000).joined(separator: ",")
    let paths = (0..<200).map { #""a.$[].x.y\#($0)":1"# }.joined(separator: ",")
    #expect(
      refusal { _ = try applying(#"{"$unset":{\#(paths)}}"#, to: #"{"a":[\#(elements)]}"#) }
        == .maxTimeExpired
    )
  }

  @Test func `renamed paths that only look alike stay distinct`() throws {
    let update = "{\"$rename\":{\"a\":\"\u{e9}\",\"b\":\"e\u{301}\"}}"
    let outcome = try applying(update, to: #"{"a":1,"b":2}"#)
    #expect(outcome.text == "{\"e\u{301}\":2,\"\u{e9}\":1}")
    let dotted = try applying("{\"$set\":{\"a.\u{301}\":1}}", to: "{}")
    #expect(dotted.text == "{\"a\":{\"\u{301}\":1}}")
  }

  @Test func `large arrays are changed in one pass`() throws {
    let elements = (0..<10_000).map(String.init).joined(separator: ",")
    let text = #"{"a":[\#(elements)]}"#
    let pulled = try applying(#"{"$pullAll":{"a":[\#(elements)]}}"#, to: text)
    #expect(pulled.text == #"{"a":[]}"#)
    let added = try applying(#"{"$addToSet":{"a":{"$each":[\#(elements)]}}}"#, to: text)
    #expect(!added.isModified)
    let changed = try applying(#"{"$inc":{"a.$[]":1}}"#, to: text)
    #expect(changed.text.hasPrefix(#"{"a":[1,2,3,"#))
    let pushed = try applying(
      #"{"$push":{"a":{"$each":[\#(elements)],"$sort":-1,"$slice":3}}}"#, to: #"{"a":[7]}"#
    )
    #expect(pushed.text == #"{"a":[9999,9998,9997]}"#)
  }

  @Test func `wide objects are changed in one pass`() throws {
    let fields = (0..<10_000).map { #""f\#($0)":0"# }.joined(separator: ",")
    let paths = (0..<1_000).map { #""f\#($0)":1"# }.joined(separator: ",")
    let outcome = try applying(#"{"$unset":{\#(paths)}}"#, to: "{\(fields)}")
    #expect(outcome.text.hasPrefix(#"{"f1000":0,"#))
  }
}
