package import JSON

/// Reads the settings of an app one by one, and collects their declarations.
///
/// A stored value of the wrong type is recorded as invalid and replaced by the safest value, in
/// listings too. A value out of range is accepted: an earlier version may have allowed it.
package struct SettingsReader {
  /// The stored settings; nil if they cannot be read, which makes every setting invalid.
  package let chosen: JSONObject?
  /// Whether to collect more than the values.
  private let isListing: Bool
  private(set) var settings: [AppSetting] = []
  private(set) var json = JSONObject()
  private(set) var chosenNames: [String] = []
  /// The names of invalid stored settings.
  private(set) var misfits: [String] = []

  package init(_ chosen: JSONObject?, isListing: Bool = false) {
    self.chosen = chosen
    self.isListing = isListing
  }

  /// Reads a Boolean; `safe` is its more restrictive value.
  package mutating func flag(_ name: String, _ usual: Bool, safe: Bool, _ meaning: String) -> Bool {
    value(name, SettingRule(.flag), usual, safe: safe, meaning, JSON.bool, \.bool)
  }

  /// The largest number that settings may have, of either sign.
  ///
  /// As many days in microseconds are an `Int`, and a time of PostgreSQL.
  private static let greatest = 100_000_000

  /// Reads a number; one beyond `greatest`, which no rule allows, becomes `greatest`.
  package mutating func number(
    _ name: String, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String
  ) -> Int {
    value(
      name, SettingRule(.number(range)), usual, safe: usual, meaning, { .number(JSONNumber($0)) },
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
    _ name: String, _ unit: TimeUnit, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String
  ) -> Duration {
    .seconds(number(name, range, usual, meaning) * unit.rawValue)
  }

  /// Declares a number that only SQL statements read.
  package mutating func declare(
    _ name: String, _ range: ClosedRange<Int>, _ usual: Int, _ meaning: String
  ) {
    _ = number(name, range, usual, meaning)
  }

  /// Reads one of several words; `safe` is the most restrictive one.
  package mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String, _ usual: Choice, safe: Choice, _ meaning: String
  ) -> Choice {
    value(
      name, SettingRule(.choice(Choice.allCases.map(\.rawValue))), usual, safe: safe, meaning,
      { .string($0.rawValue) }, { $0.string.flatMap(Choice.init) }
    )
  }

  /// Reads a list of words; the empty list is the safest.
  package mutating func choices<Choice: CaseIterable & RawRepresentable<String> & Hashable>(
    _ name: String, _ meaning: String
  ) -> Set<Choice> {
    value(
      name,
      SettingRule(.choices(Choice.allCases.map(\.rawValue))),
      [],
      safe: [],
      meaning,
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
    _ name: String, _ rule: SettingRule, _ usual: String, _ meaning: String
  ) -> String {
    value(name, rule, usual, safe: usual, meaning, JSON.string, \.string)
  }

  /// Reads a list of strings; the empty list is the safest.
  package mutating func texts(_ name: String, _ rule: SettingRule, _ meaning: String) -> [String] {
    value(
      name,
      rule,
      [],
      safe: [],
      meaning,
      { .array(JSONArray($0.map(JSON.string))) },
      { list in
        let texts = list.array?.compactMap(\.string)
        return texts?.count == list.array?.count ? texts : nil
      }
    )
  }

  /// Reads an object; the empty object is the safest.
  package mutating func object(
    _ name: String, _ rule: SettingRule, _ meaning: String
  ) -> JSONObject {
    value(name, rule, JSONObject(), safe: JSONObject(), meaning, JSON.object, \.object)
  }

  /// Reads a value of any type.
  ///
  /// - Parameters:
  ///   - name: the name of the setting.
  ///   - rule: the rule for its JSON.
  ///   - usual: the default.
  ///   - safe: the most restrictive value.
  ///   - meaning: what the setting does.
  ///   - json: returns a value as JSON.
  ///   - read: returns the value of JSON; nil if it is of the wrong type.
  /// - Returns: the value.
  package mutating func value<Value>(
    _ name: String, _ rule: SettingRule, _ usual: Value, safe: Value, _ meaning: String,
    _ json: (Value) -> JSON, _ read: (JSON) -> Value?
  ) -> Value {
    let stored = chosen.map { $0[name] ?? .null }
    let fit = stored.flatMap(read)
    let isMisfit = fit == nil && stored != .null
    if isMisfit { misfits.append(name) }
    let value = fit ?? (isMisfit ? safe : usual)
    if isListing {
      settings.append(AppSetting(name: name, rule: rule, meaning: meaning))
      self.json[name] = (fit == nil ? nil : stored) ?? json(value)
      if fit != nil { chosenNames.append(name) }
    }
    return value
  }
}
