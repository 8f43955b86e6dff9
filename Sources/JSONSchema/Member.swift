import JSON

/// A member of a schema, with its siblings.
struct Member {
  let keyword: Keyword
  let value: JSON
  let pointer: String
  let siblings: JSONObject
  private let parent: String

  init(
    _ keyword: Keyword, _ value: JSON, _ pointer: String, _ siblings: JSONObject, _ parent: String
  ) {
    self.keyword = keyword
    self.value = value
    self.pointer = pointer
    self.siblings = siblings
    self.parent = parent
  }

  func sibling(_ keyword: Keyword) -> Member? {
    siblings[keyword.rawValue].map { value in
      Member(keyword, value, "\(parent)/\(keyword.rawValue)", siblings, parent)
    }
  }

  func test(_ rule: Rule, _ detail: String = "") -> Test {
    Test(keyword: keyword, rule: rule, detail: detail)
  }

  func error(_ rule: String, _ detail: String) -> SchemaError {
    SchemaError(pointer, rule, detail)
  }

  // MARK: Value types

  func text() throws(SchemaError) -> String {
    guard let text = value.string else { throw error("type", "This must be a string.") }
    return text
  }

  private func number() throws(SchemaError) -> JSONNumber {
    guard let number = value.number else { throw error("type", "This must be a number.") }
    return number
  }

  private func flag() throws(SchemaError) -> Bool {
    guard let flag = value.bool else { throw error("type", "This must be true or false.") }
    return flag
  }

  /// Returns a whole number, not below 0; one that is too large becomes the largest.
  func count() throws(SchemaError) -> Int {
    guard let number = value.number, number.isInteger, number >= JSONNumber(0) else {
      throw error("type", "This must be a whole number, 0 or more.")
    }
    return number.int ?? number.double.flatMap { Int(exactly: $0) } ?? .max
  }

  private func strings(_ value: JSON, at pointer: String) throws(SchemaError) -> [String] {
    let strings = value.array?.compactMap(\.string)
    guard let strings, strings.count == value.array?.count,
      Set(strings.map { ByteString($0) }).count == strings.count
    else {
      throw SchemaError(pointer, "type", "This must be a list of strings without duplicates.")
    }
    return strings
  }

  // MARK: Assertions

  /// Returns the test of a keyword that does not depend on its siblings; nil for an annotation.
  func assertion() throws(SchemaError) -> Test? {
    switch keyword {
    case .type: return try kinds()
    case .const: return values([value], "This must be \(Self.shown([value])).")
    case .values:
      guard let values = value.array else { throw error("type", "This must be a list of values.") }
      return self.values(Array(values), "This must be one of \(Self.shown(Array(values))).")
    case .multipleOf:
      let divisor = try number()
      guard divisor > JSONNumber(0), divisor.significantDigits <= 37 else {
        throw error("range", "This must be above 0, and have at most 37 significant digits.")
      }
      return test(.multiple(divisor), "This must be a multiple of \(divisor.text).")
    case .minimum:
      return test(.minimum(try number()), "This must be at least \(try number().text).")
    case .maximum: return test(.maximum(try number()), "This must be at most \(try number().text).")
    case .exclusiveMinimum:
      return test(.exclusiveMinimum(try number()), "This must be above \(try number().text).")
    case .exclusiveMaximum:
      return test(.exclusiveMaximum(try number()), "This must be below \(try number().text).")
    case .minLength:
      return test(
        .atLeast(.characters, try count()), "This must have at least \(try count()) characters."
      )
    case .maxLength:
      return test(
        .atMost(.characters, try count()), "This may have at most \(try count()) characters."
      )
    case .minItems:
      return test(
        .atLeast(.elements, try count()), "This must have at least \(try count()) elements."
      )
    case .maxItems:
      return test(.atMost(.elements, try count()), "This may have at most \(try count()) elements.")
    case .minProperties:
      return test(
        .atLeast(.members, try count()), "This must have at least \(try count()) members."
      )
    case .maxProperties:
      return test(.atMost(.members, try count()), "This may have at most \(try count()) members.")
    case .uniqueItems: return try flag() ? test(.unique, "All elements must be different.") : nil
    case .required:
      return test(.required(try strings(value, at: pointer)), "This member is required.")
    case .dependentRequired: return try dependentRequired()
    case .title, .description, .comment, .format, .contentMediaType, .contentEncoding:
      _ = try text()
    case .deprecated, .readOnly, .writeOnly: _ = try flag()
    case .examples:
      guard value.array != nil else { throw error("type", "This must be a list of values.") }
    default: break
    }
    return nil
  }

  private func kinds() throws(SchemaError) -> Test {
    let names = if let name = value.string { [name] } else { try strings(value, at: pointer) }
    var kinds: Kinds = []
    for name in names {
      guard let kind = Kinds.names.first(where: { $0.name == name })?.kind else {
        let all = Kinds.names.map(\.name).joined(separator: ", ")
        throw error("type", "A type must be one of \(all).")
      }
      kinds.insert(kind)
    }
    guard !names.isEmpty else { throw error("type", "This must be a type or a list of types.") }
    return test(.kinds(kinds), "This must be of type \(names.joined(separator: " or ")).")
  }

  private func values(_ values: [JSON], _ detail: String) -> Test {
    var work = 0
    let forms = Set(values.map { $0.canonicalForm(&work) })
    return test(.values(forms, longest: forms.map(\.count).max() ?? 0), detail)
  }

  /// Returns values as text for a message, if they are short enough.
  private static func shown(_ values: [JSON]) -> String {
    let text = values.map(\.text).joined(separator: ", ")
    return text.utf8.count <= 200 ? text : "a value that the schema lists"
  }

  private func dependentRequired() throws(SchemaError) -> Test {
    guard let object = value.object else {
      throw error("type", "This must be an object of lists of strings.")
    }
    var needs: [(name: String, needed: [String])] = []
    for (name, list) in object {
      let place = "\(pointer)/\(JSONPointer.escaped(name))"
      needs.append((name, try strings(list, at: place)))
    }
    return test(.dependentRequired(needs), "Another member of the object requires this one.")
  }
}
