import JSON
import Testing

@testable import Operators

/// Tests the charges to a request's budget beyond the values that a query examines.
@Suite struct ChargeTests {
  /// Returns whether the query takes more than `steps` steps.
  private func takes(moreThan steps: Int, _ query: String, on text: String) throws -> Bool {
    var budget = Budget(steps: steps)
    let (query, document) = (try Query(json(query)), try document(text))
    do throws(OperatorError) {
      _ = try query.matches(document, &budget)
      return false
    } catch {
      #expect(error.code == .maxTimeExpired)
      return true
    }
  }

  @Test(arguments: [
    #"{"$binary":{"base64":"TEXT","subType":"00"}}"#, #""TEXT""#, #"{"$symbol":"TEXT"}"#,
    #"{"$regularExpression":{"pattern":"TEXT","options":""}}"#, #"{"$code":"TEXT"}"#,
    #"{"$dbPointer":{"$ref":"TEXT","$id":{"$oid":"000000000000000000000000"}}}"#,
    #"{"$oid":"TEXT"}"#, #"{"b":"TEXT","c":0}"#, #"["TEXT"]"#, #"{"TEXT":0}"#,
  ])
  func `a value is charged by its length at each read`(pattern: String) throws {
    let long = String(repeating: "AAAA", count: 80_000)
    let value = pattern.split(separator: "TEXT", omittingEmptySubsequences: false)
      .joined(separator: long)
    // Both have the same type, so that the contents of containers are compared.
    let operand = pattern.contains("[\"") ? "[0]" : pattern.contains("0}") ? #"{"b":0}"# : "0"
    let many = Array(repeating: #"{"a":\#(operand)}"#, count: 20).joined(separator: ",")
    #expect(try takes(moreThan: 100_000, #"{"$nor":[\#(many)]}"#, on: #"{"a":\#(value)}"#))
    #expect(try !takes(moreThan: 30_000, #"{"a":\#(operand)}"#, on: #"{"a":\#(value)}"#))
  }

  @Test func `elements that a condition skips are charged`() throws {
    let zeros = Array(repeating: "0", count: 10_000).joined(separator: ",")
    let query = #"{"a":{"$elemMatch":{"x":1}}}"#
    #expect(try takes(moreThan: 5_000, query, on: #"{"a":[\#(zeros)]}"#))
  }

  @Test func `a long name is charged at each lookup`() throws {
    let name = String(repeating: "n", count: 64_000)
    #expect(try takes(moreThan: 1_000, #"{"\#(name)":1}"#, on: "{}"))
    #expect(throws: OperatorError.self) {
      var budget = Budget(steps: 1_000)
      _ = try Update(json(#"{"$unset":{"\#(name)":1}}"#))
        .apply(to: document("{}"), now: now, &budget)
    }
  }

  @Test func `all lookups of a call share one budget`() throws {
    let query = try Query(json(#"{"a":1}"#))
    let document = try document(#"{"a":1}"#)
    var budget = Budget(steps: 1_000)
    var looks = 0
    #expect(throws: OperatorError.self) {
      while looks < 1_000 {
        _ = try query.matches(document, &budget)
        looks += 1
      }
    }
    #expect(looks > 0)
  }

  @Test(arguments: [#"{"a.b":1}"#, #"{"a.b":0}"#])
  func `a projection is charged by what it visits`(projection: String) throws {
    let projection = try Projection(json(projection))
    let zeros = Array(repeating: "0", count: 10_000).joined(separator: ",")
    let document = try document(#"{"a":[\#(zeros)]}"#)
    var (few, enough) = (Budget(steps: 5_000), Budget(steps: 20_000))
    #expect(throws: OperatorError.self) { try projection.apply(to: document, &few) }
    _ = try projection.apply(to: document, &enough)
  }

  /// The trees of several paths are merged once for all elements that match the same filters.
  ///
  /// The merge is charged by their size.
  @Test func `a combination of filters is charged once`() throws {
    let paths = (0..<100).map { #""a.$[x].k\#($0)":1"# }.joined(separator: ",")
    let update = try Update(
      json(#"{"$unset":{\#(paths),"a.$[].z":1}}"#), arrayFilters: [json(#"{"x":{"$exists":true}}"#)]
    )
    guard case .operators(.fields(let children), _, let filters) = update.content,
      case .elements(let all, let filtered) = children[FieldName("a")]
    else {
      Issue.record("no elements")
      return
    }
    let steps = ElementSteps(all, filtered, filters)
    #expect(throws: OperatorError.self) {
      var budget = Budget(steps: 100)
      _ = try steps.step(1, at: [], &budget)
    }
    var budget = Budget(steps: 2_000)
    guard case .fields(let fields) = try steps.step(1, at: [], &budget) else {
      Issue.record("no fields")
      return
    }
    #expect(fields.count == 101)
    #expect(fields.map(\.name) == fields.map(\.name).sorted())
    var nothing = Budget(steps: 0)
    let known = try steps.step(1, at: [], &nothing)
    #expect(known != nil)
  }

  @Test(arguments: ["ii", "g", "imsxlui", String(repeating: "m", count: 1_000)])
  func `a regular expression with other options is data`(options: String) throws {
    let text = #"{"$regularExpression":{"pattern":"","options":"\#(options)"}}"#
    #expect(try value(text).document != nil)
    let known = try value(#"{"$regularExpression":{"pattern":"","options":"xusmli"}}"#)
    #expect(known == .regularExpression(pattern: "", options: "ilmsux"))
  }

  @Test(arguments: [
    "[1]", #"{"$undefined":true}"#, #"{"$regularExpression":{"pattern":"","options":""}}"#,
  ])
  func `an _id that is not an id is kept, and never created`(id: String) throws {
    let changed = try applying(#"{"$set":{"a":1}}"#, to: #"{"_id":\#(id)}"#)
    #expect(changed.text == #"{"_id":\#(id),"a":1}"#)
    let error = #expect(throws: OperatorError.self) {
      try applying(#"{"$set":{"_id":\#(id)}}"#, to: "{}")
    }
    #expect(error?.code == .invalidIDField)
  }
}
