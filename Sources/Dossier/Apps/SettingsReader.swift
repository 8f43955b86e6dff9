import JSON

/// Reads the settings of an app one by one, and notes what each of them is.
///
/// A stored value of another type counts as not chosen, in all that is told of it too. One beyond the
/// bounds is taken: an earlier version of the program may have had wider ones.
struct SettingsReader {
  let chosen: JSONObject
  /// Whether somebody asks for more than the values.
  private let isListing: Bool
  private(set) var settings: [AppSetting] = []
  private(set) var json = JSONObject()
  private(set) var chosenNames: [String] = []

  init(_ chosen: JSONObject, isListing: Bool = false) {
    self.chosen = chosen
    self.isListing = isListing
  }

  mutating func flag(_ name: String, _ usual: Bool, _ meaning: String) -> Bool {
    take(name, .flag, .bool(usual), meaning, \.bool) ?? usual
  }

  mutating func number(
    _ name: String,
    _ range: ClosedRange<Int>,
    _ usual: Int,
    _ meaning: String
  ) -> Int {
    take(name, .number(range), .number(JSONNumber(usual)), meaning) { $0.number?.int } ?? usual
  }

  /// What the settings of time count.
  enum TimeUnit: Int {
    case seconds = 1
    case minutes = 60
    case days = 86_400
  }

  mutating func duration(
    _ name: String,
    _ unit: TimeUnit,
    _ range: ClosedRange<Int>,
    _ usual: Int,
    _ meaning: String
  ) -> Duration {
    .seconds(number(name, range, usual, meaning) * unit.rawValue)
  }

  /// A number that statements look up where the apps are stored, and nobody else.
  mutating func ofDatabase(
    _ name: String,
    _ range: ClosedRange<Int>,
    _ usual: Int,
    _ meaning: String
  ) {
    _ = number(name, range, usual, meaning)
  }

  /// One of several words, of which the first is usual.
  mutating func choice(_ name: String, _ choices: [String], _ meaning: String) -> String {
    text(name, .choice(choices), choices[0], meaning)
  }

  mutating func text(
    _ name: String,
    _ rule: SettingRule,
    _ usual: String,
    _ meaning: String
  ) -> String {
    take(name, rule, .string(usual), meaning, \.string) ?? usual
  }

  mutating func origins(_ name: String, _ meaning: String) -> [String] {
    take(name, .origins, [], meaning) { $0.array?.compactMap(\.string) } ?? []
  }

  /// The two settings of a mail.
  mutating func mail(_ kind: MailKind) -> AppMail {
    let places = kind.places.sorted().map { "{{\($0)}}" }.joined(separator: " ")
    return AppMail(
      subject: text(
        "\(kind.rawValue)_subject",
        .subject(of: kind),
        kind.usualSubject,
        "subject of \(kind.meaning)"
      ),
      text: text(
        "\(kind.rawValue)_text",
        .body(of: kind),
        kind.usualText,
        "its text; \(places) are filled in"
      )
    )
  }

  mutating func translations(_ name: String, _ meaning: String) -> MailTranslations {
    MailTranslations(take(name, .translations, [:], meaning) { $0 } ?? [:])
  }

  private mutating func take<Value>(
    _ name: String,
    _ rule: SettingRule,
    _ usual: JSON,
    _ meaning: String,
    _ read: (JSON) -> Value?
  ) -> Value? {
    let value = chosen[name].flatMap(read)
    if isListing {
      settings.append(AppSetting(name: name, rule: rule, meaning: meaning))
      json[name] = value == nil ? usual : chosen[name]
      if value != nil { chosenNames.append(name) }
    }
    return value
  }
}
