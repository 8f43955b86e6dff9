import FoundationEssentials
@testable import JSON

extension FuzzTarget {
  /// Tests the strict parser, and the operations on its values.
  static let jsonGate = FuzzTarget(
    "json",
    longest: 16_384,
    words: [
      "{\"a\":", "\"\\u0000\"", "\\ud83d\\ude00", "\\ud800", "1e-9223372036854775808",
      "10e9223372036854775807", "0e-16383", "0.000001e309", "-0.0", "1E+308", "9223372036854775807",
      "-9223372036854775808", "\u{feff}", "true", "false", "null", "[[[[[[[[", "]]]]]]]]", "\\/",
    ],
    bound: MemoryBound(factor: 30, base: 65_536)
  ) { input in
    // Imports have other limits.
    let wide = JSONLimits(depth: 65, numberLength: 700)
    if let value = try? JSON.parse(input, limits: wide) { checkNumbers(of: value) }
    guard let value = try? JSON.parse(input) else { return }
    expectStorable(value, "what was parsed")
    checkWrittenOut(value)
    checkForeign(input, value)
  }

  /// Checks that a number in the form of PostgreSQL, which GET returns, parses to the same value.
  private static func checkWrittenOut(_ value: JSON) {
    for number in numbers(in: value).prefix(64) {
      let text = writtenOut(number.text)
      guard let read = try? JSON.parse(Array(text.utf8)).number else {
        fatalError("\(number.text) is taken and \(text) is not")
      }
      expect(read == number, "\(number.text) is written out as another, \(text)")
      expect(writtenOut(read.text) == text, "\(text) changes when it is stored again")
    }
  }

  /// Returns a number in the form of `numeric`: without exponent, with trailing zeros.
  private static func writtenOut(_ text: String) -> String {
    let parts = text.lowercased().split(separator: "e")
    let sign = parts[0].hasPrefix("-") ? "-" : ""
    let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".")
    let fraction = mantissa.count > 1 ? String(mantissa[1]) : ""
    let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    var digits = mantissa[0] + fraction
    var scale = fraction.utf8.count - exponent
    if scale < 0 {
      digits += String(repeating: "0", count: -scale)
      scale = 0
    }
    digits = String(repeating: "0", count: max(scale + 1 - digits.utf8.count, 0)) + digits
    let whole = digits.dropLast(scale).drop { $0 == "0" }
    return sign + (whole.isEmpty ? "0" : whole) + (scale > 0 ? "." + digits.suffix(scale) : "")
  }

  /// Checks that the comparison of numbers is consistent.
  private static func checkNumbers(of value: JSON) {
    let numbers = numbers(in: value).prefix(24)
    for first in numbers {
      let form = JSONNumber(first.canonicalText)
      expect(form == first, "\(first.text) is not its canonical \(form.text)")
      expect(form.canonicalText == form.text, "\(form.text) is canonical and has another form")
      expect(first.double != nil, "\(first.text) is no double")
      expect(first.int == nil || first.isInteger, "\(first.text) is an Int and no integer")
      for second in numbers {
        let orders = [first < second, first == second, second < first]
        expect(orders.count { $0 } == 1, "\(first.text) and \(second.text) compare as \(orders)")
        guard second > JSONNumber(0), second.significantDigits <= 37 else { continue }
        let isMultiple = first.isMultiple(of: second)
        expect(
          !isMultiple || first == second || second <= first || first <= JSONNumber(0)
            || first.significantDigits == 0,
          "\(first.text) is a multiple of \(second.text)"
        )
      }
    }
  }

  private static func numbers(in value: JSON) -> [JSONNumber] {
    switch value {
    case .number(let number): [number]
    case .array(let elements): elements.flatMap(numbers)
    case .object(let object): object.flatMap { numbers(in: $0.value) }
    default: []
    }
  }

  /// Checks that Foundation's laxer parser accepts the same text with the same value.
  private static func checkForeign(_ input: [UInt8], _ value: JSON) {
    guard input.count <= 4_096 else { return }
    do {
      let other = try JSONDecoder().decode(ForeignJSON.self, from: Data(input))
      expect(other.isAlike(value), "Foundation reads another value")
    } catch {
      fatalError("Foundation refuses it: \(error)")
    }
  }

  static let jsonPatch = FuzzTarget(
    "json-patch",
    isJSON: true,
    words: [
      "op", "path", "from", "value", "add", "remove", "replace", "move", "copy", "test", "", "/",
      "/a", "/b/0", "/a/-", "/-", "/a~1b", "/a~0b", "/0", "/00", "/1e0", "a", "b",
    ],
    bound: MemoryBound(factor: 80, base: 1_048_576)
  ) { input in
    guard let values = values(input, atLeast: 2) else { return }
    let (document, changes) = (values[0], values[1])
    let merged = document.merging(changes)
    expect(merged.merging(changes) == merged, "merging twice is not merging once")
    if merged.extent.depth <= 64 { expectStorable(merged, "what was merged") }
    guard let patch = try? JSONPatch(changes) else { return }
    let limit = 65_536
    do throws(JSONPatchError) {
      let result = try patch.apply(to: document, maximumBytes: limit)
      expectStorable(result, "what was patched")
      let size = result.serialized().count
      expect(size <= 6 * input.count + limit, "the patch made \(size) bytes of \(input.count)")
    } catch {
      // Refused.
    }
  }
}

/// Returns a value as Foundation parses it, without numbers, which it rounds.
private indirect enum ForeignJSON: Decodable {
  case null
  case number
  case bool(Bool)
  case string(String)
  case array([ForeignJSON])
  case object([(key: String, value: ForeignJSON)])

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }

  init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: Key.self) {
      self = .object(
        try container.allKeys.map {
          ($0.stringValue, try container.decode(ForeignJSON.self, forKey: $0))
        }
      )
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [ForeignJSON] = []
      while !container.isAtEnd { elements.append(try container.decode(ForeignJSON.self)) }
      self = .array(elements)
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let flag = try? container.decode(Bool.self) {
        self = .bool(flag)
      } else {
        self = (try? container.decode(String.self)).map { .string($0) } ?? .number
      }
    }
  }

  func isAlike(_ value: JSON) -> Bool {
    switch (self, value) {
    case (.null, .null), (.number, .number): true
    case (.bool(let first), .bool(let second)): first == second
    case (.string(let first), .string(let second)): first.utf8.elementsEqual(second.utf8)
    case (.array(let first), .array(let second)):
      first.count == second.count && zip(first, second).allSatisfy { $0.isAlike($1) }
    case (.object(let first), .object(let second)):
      // Its keys are Swift strings, which compare by canonical form.
      Set(second.map(\.key)).count < second.count
        || first.count == second.count
          && first.allSatisfy { key, member in second[key].map(member.isAlike) ?? false }
    default: false
    }
  }
}
