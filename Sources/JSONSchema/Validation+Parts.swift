import JSON
import Patterns

/// The evaluated elements or members of a value, by their numbers.
struct Seen {
  private var words: [UInt64] = []

  /// The cost of a union with another set.
  var size: Int { words.count }

  func contains(_ number: Int) -> Bool {
    number / 64 < words.count && words[number / 64] & 1 << (number % 64) != 0
  }

  mutating func insert(_ number: Int) {
    let missing = number / 64 + 1 - words.count
    if missing > 0 { words.append(contentsOf: repeatElement(0, count: missing)) }
    words[number / 64] |= 1 << (number % 64)
  }

  mutating func add(_ other: Seen) {
    for (index, word) in other.words.enumerated() {
      if index < words.count { words[index] |= word } else { words.append(word) }
    }
  }
}

/// Tests of the parts of a value.
extension Validation {
  /// Returns whether a part of the value is valid, and marks the part as evaluated.
  ///
  /// `number` is the index of the part in the value; nil for other parts, such as keys.
  mutating func fits(
    _ index: Int, _ part: JSON, _ step: Step, at number: Int?
  ) throws(Stop) -> Bool {
    path.append(step)
    let outer = seen
    seen = nil
    let isFit = try fits(index, part)
    seen = outer
    if let number { seen?.insert(number) }
    path.removeLast()
    return isFit
  }

  mutating func fitsUnlessSeen(
    _ index: Int, _ part: JSON, _ step: Step, _ number: Int
  ) throws(Stop) -> Bool {
    try spend(1, index)
    if seen?.contains(number) == true { return true }
    return try fits(index, part, step, at: number)
  }

  /// Returns the number of valid elements, and marks them as evaluated.
  ///
  /// It stops at one more than `most`.
  mutating func count(
    _ elements: JSONArray, fitting part: Int, upTo most: Int
  ) throws(Stop) -> Int {
    var count = 0
    for (number, element) in elements.enumerated() where count <= most {
      let outer = seen
      seen = nil
      let isFit = try probe(part, element)
      seen = outer
      guard isFit else { continue }
      count += 1
      seen?.insert(number)
    }
    return count
  }

  /// Returns whether all conditions hold.
  ///
  /// While probing, it stops at the first violation.
  mutating func allHold<Parts: Sequence>(
    _ parts: Parts, _ holds: (Parts.Element, inout Validation) throws(Stop) -> Bool
  ) throws(Stop) -> Bool {
    var isFit = true
    for part in parts where try !holds(part, &self) {
      guard !isProbing else { return false }
      isFit = false
    }
    return isFit
  }

  mutating func each(
    _ object: JSONObject?, _ holds: (Int, String, JSON, inout Validation) throws(Stop) -> Bool
  ) throws(Stop) -> Bool {
    guard let object else { return true }
    return try allHold(object.enumerated()) { (member, validation) throws(Stop) in
      try holds(member.offset, member.element.key, member.element.value, &validation)
    }
  }

  mutating func elementsFit(
    _ elements: JSONArray, _ first: [Int], _ others: Int?
  ) throws(Stop) -> Bool {
    let elements = others == nil ? elements.prefix(first.count) : elements[...]
    return try allHold(elements.enumerated()) { (element, validation) throws(Stop) in
      guard let part = element.offset < first.count ? first[element.offset] : others else {
        return true
      }
      return try validation.fits(part, element.element, .index(element.offset), at: element.offset)
    }
  }

  mutating func membersFit(
    _ object: JSONObject?, _ named: [ByteString: Int],
    _ matching: [(pattern: Pattern, schema: Int)], _ others: Int?, _ index: Int
  ) throws(Stop) -> Bool {
    try each(object) { (offset, key, member, validation) throws(Stop) in
      try validation.spend(1 + key.utf8.count / 32, index)
      var parts: [Int] = []
      if let part = named[ByteString(key)] { parts.append(part) }
      for (pattern, part) in matching where try validation.matches(pattern, key, index) {
        parts.append(part)
      }
      if parts.isEmpty, let others { parts = [others] }
      return try validation.allHold(parts) { (part, validation) throws(Stop) in
        try validation.fits(part, member, .key(key), at: offset)
      }
    }
  }

  mutating func require(
    _ names: [String], _ object: JSONObject?, _ test: Test, _ index: Int
  ) throws(Stop) -> Bool {
    guard let object else { return true }
    try spend(names.count, index)
    return try allHold(names) { (name, validation) throws(Stop) in
      guard object[name] == nil else { return true }
      validation.path.append(.key(name))
      let isFit = try validation.refuse(test, index)
      validation.path.removeLast()
      return isFit
    }
  }
}
