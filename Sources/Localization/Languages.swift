internal import Encoding
internal import HTTP
internal import JSON

/// The sources of the language that a user prefers.
package struct LanguagePreference: Sendable {
  /// The language that the user chose on a page.
  package var choice: String?
  /// The `ui_locales` of the client's request: tags with spaces between them.
  package var uiLocales: String?
  /// The locale of the user's profile.
  package var profile: String?
  /// The `Accept-Language` field.
  package var acceptLanguage: String?

  package init(
    choice: String? = nil, uiLocales: String? = nil, profile: String? = nil,
    acceptLanguage: String? = nil
  ) {
    self.choice = choice
    self.uiLocales = uiLocales
    self.profile = profile
    self.acceptLanguage = acceptLanguage
  }
}

extension Catalog {
  package static let english = embedded("en", PackageResources.en_json)
  package static let german = embedded("de", PackageResources.de_json)

  private static func embedded(_ language: String, _ texts: [UInt8]) -> Catalog {
    do {
      return try Catalog(language, texts: JSON.parse(texts))
    } catch {
      preconditionFailure("Languages/\(language).json: \(error)")
    }
  }
}

/// The languages of the pages and emails.
package struct Languages: Sendable {
  /// At least one; the first is the default.
  package let catalogs: [Catalog]

  /// All languages, with English first.
  ///
  /// Discovery, the settings and the links below the pages follow from the list.
  package static let all = Languages(default: .english, others: [.german])

  package init(default first: Catalog, others: [Catalog]) { catalogs = [first] + others }

  /// Returns the language of a page.
  ///
  /// The choice comes first, then `ui_locales`, the profile, `Accept-Language` and the default.
  /// - Complexity: O(*n*) in the bytes of the texts, of which it reads the first 1,024 each.
  package func best(for preference: LanguagePreference) -> Catalog {
    let chosen = [preference.choice, preference.profile].map { tag in
      tag.flatMap { best(for: $0) }
    }
    return chosen[0]
      ?? preference.uiLocales.flatMap { locales in
        Substring(locales.utf8.prefix(Self.limit)).split(separator: " ").lazy
          .compactMap { best(for: $0) }.first
      }
      ?? chosen[1] ?? preference.acceptLanguage.flatMap(best(accepting:)) ?? catalogs[0]
  }

  /// The bytes of a preference that are read.
  private static let limit = 1_024

  /// Returns the language of the range with the highest weight.
  private func best(accepting field: String) -> Catalog? {
    let ranges = AcceptedLanguages(field).ranges
    let found = ranges.lazy.filter { $0.weight > 0 }.compactMap { best(for: $0.tag) }.first
    guard found == nil, ranges.contains(where: { $0.isAny && $0.weight > 0 }) else { return found }
    let refused = ranges.filter { $0.weight == 0 }.compactMap { best(for: $0.tag)?.language }
    return catalogs.first { !refused.contains($0.language) }
  }

  /// Returns the language of the longest prefix of a tag, such as `de` for `de-AT`; nil if no
  /// language fits.
  package func best(for tag: some StringProtocol) -> Catalog? {
    Self.lookup(tag) { tag in catalogs.first { $0.language.utf8.elementsEqual(tag.utf8) } }
  }

  /// Returns what is found for a tag in lower case, or else for its longest prefix.
  ///
  /// - Source: RFC 4647 section 3.4.
  package static func lookup<Found>(
    _ tag: some StringProtocol, _ find: (String) -> Found?
  ) -> Found? {
    // No tag in use is longer, except those for private use.
    guard tag.utf8.prefix(101).count <= 100 else { return nil }
    // Some programs write an underscore.
    var tag = tag.lowercased().replacing("_", with: "-")
    while !tag.isEmpty {
      if let found = find(tag) { return found }
      tag.removeSubrange((tag.utf8.lastIndex(of: UInt8(ascii: "-")) ?? tag.startIndex)...)
    }
    return nil
  }
}
