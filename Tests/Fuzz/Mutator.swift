import JSON

/// Makes inputs that reach deeper code than changed bytes do.
struct Mutator {
  var dice: Dice
  private let words: [String]

  init(seed: UInt64, words: [String]) {
    dice = Dice(state: seed)
    self.words = words
  }

  /// Inserts a word or overwrites bytes with it.
  ///
  /// Returns nil without words.
  mutating func text(_ input: [UInt8]) -> [UInt8]? {
    guard !words.isEmpty, dice.chance(3) else { return nil }
    let word = Array(dice.pick(words).utf8)
    let start = Int.random(in: 0...input.count, using: &dice)
    let end = dice.chance(2) ? start : min(start + word.count, input.count)
    return input[..<start] + word + input[end...]
  }

  // MARK: JSON

  /// Changes a value in one of the lines.
  ///
  /// Returns nil if the line is not JSON.
  mutating func tree(_ input: [UInt8]) -> [UInt8]? {
    guard var trees = values(input, atLeast: 1), let donor = trees.randomElement(using: &dice)
    else { return nil }
    let line = Int.random(in: 0..<trees.count, using: &dice)
    var offset = Int.random(in: 0..<Self.count(trees[line]), using: &dice)
    var place = Int.random(in: 0..<Self.count(donor), using: &dice)
    let graft = Self.value(&place, in: donor) ?? .null
    trees[line] = replaced(&offset, in: trees[line], graft)
    return Array(trees.map { $0.serialized() }.joined(separator: [UInt8(ascii: "\n")]))
  }

  private static func count(_ value: JSON) -> Int {
    switch value {
    case .array(let elements): elements.reduce(1) { $0 + count($1) }
    case .object(let object): object.reduce(1) { $0 + count($1.value) }
    default: 1
    }
  }

  private static func value(_ offset: inout Int, in value: JSON) -> JSON? {
    if offset == 0 { return value }
    offset -= 1
    let parts = value.array.map(Array.init) ?? value.object?.map(\.value) ?? []
    for part in parts { if let found = Self.value(&offset, in: part) { return found } }
    return nil
  }

  private mutating func replaced(_ offset: inout Int, in value: JSON, _ graft: JSON) -> JSON {
    defer { offset -= 1 }
    if offset == 0 { return changed(value, graft) }
    guard offset > 0 else { return value }
    switch value {
    case .array(let array):
      var elements = array.list()
      offset -= 1
      for index in elements.indices where offset >= 0 {
        elements[index] = replaced(&offset, in: elements[index], graft)
      }
      offset += 1
      return .array(JSONArray(elements))
    case .object(var object):
      offset -= 1
      for (key, member) in object where offset >= 0 {
        object[key] = replaced(&offset, in: member, graft)
      }
      offset += 1
      return .object(object)
    default: return value
    }
  }

  private mutating func changed(_ value: JSON, _ graft: JSON) -> JSON {
    let part = dice.chance(2) ? graft : leaf()
    switch (value, dice.count(6)) {
    case (.object(var object), 0...3):
      object[dice.chance(2) ? word() : object.map(\.key).randomElement(using: &dice) ?? ""] =
        dice.chance(4) ? nil : part
      return .object(object)
    case (.array(let array), 0...3):
      var elements = array.list()
      let index = Int.random(in: 0...elements.count, using: &dice)
      if index < elements.count, dice.chance(3) { elements.remove(at: index) }
      elements.insert(part, at: min(index, elements.count))
      return .array(JSONArray(elements))
    case (_, 4): return dice.chance(2) ? .array([value, part]) : .object(object(word(), value))
    default: return part
    }
  }

  private func object(_ key: String, _ value: JSON) -> JSONObject {
    var object = JSONObject()
    object[key] = value
    return object
  }

  private mutating func word() -> String { words.isEmpty ? "a" : dice.pick(words) }

  private mutating func leaf() -> JSON {
    switch dice.count(4) {
    case 0: .number(JSONNumber(dice.pick(Self.numbers)))
    case 1: dice.pick([.null, true, false, .object(JSONObject()), .array([]), ""])
    default: .string(dice.chance(4) ? dice.pick(Self.strings) : word())
    }
  }

  private static let numbers = [
    "0", "-0", "1", "-1", "2", "64", "255", "2147483647", "-2147483648", "2147483648",
    "4294967296", "9007199254740993", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "18446744073709551616", "0.1", "1.0", "-0.0", "1e1", "1e-1", "1e308",
    "-1e308", "1e-308", "1.5E+10", "123456789012345678901234567890123456789",
  ]

  private static let strings = [
    "é", "e\u{301}", "\u{212a}", "ſ", "ß", "İ", "\u{feff}", "\u{202e}", "\u{1f600}", "\u{7f}",
    "0", "-1", "01", "1e400", "NaN", "-Infinity", "9223372036854775807", "-9223372036854775808",
    "2024-02-30T24:60:61Z", "~", "~0", "~1", "a.b", "$", "$[]", "+1", " ", "\n", "\r\n",
  ]
}

/// A generator that a seed determines.
struct Dice: RandomNumberGenerator {
  var state: UInt64

  /// - Source: Sebastiano Vigna, SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }

  /// Returns true once in this number of calls, on average.
  mutating func chance(_ times: Int) -> Bool { count(times) == 0 }
  mutating func count(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[count(values.count)] }
}
