import Glibc
import JSON
import JSONSchema
import Patterns

extension FuzzTarget {
  /// Lines: a schema, and a document for it.
  static let jsonSchema = FuzzTarget(
    "json-schema",
    longest: 8_192,
    isJSON: true,
    words: [
      "$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$defs", "$comment",
      "#", "#/$defs/a", "#a",
      "#/properties/a", "#/%24defs/a", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
      "dependentSchemas", "prefixItems", "items", "contains", "minContains", "maxContains",
      "properties", "patternProperties", "additionalProperties", "propertyNames", "type", "enum",
      "unevaluatedItems", "unevaluatedProperties", "contentSchema", "https://a.example/", "b#a",
      "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
      "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties",
      "minProperties", "required", "dependentRequired", "format", "null", "boolean", "integer",
      "number", "string", "array", "object", "^a+$", "[a-z]*[0-9]", "a", "b",
    ],
    bound: MemoryBound(factor: 200, base: 2_097_152)
  ) { input in
    guard let values = values(input, atLeast: 2), let schema = try? JSONSchema(values[0])
    else { return }
    for document in values.dropFirst().prefix(3) {
      let faults = schema.faults(in: document)
      expect(faults.count <= JSONSchema.faultLimit, "there are \(faults.count) faults")
      expect(schema.faults(in: document) == faults, "a second look finds other faults")
      for fault in faults {
        expect(JSONPointer(fault.pointer) != nil, "\(fault.pointer) is no pointer")
        expect(JSONPointer(fault.schemaPointer) != nil, "\(fault.schemaPointer) is no pointer")
      }
    }
  }

  /// Lines: options, a pattern, texts.
  ///
  /// A first letter of `e` means ECMAScript's dialect.
  static let patterns = FuzzTarget(
    "patterns",
    longest: 1_024,
    words: [
      "(?:", "(?i)", "(?i-m:", "(?<n>", "(?#", ")", "[^", "[[:alpha:]]", "[:^digit:]", "]", "a-z",
      "\\d", "\\W", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\Q", "\\E", "\\R", "\\N", "\\x{1f600}",
      "\\u00e9", "\\u{e9}", "(?=", "(?<!", "(?>",
      "(?|", "(?(1)", "(?R)", "(?1)", "(*UCP)", "(*COMMIT)", "(*sr:", "\\1", "\\X", "\\p{L}", "\\K",
      "{2,5}", "{0,65535}", "{1000}", "*", "+?", "??", "|", "^", "$", ".",
      "\u{212a}", "ſ", "İ", "\r\n",
    ],
    bound: MemoryBound(factor: 60, base: 16_777_216)
  ) { input in
    let parts = lines(input).map { text($0) }
    guard parts.count >= 3 else { return }
    let isECMAScript = parts[0].utf8.first == UInt8(ascii: "e")
    let dialect = isECMAScript ? Pattern.Dialect.ecmaScript : .pcre
    let options = String(decoding: parts[0].utf8.dropFirst(), as: UTF8.self)
    guard let pattern = try? Pattern(parts[1], options: options, dialect: dialect) else { return }
    // Comments and quotes may run on over what is put behind, and a verb may end the search.
    let isPlain = !["#", "\\Q", "(*", "|)", "\\G"].contains { parts[1].contains($0) }
    for text in parts.dropFirst(2).prefix(3) {
      guard let isMatch = matches(pattern, text) else { continue }
      expect(matches(pattern, text) == isMatch, "a second look finds another answer")
      // A long text shows which work the steps do not count.
      let count = min(4_096, 65_536 / max(text.utf8.count, 1))
      _ = matches(pattern, String(repeating: text, count: count))
      guard isPlain else { continue }
      let start = try? Pattern("\\A(?:\(parts[1]))", options: options, dialect: dialect)
      if let start, matches(start, text) == true {
        expect(isMatch, "\(parts[1]) is found only when it is bound to the start of \(text)")
      }
    }
  }

  /// Returns whether the text contains a match; nil if the budget does not suffice.
  ///
  /// A step takes 50 to 100 ns. Other processes can make it take longer, but not this much.
  private static func matches(_ pattern: Pattern, _ text: String) -> Bool? {
    var steps = 100_000
    let start = processorTime()
    let isMatch = pattern.matches(text, spending: &steps)
    let time = processorTime() - start
    let most = 20_000_000 + 1_000 * (100_000 - max(steps, 0))
    expect(time <= most, "\(pattern.source) takes \(time) ns on \(text.utf8.count) bytes")
    return steps < 0 ? nil : isMatch
  }

  /// Returns the processor time of this thread in nanoseconds.
  private static func processorTime() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
