package import Encoding
package import JSON

/// The texts of one language, of pages and of emails.
package struct Catalog: Sendable {
  /// The language tag, such as `de`.
  package let language: String
  package let direction: Direction
  let messages: [MessageKey: Translation]
  /// The name of the language, in that language.
  package var name: String { text(of: .languageName) }

  package enum Direction: String, Sendable {
    case leftToRight = "ltr"
    case rightToLeft = "rtl"

    /// The direction of the usual script of a language.
    ///
    /// - Source: Unicode CLDR, `characterOrder`.
    package init(ofLanguage tag: String) {
      let language = tag.lowercased().prefix { $0 != "-" }
      self = Self.fromTheRight.contains(String(language)) ? .rightToLeft : .leftToRight
    }

    private static let fromTheRight: Set<String> = [
      "ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi",
    ]
  }

  /// Reads the texts of a language.
  ///
  /// - Parameters:
  ///   - language: the language tag in lower case.
  ///   - direction: the direction of the script; nil for the usual one of the language.
  ///   - texts: the texts by key. A text with a plural is an object with a text for each category.
  ///     Placeholders are names in double braces.
  ///   - fallback: the catalog with the texts that this language lacks.
  /// - Throws: `CatalogError` if a key, a placeholder of it or a plural category of the language does
  ///   not exist, or a text is malformed.
  package init(
    _ language: String, direction: Direction? = nil, texts: JSON, fallback: Catalog? = nil
  ) throws(CatalogError) {
    self.language = language
    self.direction = direction ?? Direction(ofLanguage: language)
    guard let texts = texts.object else { throw CatalogError("must be an object of texts") }
    let rule = PluralRule(ofLanguage: language)
    var messages = fallback?.messages ?? [:]
    for (name, value) in texts {
      guard let key = MessageKey(rawValue: name) else {
        throw CatalogError(name, "is no key of a text")
      }
      do throws(CatalogError) {
        messages[key] = try Translation(value, of: key, rule)
      } catch {
        throw CatalogError(name, error.description)
      }
    }
    self.messages = messages
  }

  private init(_ language: String, _ direction: Direction, _ messages: [MessageKey: Translation]) {
    (self.language, self.direction, self.messages) = (language, direction, messages)
  }

  /// Returns another catalog, with the texts of this one that it lacks.
  func replacing(with other: Catalog) -> Catalog {
    Catalog(other.language, other.direction, messages.merging(other.messages) { $1 })
  }

  /// Returns the form of a message for a number, or the only one; nil if the catalog lacks it.
  package func template(of key: MessageKey, for count: Int? = nil) -> Template? {
    messages[key]?.form(for: count)
  }

  /// Returns the source of a message: its text with the placeholders.
  package func source(of key: MessageKey) -> String {
    template(of: key)?.filled { "{{\($0)}}" } ?? key.rawValue
  }

  /// Returns the parts of a message.
  package func parts(of key: MessageKey, _ arguments: [String: Text.Argument]) -> [TextPart] {
    let count = arguments.values.lazy.compactMap { argument in
      if case .count(let count) = argument { count } else { nil }
    }.first
    guard let template = template(of: key, for: count) else { return [.words(key.rawValue)] }
    return template.pieces.flatMap { piece -> [TextPart] in
      switch piece {
      case .words(let words): [.words(words)]
      case .placeholder(let name): arguments[name].map(parts(of:)) ?? [.words("{{\(name)}}")]
      }
    }
  }

  /// Returns the text of a message, without marks around its names.
  package func text(of key: MessageKey, _ arguments: [String: Text.Argument] = [:]) -> String {
    parts(of: key, arguments).map(\.text).joined()
  }

  private func parts(of argument: Text.Argument) -> [TextPart] {
    switch argument {
    case .name(let name), .text(.name(let name)): [.name(name.withoutControls)]
    case .count(let count): [.words(String(count))]
    case .day(let day): [.words(text(of: day))]
    case .time(let time): [.words(text(of: time))]
    case .wait(let duration): [.words(text(of: duration))]
    case .text(.message(let key, let arguments)): parts(of: key, arguments)
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

  /// Returns a day and a time of day, as in sentences of the language.
  package func text(of time: CalendarTime) -> String {
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

/// The forms of a message: one, or one for each plural category.
struct Translation: Sendable {
  private(set) var forms: [PluralCategory: Template] = [:]
  /// The rule of the language of the text, which may be the fallback of another one.
  private let rule: PluralRule

  /// Reads a text, or an object with a text for each category.
  init(_ value: JSON, of key: MessageKey, _ rule: PluralRule) throws(CatalogError) {
    self.rule = rule
    if let text = value.string {
      forms[.other] = try Self.template(text, of: key)
      return
    }
    guard let texts = value.object, texts["other"] != nil else {
      throw CatalogError("must be a text, or an object of plural forms with other")
    }
    for (name, form) in texts {
      guard let category = PluralCategory(rawValue: name), rule.categories.contains(category),
        let text = form.string
      else {
        let categories = rule.categories.map(\.rawValue).joined(separator: ", ")
        throw CatalogError(
          name, "must be a plural category of this language (\(categories)) with a text"
        )
      }
      forms[category] = try Self.template(text, of: key)
    }
  }

  private static func template(
    _ text: String, of key: MessageKey
  ) throws(CatalogError) -> Template {
    guard !text.isEmpty else { throw CatalogError("must not be empty") }
    let longest = key.isOneLine ? 200 : 20_000
    guard text.unicodeScalars.count <= longest else {
      throw CatalogError("must have at most \(longest) characters")
    }
    let template: Template
    do throws(Template.Unclosed) {
      template = try Template(text)
    } catch {
      throw CatalogError("has a placeholder without end")
    }
    if let name = template.names.first(where: { !key.placeholders.contains($0) }) {
      let names = key.placeholders.sorted().map { "{{\($0)}}" }.joined(separator: " ")
      throw CatalogError("has the unknown placeholder {{\(name)}}; it may have \(names)")
    }
    if key.isOneLine, text.hasControlCharacters {
      throw CatalogError("must be one line without control characters")
    }
    return template
  }

  func form(for count: Int?) -> Template? {
    count.flatMap { forms[rule.category(of: $0)] } ?? forms[.other]
  }
}

/// The mistake in the texts of a language, with its place.
package struct CatalogError: Error, CustomStringConvertible {
  package let description: String

  package init(_ rule: String) { description = rule }
  package init(_ place: String, _ rule: String) { description = "\(place) \(rule)" }
}
