import Encoding
import JSON
package import Localization
package import Records
import Runtime
import Tenancy

/// An app's own texts of pages and emails, by language.
///
/// For example `{"de": {"signIn": "Einloggen", "resetMailSubject": "…"}}`. They have the keys of the
/// files of the languages.
package struct AppTexts: RecordPart {
  /// The texts of each language, without those of its file.
  package let catalogs: [Catalog]

  package init(_ read: inout RecordReader) {
    let texts = read.object(
      "texts", ColumnRule(.object) { value in Self.fault(in: value).map { ("texts", $0) } },
      "texts of pages and emails in place of those of this deployment, by language and key: "
        + "{\"de\": {\"signIn\": …, \"resetMailSubject\": …}}; a language with languageName is added to "
        + "the languages of the pages"
    )
    catalogs = texts.compactMap { language, texts in
      try? Catalog(language.lowercased(), texts: texts)
    }
  }

  /// Returns the text of a key in a language or in its parent, and that language: for `de-AT` also
  /// in `de`.
  func text(_ key: MessageKey, in language: String) -> (text: String, language: String)? {
    guard !catalogs.isEmpty else { return nil }
    return Languages.lookup(language) { tag in
      catalogs.first { $0.language.utf8.elementsEqual(tag.utf8) && $0.template(of: key) != nil }
        .map { ($0.source(of: key), tag) }
    }
  }

  /// Returns the fault of a value; nil if it is valid.
  private static func fault(in value: JSON) -> String? {
    guard let languages = value.object, languages.count <= most else {
      return "This setting must be an object of at most \(most) languages, such as "
        + "{\"de\": {\"resetMailSubject\": \"…\"}}."
    }
    guard value.serialized().count <= largest else {
      return "This setting must have at most \(largest) bytes."
    }
    for (language, texts) in languages {
      guard Languages.isTag(language) else {
        return "\(language) must be a language tag such as de or pt-BR."
      }
      do throws(CatalogError) {
        _ = try Catalog(language.lowercased(), texts: texts)
      } catch {
        return "\(language): \(error)."
      }
    }
    return nil
  }

  private static let most = 100
  /// The most bytes of all texts: those of about ten languages.
  private static let largest = 262_144
}

extension App {
  package var texts: AppTexts { settings[AppTexts.self] }
}
