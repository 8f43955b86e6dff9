internal import Encoding

/// The texts of one language.
package struct Catalog: Sendable {
  /// The language tag, such as `de`.
  package let language: String
  package let direction: Direction
  let messages: [MessageKey: Translation]
  /// The name of the language, in that language.
  package var name: String { text(of: .languageName) }
  private let category: @Sendable (Int) -> PluralCategory

  package enum Direction: String, Sendable {
    case leftToRight = "ltr"
    case rightToLeft = "rtl"

    /// The direction of the usual script of a language.
    ///
    /// - Source: Unicode CLDR, `characterOrder`.
    init(ofLanguage tag: String) {
      let language = tag.lowercased().prefix { $0 != "-" }
      self = Self.fromTheRight.contains(String(language)) ? .rightToLeft : .leftToRight
    }

    private static let fromTheRight: Set<String> = [
      "ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi",
    ]
  }

  /// A category of the plural rules of a language.
  ///
  /// - Source: Unicode Technical Standard 35 part 3, "Language Plural Rules".
  package enum PluralCategory: String, Sendable, CaseIterable {
    case zero, one, two, few, many, other
  }

  /// Reads the texts of a language.
  ///
  /// - Parameters:
  ///   - language: the language tag in lower case.
  ///   - direction: the direction of the script.
  ///   - tables: lines of the form `key = text`. A key with a plural has a line for each category:
  ///     `key[one] = text`. Placeholders are names in braces.
  ///   - category: the plural rule for whole numbers.
  package init(
    _ language: String, direction: Direction = .leftToRight, tables: [String],
    category: @escaping @Sendable (Int) -> PluralCategory
  ) {
    self.language = language
    self.direction = direction
    self.category = category
    var messages: [MessageKey: Translation] = [:]
    for line in tables.flatMap({ $0.utf8.split(separator: UInt8(ascii: "\n")) }) {
      guard let entry = CatalogEntry(Substring(line)) else { continue }
      messages[entry.key, default: Translation()].forms[entry.category] = entry.pattern
    }
    self.messages = messages
  }

  /// Returns the parts of a message.
  ///
  /// A message that this language lacks is in English. A test proves that none is missing.
  func parts(of key: MessageKey, _ arguments: [String: Text.Argument]) -> [TextPart] {
    guard let translation = messages[key] else {
      return language == Catalog.english.language
        ? [.words(key.rawValue)] : Catalog.english.parts(of: key, arguments)
    }
    let count = arguments.values.lazy.compactMap { argument in
      if case .count(let count) = argument { count } else { nil }
    }.first
    return translation.pattern(for: count.map(category)).pieces.map { piece in
      switch piece {
      case .words(let words): .words(words)
      case .placeholder(let name): arguments[name].map(part) ?? .words("{\(name)}")
      }
    }
  }

  /// Returns the text of a message, without marks around its names.
  func text(of key: MessageKey, _ arguments: [String: Text.Argument] = [:]) -> String {
    parts(of: key, arguments).map(\.text).joined()
  }

  private func part(_ argument: Text.Argument) -> TextPart {
    switch argument {
    case .name(let name): .name(name.withoutControls)
    case .count(let count): .words(String(count))
    case .day(let day): .words(text(of: day))
    case .time(let time): .words(text(of: time))
    case .wait(let duration): .words(text(of: duration))
    }
  }

  // MARK: Times

  private static let months: [MessageKey] = [
    .january, .february, .march, .april, .may, .june, .july, .august, .september, .october,
    .november, .december,
  ]

  private func text(of day: CalendarDay) -> String {
    let month = text(of: Self.months[day.month - 1])
    let arguments: [String: Text.Argument] = [
      "day": .name(String(day.day)), "month": .name(month), "year": .name(String(day.year)),
    ]
    return text(of: .dayFormat, arguments)
  }

  private func text(of time: CalendarTime) -> String {
    let clock = [time.second / 3_600, time.second / 60 % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    let arguments: [String: Text.Argument] = [
      "day": .name(text(of: time.day)), "time": .name(clock.joined(separator: ":")),
      "zone": .name(Self.name(ofZone: time.zone ?? 0)),
    ]
    return text(of: .timeFormat, arguments)
  }

  private static func name(ofZone minutes: Int) -> String {
    guard minutes != 0 else { return "UTC" }
    let sign = minutes < 0 ? "\u{2212}" : "+"
    let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
    return rest == 0 ? "UTC\(sign)\(hours)" : "UTC\(sign)\(hours):\(rest < 10 ? "0" : "")\(rest)"
  }

  /// Returns the time in its largest unit, rounded up.
  private func text(of duration: Duration) -> String {
    let (whole, fraction) = duration.components
    let seconds = max(1, Int(clamping: whole) &+ (fraction > 0 ? 1 : 0))
    let (key, unit): (MessageKey, Int) =
      switch seconds {
      case ..<60: (.waitSeconds, 1)
      case ...3_540: (.waitMinutes, 60)
      case ...82_800: (.waitHours, 3_600)
      default: (.waitDays, 86_400)
      }
    let count = seconds / unit + (seconds % unit > 0 ? 1 : 0)
    return text(of: key, ["count": .count(count)])
  }
}
