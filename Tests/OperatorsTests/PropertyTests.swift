import JSON
import Testing

@testable import Operators

/// Tests rules that hold for all documents, on many random documents.
@Suite struct PropertyTests {
  /// A generator that repeats its numbers for the same seed, so that a failure can be repeated.
  private struct Dice: RandomNumberGenerator {
    var state: UInt64

    /// - Source: Sebastiano Vigna, SplitMix64.
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var word = state
      word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
      word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
      return word ^ (word >> 31)
    }

    mutating func pick<Value>(_ values: [Value]) -> Value {
      values[Int.random(in: 0..<values.count, using: &self)]
    }

    mutating func count(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
  }

  private static let scalars = [
    "null", "true", "false", "0", "1", "2", "-3", "1.0", "2.5", "1e20", "-1e-9",
    #"{"$numberLong":"1"}"#,
    #"{"$numberDecimal":"2.50"}"#, #"{"$numberDouble":"NaN"}"#, #""""#, #""x""#, #""xy""#,
    #"{"$oid":"0123456789abcdef01234567"}"#, #"{"$date":"2020-01-01T00:00:00Z"}"#,
    #"{"$regularExpression":{"pattern":"x","options":""}}"#, #"{"$minKey":1}"#,
  ]

  private static let names = ["a", "b", "c", "0", "1"]

  private static func text(_ dice: inout Dice, depth: Int) -> String {
    switch depth == 0 ? 9 : dice.count(10) {
    case 0...2:
      let elements = (0..<dice.count(4)).map { _ in text(&dice, depth: depth - 1) }
      return "[\(elements.joined(separator: ","))]"
    case 3...5: return object(&dice, depth: depth - 1)
    default: return dice.pick(scalars)
    }
  }

  private static func object(_ dice: inout Dice, depth: Int) -> String {
    let chosen = names.shuffled(using: &dice).prefix(dice.count(4))
    return "{" + chosen.map { #""\#($0)":\#(text(&dice, depth: depth))"# }.joined(separator: ",")
      + "}"
  }

  private static func path(_ dice: inout Dice) -> String {
    ([dice.pick(["a", "b", "c"])] + (0..<dice.count(3)).map { _ in dice.pick(names) })
      .joined(separator: ".")
  }

  private static func condition(_ dice: inout Dice) -> String {
    let operand = text(&dice, depth: 1)
    return switch dice.count(8) {
    case 0: #"{"$gt":\#(dice.pick(scalars.filter { !$0.contains("regular") }))}"#
    case 1: #"{"$lte":\#(dice.pick(scalars.filter { !$0.contains("regular") }))}"#
    case 2: #"{"$exists":true}"#
    case 3: #"{"$size":\#(dice.count(3))}"#
    case 4: #"{"$type":"\#(dice.pick(["number", "array", "object", "string"]))"}"#
    case 5: #"{"$elemMatch":{"\#(dice.pick(names))":\#(operand)}}"#
    case 6: #"{"$all":[\#(operand)]}"#
    default: #"{"$eq":\#(operand)}"#
    }
  }

  @Test(arguments: 0..<10) func `values survive the stored form`(seed: Int) throws {
    var dice = Dice(state: UInt64(seed))
    for _ in 0..<50 {
      let original = try value(Self.text(&dice, depth: 4))
      #expect(try BSON(original.json(.stored)) == original)
      #expect(try BSON(original.json(.canonical)) == original)
    }
  }

  @Test(arguments: 0..<10) func `the order is total and equal values hash alike`(seed: Int) throws {
    var dice = Dice(state: UInt64(seed))
    let values = try (0..<25).map { _ in try value(Self.text(&dice, depth: 2)) }
    for first in values {
      for second in values {
        let order = BSON.compare(first, second)
        #expect(BSON.compare(second, first) == order.reversed)
        if order == .same {
          #expect(EqualityKey(first).hashValue == EqualityKey(second).hashValue)
        }
        for third in values where order == .ascending && BSON.compare(second, third) != .descending
        {
          #expect(BSON.compare(first, third) == .ascending)
        }
      }
    }
  }

  @Test(arguments: 0..<10) func `a query and its complement partition all documents`(
    seed: Int
  ) throws {
    var dice = Dice(state: UInt64(seed))
    for _ in 0..<50 {
      let document = try document(Self.object(&dice, depth: 3))
      let path = Self.path(&dice)
      let condition = Self.condition(&dice)
      let plain = #"{"\#(path)":\#(condition)}"#
      func matches(_ query: String) throws -> Bool { try Query(json(query)).matches(document) }
      let isMatch = try matches(plain)
      #expect(try matches(#"{"$nor":[\#(plain)]}"#) != isMatch, "\(plain)")
      #expect(try matches(#"{"\#(path)":{"$not":\#(condition)}}"#) != isMatch, "\(plain)")
      #expect(try matches(#"{"$or":[\#(plain)],"$and":[\#(plain),{}]}"#) == isMatch, "\(plain)")
    }
  }

  @Test(arguments: 0..<10) func `a list of values matches what each of them matches`(
    seed: Int
  ) throws {
    var dice = Dice(state: UInt64(seed))
    for _ in 0..<50 {
      let document = try document(Self.object(&dice, depth: 3))
      let path = Self.path(&dice)
      let operands = (0..<3).map { _ in Self.text(&dice, depth: 1) }
      func matches(_ query: String) throws -> Bool { try Query(json(query)).matches(document) }
      let list = operands.joined(separator: ",")
      let each = try operands.map { try matches(#"{"\#(path)":\#($0)}"#) }
      #expect(try matches(#"{"\#(path)":{"$in":[\#(list)]}}"#) == each.contains(true))
      #expect(try matches(#"{"\#(path)":{"$all":[\#(list)]}}"#) == !each.contains(false))
    }
  }

  private static func change(_ dice: inout Dice) -> (name: String, operand: String) {
    let scalar = dice.pick(scalars)
    return switch dice.count(11) {
    case 0: ("$set", text(&dice, depth: 2))
    case 1: ("$unset", "1")
    case 2: ("$inc", dice.pick(["1", "2.5", #"{"$numberDecimal":"0.1"}"#]))
    case 3: ("$mul", dice.pick(["2", "0.5"]))
    case 4: ("$min", scalar)
    case 5: ("$max", scalar)
    case 6: ("$push", #"{"$each":[\#(scalar),3],"$sort":1,"$slice":-3}"#)
    case 7: ("$addToSet", #"{"$each":[\#(scalar),2]}"#)
    case 8: ("$pop", dice.pick(["1", "-1"]))
    case 9: ("$pull", #"{"$in":[\#(scalar),1]}"#)
    default: ("$pullAll", "[\(scalar),2]")
    }
  }

  /// One walk over the tree of all paths must do what the changes do one after another.
  @Test(arguments: 0..<10) func `many changes in one update equal the same changes one by one`(
    seed: Int
  ) throws {
    var dice = Dice(state: UInt64(seed))
    var successes = 0
    for _ in 0..<150 {
      let text = Self.object(&dice, depth: 3)
      var operators: [String: [String]] = [:]
      var steps: [(path: String, update: String)] = []
      for _ in 0..<3 {
        let (name, operand) = Self.change(&dice)
        let path = Self.path(&dice)
        let member = #""\#(path)":\#(operand)"#
        guard !steps.contains(where: { $0.path == path }) else { continue }
        operators[name, default: []].append(member)
        steps.append((path, #"{"\#(name)":{\#(member)}}"#))
      }
      let members = operators.sorted { $0.key < $1.key }
        .map { #""\#($0.key)":{\#($0.value.joined(separator: ","))}"# }
      guard let whole = try? applying("{\(members.joined(separator: ","))}", to: text) else {
        continue
      }
      successes += 1
      var single = text
      var isModified = false
      steps.sort { first, second in
        first.path.split(separator: ".").map { FieldName($0) }
          .lexicographicallyPrecedes(second.path.split(separator: ".").map { FieldName($0) })
      }
      for step in steps {
        let outcome = try applying(step.update, to: single)
        single = outcome.text
        isModified = isModified || outcome.isModified
      }
      #expect(whole.text == single, "\(members) on \(text)")
      #expect(whole.isModified == isModified)
      #expect(whole.isModified == (try document(whole.text) != document(text)))
    }
    #expect(successes > 30)
  }

  @Test(arguments: 0..<10) func `a change of all elements equals a change of each index`(
    seed: Int
  ) throws {
    var dice = Dice(state: UInt64(seed))
    for _ in 0..<50 {
      let elements = (0..<dice.count(5)).map { _ in Self.object(&dice, depth: 2) }
      let text = #"{"a":[\#(elements.joined(separator: ","))]}"#
      let (name, operand) = Self.change(&dice)
      let all = try? applying(#"{"\#(name)":{"a.$[].b":\#(operand)}}"#, to: text)
      let filtered = try? applying(
        #"{"\#(name)":{"a.$[i].b":\#(operand)}}"#,
        to: text,
        filters: [#"{"i":{"$exists":true}}"#]
      )
      let members = elements.indices.map { #""a.\#($0).b":\#(operand)"# }.joined(separator: ",")
      let each = try? applying(#"{"\#(name)":{\#(members)}}"#, to: text)
      #expect(all?.text == each?.text)
      #expect(filtered?.text == each?.text)
      #expect(all?.isModified == each?.isModified)
    }
  }
}
