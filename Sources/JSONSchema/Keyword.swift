/// What a schema may have for members.
enum Keyword: String, Sendable {
  case schema = "$schema"
  case id = "$id"
  case anchor = "$anchor"
  case dynamicAnchor = "$dynamicAnchor"
  case definitions = "$defs"
  case reference = "$ref"
  case dynamicReference = "$dynamicRef"
  case type
  case values = "enum"
  case const
  case multipleOf, maximum, exclusiveMaximum, minimum, exclusiveMinimum
  case maxLength, minLength, pattern
  case prefixItems, items, contains, minContains, maxContains, maxItems, minItems, uniqueItems
  case properties, patternProperties, additionalProperties, propertyNames
  case required, dependentRequired, dependentSchemas, maxProperties, minProperties
  case allOf, anyOf, oneOf, not
  case condition = "if"
  case then
  case otherwise = "else"
  case unevaluatedItems, unevaluatedProperties
  // Annotations: read, and without effect.
  case comment = "$comment"
  case title, description, examples, deprecated, readOnly, writeOnly, format
  case usual = "default"
  case contentMediaType, contentEncoding, contentSchema

  /// Whether it looks at what the keywords beside it have left over, and so comes after them.
  var isUnevaluated: Bool { self == .unevaluatedItems || self == .unevaluatedProperties }

  /// As codes of faults spell it.
  var code: String {
    rawValue.reduce(into: "") { code, character in
      if character == "$" { return }
      code += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
  }

  /// Keywords of this and earlier drafts that are refused by name, and what to do about it.
  static let refused: [String: String] = [
    "$recursiveRef": "It is of an earlier draft: use $dynamicRef.",
    "$recursiveAnchor": "It is of an earlier draft: use $dynamicAnchor.",
    "$vocabulary": "It is for schemas of schemas.",
    "definitions": "It is of an earlier draft: use $defs.",
    "dependencies": "It is of an earlier draft: use dependentRequired or dependentSchemas.",
    "additionalItems": "It is of an earlier draft: use items beside prefixItems.",
    "id": "It is of an earlier draft: use $id.",
  ]
}
