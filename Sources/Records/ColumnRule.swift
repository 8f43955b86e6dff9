package import JSON

/// The rule for the values of a column.
package struct ColumnRule: Sendable {
  package typealias Fault = (code: String, detail: String)

  /// The type of a value.
  package enum Kind: Sendable {
    case flag
    case number(ClosedRange<Int>)
    case choice([String])
    /// A list of some of these words.
    case choices([String])
    /// A string with so many characters.
    case text(ClosedRange<Int>)
    /// A list of at most so many strings.
    case texts(atMost: Int)
    /// Members of a document: true for all, false for none, or a list of JSON Pointers.
    case members
    case object
  }

  package let kind: Kind
  private let check: @Sendable (JSON) -> [ColumnFault]
  /// Returns the form in which a valid string of a list is stored; nil if each is stored as typed.
  private var stored: (@Sendable (String) -> String)?
  /// The fault of a text of another length, if the rule implies the length.
  private var faultOfLength: Fault?

  /// - Parameters:
  ///   - kind: the type of the values.
  ///   - check: returns the fault of a value of that type.
  package init(_ kind: Kind, _ check: @escaping @Sendable (JSON) -> Fault? = { _ in nil }) {
    self.init(kind) { value in check(value).map { [ColumnFault("", $0, $1)] } ?? [] }
  }

  /// - Parameters:
  ///   - kind: the type of the values.
  ///   - check: returns the faults of a value of that type, with their places in it.
  package init(_ kind: Kind, all check: @escaping @Sendable (JSON) -> [ColumnFault]) {
    self.kind = kind
    self.check = check
  }

  /// Creates a rule for a string.
  ///
  /// - Parameters:
  ///   - length: the number of its characters.
  ///   - code: the code of the fault.
  ///   - detail: the rule in words.
  ///   - impliesLength: whether the words say enough about the length, as those of a color do.
  ///   - isValid: whether a string of that length is valid.
  /// - Returns: the rule.
  package static func text(
    _ length: ClosedRange<Int>, _ code: String, _ detail: String, impliesLength: Bool = false,
    _ isValid: @escaping @Sendable (String) -> Bool
  ) -> ColumnRule {
    var rule = ColumnRule(.text(length)) { $0.string.map(isValid) == true ? nil : (code, detail) }
    if impliesLength { rule.faultOfLength = (code, detail) }
    return rule
  }

  /// Creates a rule for a list of strings, with a fault for each invalid one.
  ///
  /// - Parameters:
  ///   - most: the greatest number of strings.
  ///   - code: the code of the fault of a string.
  ///   - detail: the rule of a string in words.
  ///   - stored: returns the form in which a valid string is stored; nil if each is stored as typed.
  ///   - isValid: whether a string is valid.
  /// - Returns: the rule.
  package static func texts(
    atMost most: Int, _ code: String, _ detail: String,
    storing stored: (@Sendable (String) -> String)? = nil,
    _ isValid: @escaping @Sendable (String) -> Bool
  ) -> ColumnRule {
    var rule = ColumnRule(
      .texts(atMost: most),
      all: { list in
        guard let texts = list.array, texts.count <= most else {
          let rule = "This value must be a list of at most \(most) strings."
          return [ColumnFault("", "length", rule)]
        }
        return texts.enumerated().compactMap { index, text in
          text.string.map(isValid) == true ? nil : ColumnFault("/\(index)", code, detail)
        }
      })
    rule.stored = stored
    return rule
  }

  /// Returns the form in which a valid value is stored, so that equal ones compare.
  package func canonical(_ value: JSON) -> JSON {
    guard let stored, let texts = value.array else { return value }
    return .array(JSONArray(texts.map { $0.string.map { .string(stored($0)) } ?? $0 }))
  }

  /// Returns the faults of a value, with their places.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - place: the JSON Pointer to it.
  /// - Returns: the faults.
  package func faults(in value: JSON, at place: String) -> [ColumnFault] {
    if let detail = detail(against: value) {
      return [ColumnFault(place, detail.code, detail.detail)]
    }
    return (faultsOfWords(in: value) + check(value)).map {
      ColumnFault(place + $0.place, $0.code, $0.detail)
    }
  }

  private func faultsOfWords(in value: JSON) -> [ColumnFault] {
    guard case .choices(let choices) = kind, let words = value.array else { return [] }
    guard words.count <= choices.count else {
      let rule = "This value must be a list of at most \(choices.count) words."
      return [ColumnFault("", "length", rule)]
    }
    return words.enumerated().compactMap { index, word in
      let isChoice = word.string.map { word in choices.contains { $0.hasSameBytes(as: word) } }
      return isChoice == true
        ? nil
        : ColumnFault("/\(index)", "choice", "This value must be one of \(Self.list(choices)).")
    }
  }

  /// Returns the fault if a value is not of the kind.
  private func detail(against value: JSON) -> Fault? {
    switch kind {
    case .flag: value.bool == nil ? ("type", "This value must be true or false.") : nil
    case .number(let range):
      value.number?.int.map(range.contains) == true
        ? nil : ("range", "This value must be a whole number in \(range).")
    case .choice(let choices):
      value.string.map(choices.contains) == true
        ? nil : ("choice", "This value must be one of \(Self.list(choices)).")
    case .choices(let choices):
      value.array == nil
        ? ("type", "This value must be a list of words among \(Self.list(choices)).") : nil
    case .text(let length):
      value.string.map { length.contains($0.unicodeScalars.count) } == true
        ? nil
        : faultOfLength ?? (
          "length",
          "This value must be a text of \(length.lowerBound) to \(length.upperBound) characters."
        )
    case .texts, .members, .object: nil
    }
  }

  private static func list(_ choices: [String]) -> String { choices.joined(separator: ", ") }

  /// Reads a value as an operator types it.
  ///
  /// `null` resets to the default. JSON of the column's type is read as JSON, any other text as a
  /// string. Lists may be typed without JSON, separated by commas, spaces or lines.
  package func value(of text: String) -> JSON {
    guard let json = try? JSON.parse(Array(text.utf8)) else {
      switch kind {
      case .texts, .choices, .members:
        return .array(text.split { $0 == "," || $0.isWhitespace }.map { .string(String($0)) })
      default: return .string(text)
      }
    }
    let isFit =
      switch kind {
      case .flag: json.bool != nil
      case .number: json.number != nil
      case .choice, .text: json.string != nil
      case .texts, .choices: json.array != nil
      case .members: json.array != nil || json.bool != nil
      case .object: json.object != nil
      }
    return isFit || json == .null ? json : .string(text)
  }
}
