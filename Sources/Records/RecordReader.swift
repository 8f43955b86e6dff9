package import JSON

/// Reads the columns of a record one by one, and collects their declarations.
///
/// A stored value of the wrong type is recorded as invalid and replaced by the safest value, in
/// listings too. A value out of range is accepted: an earlier version may have allowed it.
package struct RecordReader {
  /// The stored values; nil if they cannot be read, which makes every column invalid.
  package let chosen: JSONObject?
  /// Whether to collect more than the values.
  private let isListing: Bool
  private(set) var columns: [Column] = []
  private(set) var json = JSONObject()
  private(set) var chosenNames: [String] = []
  /// The names of invalid stored values.
  package private(set) var misfits: [String] = []

  package init(_ chosen: JSONObject?, isListing: Bool = false) {
    self.chosen = chosen
    self.isListing = isListing
  }

  /// Reads a Boolean; `safe` is its more restrictive value.
  package mutating func flag(
    _ name: String, _ usual: Bool, safe: Bool, _ meaning: String, _ traits: Column.Trait...
  ) -> Bool {
    value(name, ColumnRule(.flag), usual, safe: safe, meaning, traits: traits, JSON.bool, \.bool)
  }

  /// The largest number that columns may have, of either sign.
  ///
  /// As many days in microseconds are an `Int`, and a time of PostgreSQL.
  private static let greatest = 100_000_000

  /// Reads a number; one beyond `greatest`, which no rule allows, becomes `greatest`.
  package mutating func number(
    _ name: String, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String,
    _ traits: Column.Trait...
  ) -> Int {
    number(name, range, usual, meaning, traits)
  }

  private mutating func number(
    _ name: String, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String,
    _ traits: [Column.Trait]
  ) -> Int {
    value(
      name, ColumnRule(.number(range)), usual, safe: usual, meaning, traits: traits,
      { .number(JSONNumber($0)) },
      { $0.number?.int.map { max(-Self.greatest, min($0, Self.greatest)) } }
    )
  }

  /// The units of durations.
  package enum TimeUnit: Int {
    case seconds = 1
    case minutes = 60
    case days = 86_400
  }

  package mutating func duration(
    _ name: String, _ unit: TimeUnit, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String,
    _ traits: Column.Trait...
  ) -> Duration {
    .seconds(number(name, range, usual, meaning, traits) * unit.rawValue)
  }

  /// Declares a number that only SQL statements read.
  package mutating func declare(
    _ name: String, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String
  ) {
    _ = number(name, range, usual, meaning)
  }

  /// Reads one of several words; `safe` is the most restrictive one.
  package mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String, _ usual: Choice, safe: Choice, _ meaning: String, _ traits: Column.Trait...
  ) -> Choice {
    value(
      name, ColumnRule(.choice(Choice.allCases.map(\.rawValue))), usual, safe: safe, meaning,
      traits: traits, { .string($0.rawValue) }, { $0.string.flatMap(Choice.init) }
    )
  }

  /// Reads a list of words; the empty list is the safest.
  package mutating func choices<Choice: CaseIterable & RawRepresentable<String> & Hashable>(
    _ name: String, _ meaning: String, _ traits: Column.Trait...
  ) -> Set<Choice> {
    value(
      name, ColumnRule(.choices(Choice.allCases.map(\.rawValue))), [], safe: [], meaning,
      traits: traits,
      { chosen in
        let names = Choice.allCases.filter(chosen.contains).map { JSON.string($0.rawValue) }
        return .array(JSONArray(names))
      },
      { list in
        let choices = list.array?.compactMap { $0.string.flatMap(Choice.init) }
        return choices?.count == list.array?.count ? choices.map { Set($0) } : nil
      }
    )
  }

  package mutating func text(
    _ name: String, _ rule: @autoclosure () -> ColumnRule, _ usual: String, _ meaning: String,
    _ traits: Column.Trait...
  ) -> String {
    value(name, rule(), usual, safe: usual, meaning, traits: traits, JSON.string, \.string)
  }

  /// Reads a text that each record has; the empty text is the safest.
  package mutating func requiredText(
    _ name: String, _ rule: @autoclosure () -> ColumnRule, _ meaning: String,
    _ traits: Column.Trait...
  ) -> String {
    value(name, rule(), "", safe: "", meaning, traits: traits + [.required], JSON.string, \.string)
  }

  /// Reads a list of strings; the empty list is the safest.
  package mutating func texts(
    _ name: String, _ rule: @autoclosure () -> ColumnRule, _ meaning: String,
    _ traits: Column.Trait...
  ) -> [String] {
    value(
      name, rule(), [], safe: [], meaning, traits: traits,
      { .array(JSONArray($0.map(JSON.string))) },
      { list in
        let texts = list.array?.compactMap(\.string)
        return texts?.count == list.array?.count ? texts : nil
      }
    )
  }

  /// Reads an object; the empty object is the safest.
  package mutating func object(
    _ name: String, _ rule: @autoclosure () -> ColumnRule, _ meaning: String,
    _ traits: Column.Trait...
  ) -> JSONObject {
    value(
      name, rule(), JSONObject(), safe: JSONObject(), meaning, traits: traits, JSON.object,
      \.object
    )
  }

  /// Reads a text or an object that a record may lack.
  package mutating func optional<Value>(
    _ name: String, _ rule: @autoclosure () -> ColumnRule, _ meaning: String,
    _ traits: Column.Trait..., read: (JSON) -> Value?
  ) -> Value? {
    value(
      name, rule(), Value?.none, safe: nil, meaning, traits: traits, { _ in .null },
      { json in read(json).map { .some($0) } }
    )
  }

  /// Replaces the value that listings show of a column that has been read.
  package mutating func show(_ name: String, _ value: JSON) {
    if isListing { json[name] = value }
  }

  /// Reads a value of any type.
  ///
  /// - Parameters:
  ///   - name: the name of the column.
  ///   - rule: the rule for its JSON, which only listings make.
  ///   - usual: the default.
  ///   - safe: the most restrictive value.
  ///   - meaning: what the attribute does.
  ///   - traits: what else is declared of it.
  ///   - json: returns a value as JSON.
  ///   - read: returns the value of JSON; nil if it is of the wrong type.
  /// - Returns: the value.
  package mutating func value<Value>(
    _ name: String, _ rule: @autoclosure () -> ColumnRule, _ usual: Value, safe: Value,
    _ meaning: String, traits: [Column.Trait] = [], _ json: (Value) -> JSON,
    _ read: (JSON) -> Value?
  ) -> Value {
    let stored = chosen.map { $0[name] ?? .null }
    let fit = stored.flatMap(read)
    let isMisfit = fit == nil && stored != .null
    if isMisfit { misfits.append(name) }
    let value = fit ?? (isMisfit ? safe : usual)
    if isListing {
      columns.append(
        Column(name: name, rule: rule(), usual: json(usual), meaning: meaning, traits: traits))
      if !traits.contains(.secret) {
        self.json[name] = (fit == nil ? nil : stored) ?? json(value)
      }
      if fit != nil { chosenNames.append(name) }
    }
    return value
  }
}
