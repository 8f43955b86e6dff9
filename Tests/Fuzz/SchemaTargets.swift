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
      "\\u00e9", "\\u{e9}", "{2,5}", "{0,65535}", "{1000}", "*", "+?", "??", "|", "^", "$", ".",
      "\u{212a}", "ſ", "İ", "\r\n",
    ],
    bound: MemoryBound(factor: 60, base: 2_097_152)
  ) { input in
    let parts = lines(input).map { text($0) }
    guard parts.count >= 3 else { return }
    let isECMAScript = parts[0].utf8.first == UInt8(ascii: "e")
    let dialect = isECMAScript ? Pattern.Dialect.ecmaScript : .pcre
    let options = String(decoding: parts[0].utf8.dropFirst(), as: UTF8.self)
    guard let pattern = try? Pattern(parts[1], options: options, dialect: dialect) else { return }
    // Comments and quotes may extend over appended text.
    let isPlain = !parts[1].contains("#") && !parts[1].contains("\\Q")
    for text in parts.dropFirst(2).prefix(3) {
      let isMatch = matches(pattern, text)
      expect(matches(pattern, text) == isMatch, "a second look finds another answer")
      guard isPlain else { continue }
      for same in ["(?:\(parts[1]))", "(?:\(parts[1]))|(?:\(parts[1]))", "(?:\(parts[1])){1,1}"] {
        guard let other = try? Pattern(same, options: options, dialect: dialect) else { continue }
        expect(matches(other, text) == isMatch, "\(same) on \(text) is not \(isMatch)")
      }
      if let start = try? Pattern("\\A(?:\(parts[1]))", options: options, dialect: dialect),
        matches(start, text)
      {
        expect(isMatch, "\(parts[1]) is found only when it is bound to the start of \(text)")
      }
    }
  }

  private struct TooMuch: Error {}

  /// Returns whether a pattern matches, and checks the bound on its steps.
  ///
  /// The bound is the length of the text times the number of instructions, about 4,096.
  private static func matches(_ pattern: Pattern, _ text: String) -> Bool {
    var steps = 0
    let isMatch = pattern.matches(text) { steps += $0 }
    let limit = (text.unicodeScalars.count + 2) * 4_096
    expect(steps <= limit, "\(pattern.source) takes \(steps) steps on \(text)")
    return isMatch
  }
}
