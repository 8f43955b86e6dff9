import Runtime
import JSON
import Encoding
import Localization
import Records

/// The texts of an app's mails in other languages.
///
/// For example `{"de": {"reset_subject": "…", "reset_text": "…"}}`.
struct MailTranslations: Sendable {
  /// The texts by language in lower case, and by setting.
  private let languages: [String: [String: String]]

  private static let most = 100

  init(_ translations: JSONObject) {
    var languages: [String: [String: String]] = [:]
    for (language, words) in translations {
      let texts = (words.object ?? JSONObject()).compactMap { name, text in
        text.string.map { (name, $0) }
      }
      languages[language.lowercased()] = Dictionary(texts) { first, _ in first }
    }
    self.languages = languages
  }

  /// Returns a text in a language or in its parent, and that language: for `de-AT` also in `de`.
  func text(_ name: String, in language: String) -> (text: String, language: String)? {
    guard !languages.isEmpty else { return nil }
    return Languages.lookup(language) { tag in languages[tag]?[name].map { ($0, tag) } }
  }

  /// Returns the fault of a value; nil if it is valid.
  static func fault(in value: JSON) -> String? {
    guard let languages = value.object, languages.count <= most else {
      return "This setting must be an object of at most \(most) languages, such as "
        + "{\"de\": {\"reset_subject\": \"…\"}}."
    }
    for (language, words) in languages {
      guard isTag(language) else {
        return "\(language) must be a language tag such as de or pt-BR."
      }
      guard let words = words.object else {
        return "\(language) must be an object of settings and their texts."
      }
      for (name, text) in words {
        guard let rule = rules[name] else {
          return "\(language): \(name) must be a setting with the text of a mail."
        }
        if let fault = rule.faults(in: text, at: "").first {
          return "\(language), \(name): \(fault.detail)"
        }
      }
    }
    return nil
  }

  private static let rules: [String: ColumnRule] = Dictionary(
    uniqueKeysWithValues: MailKind.allCases.flatMap { kind in
      [
        ("\(kind.name)_subject", ColumnRule.subject(of: kind)),
        ("\(kind.name)_text", ColumnRule.body(of: kind)),
      ]
    }
  )

  private static func isTag(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return (2...8).contains(parts.first?.count ?? 0) && text.utf8.count <= 35
      && parts.allSatisfy { (1...8).contains($0.count) && $0.allSatisfy(\.isLetterOrDigit) }
  }
}
