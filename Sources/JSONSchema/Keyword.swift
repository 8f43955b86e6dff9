/// The keywords of a schema.
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
  // Annotations, which are checked but have no effect.
  case comment = "$comment"
  case title, description, examples, deprecated, readOnly, writeOnly, format
  case usual = "default"
  case contentMediaType, contentEncoding, contentSchema

  /// Whether the keyword is `unevaluated…`, and so is applied after its siblings.
  var isUnevaluated: Bool { self == .unevaluatedItems || self == .unevaluatedProperties }

  /// The spelling in error codes.
  var code: String {
    rawValue.reduce(into: "") { code, character in
      if character == "$" { return }
      code += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
  }

  /// Keywords of this and earlier drafts that are refused by name, each with its remedy.
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
