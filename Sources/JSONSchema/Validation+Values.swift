import JSON
import Patterns

/// Tests with a single error, for the value as a whole.
extension Validation {
  mutating func isTrue(_ rule: Rule, of value: JSON, _ index: Int) throws(Stop) -> Bool {
    switch (rule, value) {
    case (.kinds(let kinds), _):
      if case .number(let number) = value { try spend(number.text.utf8.count / 8, index) }
      return kinds.includesKind(of: value)
    case (.any(let parts), _):
      // An `unevaluated…` keyword depends on all schemas that match.
      return try count(parts, fitBy: value, upTo: hasLeftovers ? .max : 0) > 0
    case (.one(let parts), _): return try count(parts, fitBy: value, upTo: 1) == 1
    case (.not(let part), _): return try !probe(part, value)
    case (.contains(let part, let least, let most), .array(let elements)):
      let count = try count(elements, fitting: part, upTo: most)
      return count >= least && count <= most
    case (.values(let forms, let longest), _):
      var work = 0
      let form = value.canonicalForm(limit: longest, &work)
      try spend(4 + work / 8, index)
      return form.map(forms.contains) ?? false
    case (.pattern(let pattern), .string(let text)):
      return try matches(pattern, text, index)
    case (.atLeast(.characters, let count), .string(let text)):
      try spend(text.utf8.count / 32, index)
      return text.unicodeScalars.count >= count
    case (.atMost(.characters, let count), .string(let text)):
      try spend(text.utf8.count / 32, index)
      return text.unicodeScalars.count <= count
    case (.atLeast(.elements, let count), .array(let elements)): return elements.count >= count
    case (.atMost(.elements, let count), .array(let elements)): return elements.count <= count
    case (.atLeast(.members, let count), .object(let object)): return object.count >= count
    case (.atMost(.members, let count), .object(let object)): return object.count <= count
    case (.unique, .array(let elements)): return try areUnique(elements, index)
    case (_, .number(let number)):
      // The digits of a number are examined individually.
      try spend(number.text.utf8.count / 8, index)
      switch rule {
      case .minimum(let bound): return number >= bound
      case .exclusiveMinimum(let bound): return number > bound
      case .maximum(let bound): return number <= bound
      case .exclusiveMaximum(let bound): return number < bound
      case .multiple(let divisor): return number.isMultiple(of: divisor)
      default: return true
      }
    default: return true
    }
  }

  /// Returns whether all elements differ.
  ///
  /// - Complexity: O(*n* log *n*) of the text of all elements.
  private mutating func areUnique(_ elements: JSONArray, _ index: Int) throws(Stop) -> Bool {
    var seen: Set<[UInt8]> = []
    for element in elements {
      var work = 0
      let form = element.canonicalForm(&work)
      try spend(2 + work / 4, index)
      guard seen.insert(form).inserted else { return false }
    }
    return true
  }

  /// Returns the number of schemas that the value matches, counted up to one more than `most`.
  private mutating func count(
    _ parts: [Int], fitBy value: JSON, upTo most: Int
  ) throws(Stop) -> Int {
    var count = 0
    for part in parts where count <= most {
      if try probe(part, value) { count += 1 }
    }
    return count
  }
}
