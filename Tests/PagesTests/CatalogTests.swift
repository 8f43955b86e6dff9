import Glibc
import FoundationEssentials
import TestSupport
import Encoding
import JSON
import Testing

@testable import Localization
@testable import Pages

@Suite struct CatalogTests {
  /// Returns a file of `deploy/languages` without the texts of another one.
  private static func file(_ language: String) throws -> Catalog {
    let path = "\(Languages.folder)/\(language).json"
    return try Catalog(
      language, texts: JSON.parse(Array(Data(contentsOf: URL(filePath: path))))
    )
  }

  @Test(arguments: Languages.shipped.catalogs.map(\.language))
  func `each language has every key, with the same placeholders and its plural forms`(
    language: String
  ) throws {
    let catalog = try Self.file(language)
    // No text counts millions.
    let needed = Set((0...200).map(PluralRule(ofLanguage: language).category)).union([.other])
    for key in MessageKey.allCases {
      let english = try #require(Catalog.english.messages[key]?.forms, "\(key)")
      let forms = try #require(catalog.messages[key], "\(language): \(key)").forms
      let isCounted = english.count > 1
      #expect(Set(forms.keys) == (isCounted ? needed : [.other]), "\(language): \(key)")
      #expect((english[.other]?.names.contains("count") == true) == isCounted)
      let expected = english[.other].map { Set($0.names) } ?? []
      for (category, form) in forms {
        // A form for zero, one or two may say the number as a word.
        let isNamed = [.zero, .one, .two].contains(category) && language == "ar"
        let names = Set(form.names).union(isCounted && isNamed ? ["count"] : [])
        #expect(names == expected, "\(language): \(key) \(category)")
        let words = form.pieces.compactMap { piece in
          if case .words(let words) = piece { words } else { nil }
        }
        #expect(words.allSatisfy { !$0.contains("{") && !$0.contains("}") })
      }
    }
  }

  @Test(arguments: [
    ("de", "other one other other other other other"),
    ("ja", "other other other other other other other"),
    ("pt-br", "one one other other other other many"),
    ("es", "other one other other other other many"),
    ("ar", "zero one two few many other other"), ("ru", "many one few many one many many"),
    ("pl", "many one few many many many many"), ("he", "other one two other other other other"),
    ("cs", "other one few other other other other"),
    ("xx", "other one other other other other other"),
  ])
  func `the plural categories are those of CLDR`(language: String, categories: String) {
    let rule = PluralRule(ofLanguage: language)
    let found = [0, 1, 2, 5, 21, 100, 1_000_000].map { rule.category(of: $0).rawValue }
    #expect(found.joined(separator: " ") == categories)
    #expect(rule.category(of: .min) == rule.category(of: Int.min + 1) || rule.categories.count > 1)
  }

  @Test func `a folder with a mistake is an error with file, key and rule`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "languages-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func thrown() -> String {
      do throws(CatalogError) {
        return try Languages(in: folder.path).catalogs.map(\.language).joined(separator: " ")
      } catch {
        return error.description
      }
    }
    func write(_ text: String, _ name: String) throws {
      try Data(text.utf8).write(to: folder.appending(path: name))
    }
    let path = folder.path
    #expect(thrown() == "\(path)/en.json cannot be read")
    try write(#"{"languageName": "English"}"#, "en.json")
    #expect(thrown() == "\(path)/en.json: languages is missing")
    let english = try Data(contentsOf: URL(filePath: "\(Languages.folder)/en.json"))
    try english.write(to: folder.appending(path: "en.json"))
    try write(#"{"languageName": "Italiano"}"#, "it.json")
    try write("a note", "README")
    #expect(thrown() == "en it")
    try write(#"{"sinIn": "Accedi"}"#, "it.json")
    #expect(thrown() == "\(path)/it.json: sinIn is no key of a text")
    try write("{", "it.json")
    #expect(thrown().hasPrefix("\(path)/it.json is no JSON"))
    try write("{}", "it.json")
    try write("{}", "pt_BR.json")
    #expect(thrown().hasPrefix("\(path)/pt_BR.json must be named by a language tag in lower case"))
    try FileManager.default.removeItem(at: folder)
    #expect(thrown() == "\(path) is no folder that can be read")
  }

  @Test func `the scope of an API is no standard scope`() {
    #expect(ScopeGroup.standard(["openid"]) != nil)
    #expect(ScopeGroup.standard(["address", "read:posts"]) == nil)
  }

  @Test(arguments: FormError.Kind.allCases)
  func `each error of a form has a text, and is read back`(_ kind: FormError.Kind) throws {
    #expect(kind.key != .internalErrorText)
    let error = FormError(kind, 3)
    #expect(FormError(error.text) == error)
    guard case .message(let key, let values) = error.pageError().text else {
      Issue.record("no text of the catalog")
      return
    }
    let places = try #require(Catalog.english.messages[key]?.forms[.other]).names
    #expect(Set(places).subtracting(["app"]) == Set(values.keys))
  }

  @Test(arguments: [
    ("[]", "must be an object of texts"), (#"{"signin": "x"}"#, "signin is no key of a text"),
    (
      #"{"signIn": 1}"#,
      "signIn must be a text, or an object of plural forms with other"
    ),
    (
      #"{"sessionCount": {"one": "x"}}"#,
      "sessionCount must be a text, or an object of plural forms with other"
    ),
    (
      #"{"sessionCount": {"other": "x", "some": "x"}}"#,
      "sessionCount some must be a plural category of this language (one, many, other) with a text"
    ),
    (
      #"{"sessionCount": {"other": "x", "few": "x"}}"#,
      "sessionCount few must be a plural category of this language (one, many, other) with a text"
    ),
    (
      #"{"resetMailSubject": "\#(String(repeating: "a", count: 201))"}"#,
      "resetMailSubject must have at most 200 characters"
    ),
    (#"{"signIn": ""}"#, "signIn must not be empty"),
    (#"{"signIn": "{{app} "}"#, "signIn has a placeholder without end"),
    (
      #"{"consent": "{{client}} {{target}}"}"#,
      "consent has the unknown placeholder {{target}}; it may have {{app}} {{client}}"
    ),
    (
      #"{"resetMailSubject": "{{link}}"}"#,
      "resetMailSubject has the unknown placeholder {{link}}; it may have {{app}} {{email}}"
    ),
    (
      #"{"resetMailSubject": "a\nb"}"#,
      "resetMailSubject must be one line without control characters"
    ),
  ])
  func `a mistake in the texts is an error with its place`(texts: String, error: String) throws {
    let texts = try JSON.parse(Array(texts.utf8))
    let thrown = #expect(throws: CatalogError.self) { try Catalog("fr", texts: texts) }
    #expect(thrown?.description == error)
  }

  @Test func `a language without a text has the English one`() throws {
    let catalog = try Catalog("fr", texts: ["signIn": "Connexion"], fallback: .english)
    #expect(catalog.text(of: .signIn) == "Connexion")
    #expect(catalog.text(of: .cancel) == "Cancel")
    #expect(catalog.source(of: .codeMailSubject) == "{{title}}")
  }

  @Test func `plural forms follow the rule of the language`() throws {
    let arabic = try Catalog(
      "ar",
      texts: [
        "sessionCount": ["zero": "0 {{count}}", "two": "2 {{count}}", "other": "n {{count}}"]
      ],
      fallback: .english
    )
    // A fallback has the rule of its own language.
    #expect(arabic.text(of: .identityCount, ["count": .count(1)]) == "1 account")
    #expect(arabic.text(of: .identityCount, ["count": .count(2)]) == "2 accounts")
    #expect(arabic.direction == .rightToLeft)
    let texts = [0, 2, 7].map { arabic.text(of: .sessionCount, ["count": .count($0)]) }
    #expect(texts == ["0 0", "2 2", "n 7"])
    let german = [1, 2].map { Catalog.german.text(of: .sessionCount, ["count": .count($0)]) }
    #expect(german == ["1 Sitzung", "2 Sitzungen"])
  }

  @Test(arguments: [
    (0, "1 second", "1 Sekunde"), (59, "59 seconds", "59 Sekunden"), (60, "1 minute", "1 Minute"),
    (61, "2 minutes", "2 Minuten"), (3_600, "1 hour", "1 Stunde"), (3_601, "2 hours", "2 Stunden"),
    (86_400, "1 day", "1 Tag"), (86_401, "2 days", "2 Tagen"),
  ])
  func `a waiting time is rounded up`(seconds: Int, english: String, german: String) {
    let arguments: [String: Text.Argument] = ["time": .wait(.seconds(seconds))]
    #expect(
      Catalog.english.text(of: .throttledText, arguments)
        == "Too many attempts. Try again in \(english)."
    )
    #expect(
      Catalog.german.text(of: .throttledText, arguments)
        == "Zu viele Versuche. In \(german) erneut versuchen."
    )
  }

  @Test func `extreme times do not trap`() {
    for wait in [Duration.seconds(Int64.max), .seconds(Int64.min), .milliseconds(1)] {
      #expect(!Catalog.english.text(of: .throttledText, ["time": .wait(wait)]).contains("{"))
    }
  }

  @Test func `days and times are in the form of the language`() throws {
    let day = try #require(CalendarDay(2026, 3, 5))
    #expect(
      Catalog.english.text(of: .grantedOn, ["day": .day(day)])
        == "Has had access since 5 March 2026")
    #expect(Catalog.german.text(of: .grantedOn, ["day": .day(day)]) == "Zugriff seit 5. März 2026")
    let time = try #require(CalendarTime("2026-03-05T04:09:59-03:30"))
    #expect(
      Catalog.english.text(of: .lastUse, ["time": .time(time)])
        == "Last used on 5 March 2026, 04:09 UTC\u{2212}3:30"
    )
  }

  @Test func `the file of recovery codes has the app, the time and the codes`() throws {
    let time = try #require(CalendarTime("2026-03-05T04:09:59Z"))
    let renderer = Fixtures.renderer(Branding(name: "North\u{202e}wind"))
    #expect(
      renderer.recoveryCodeFile(["ab0cd-efgh0", "ab1cd-efgh1"], savedAt: time, in: .german) == """
        Wiederherstellungscodes - Northwind
        Gespeichert am 5. März 2026, 04:09 UTC

        Mit jedem Code ist einmal eine Anmeldung ohne die Authenticator-App möglich.

        ab0cd-efgh0
        ab1cd-efgh1

        """)
  }

  @Test func `names are set apart from the words around them`() throws {
    let parts = Catalog.english.parts(of: .resetSent, ["email": .name("ada")])
    #expect(
      parts == [
        .words("If an account exists for "), .name("ada"),
        .words(", we've sent a link. Open it to choose a new password."),
      ]
    )
    let page = Fixtures().pages.first { $0.name == "confirm-address" }?.page
    let html = Fixtures.html(page ?? .unknownApplication())
    #expect(html.contains("Use <bdi>ada@<wbr>example<wbr>.com</bdi> for your"))
  }
}

@Suite struct LanguageTests {
  private func best(_ preference: LanguagePreference) -> String {
    Languages.shipped.best(for: preference).language
  }

  @Test(arguments: [
    ("de", "de"), ("de-AT,en;q=0.9", "de"), ("nl, de;q=0.5, en;q=0.4", "de"), ("DE_de", "de"),
    ("en;q=0.5,de;q=0.6", "de"), ("de;q=0", "en"), ("*", "en"), ("en;q=0,*", "ar"), ("", "en"),
    ("nl", "en"), ("pt-PT", "pt"), ("de;q=2", "en"), ("de;q=1.000", "de"), ("de;q=1.001", "en"),
    ("de;q=", "en"),
    (" \t de ; q=0.3 ,, ;;", "de"), ("de-", "de"), ("-de", "en"), ("d", "en"), ("de;x=1", "en"),
    ("en;q=0.001,de;q=0.002", "de"), ("d\u{e9}", "en"),
  ])
  func `Accept-Language selects by weight`(field: String, language: String) {
    #expect(best(LanguagePreference(acceptLanguage: field)) == language)
  }

  @Test func `the chosen language precedes client, profile and browser`() {
    var preference = LanguagePreference(acceptLanguage: "en")
    #expect(best(preference) == "en")
    preference.profile = "de-CH"
    #expect(best(preference) == "de")
    preference.uiLocales = "nl en-GB de"
    #expect(best(preference) == "en")
    preference.uiLocales = "nl it"
    #expect(best(preference) == "de")
    preference.choice = "en"
    #expect(best(preference) == "en")
    preference.choice = "x\n"
    #expect(best(preference) == "de")
  }

  @Test func `a hostile field is cut, not followed`() {
    for unit in ["de,", "-", ",", ";q=0.", "de-", "a-", "de;q=0,", "\u{0}", "é"] {
      let field = String(repeating: unit, count: 1_000_000)
      let language = best(
        LanguagePreference(choice: field, uiLocales: field, profile: field, acceptLanguage: field)
      )
      #expect(["de", "en"].contains(language))
    }
  }
}
