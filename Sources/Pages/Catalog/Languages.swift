internal import Encoding
internal import HTTP
internal import ReferenceData

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
  fileprivate static func of(_ language: Language) -> Catalog {
    switch language {
    case .english: .english
    case .german: .german
    }
  }
}

/// The languages of the pages.
package struct Languages: Sendable {
  /// At least one; the first is the default.
  package let catalogs: [Catalog]

  package static let all = Languages(
    default: .english, others: Language.allCases.filter { $0 != .english }.map(Catalog.of)
  )

  package init(default first: Catalog, others: [Catalog]) { catalogs = [first] + others }

  /// Returns the language of a page.
  ///
  /// The choice comes first, then `ui_locales`, the profile, `Accept-Language` and the default.
  /// - Complexity: O(*n*) in the bytes of the texts, of which it reads the first 1,024 each.
  package func best(for preference: LanguagePreference) -> Catalog {
    let chosen = [preference.choice, preference.profile].map { tag in
      tag.flatMap { best(for: Substring($0).utf8.prefix(Self.limit)) }
    }
    return chosen[0]
      ?? preference.uiLocales.flatMap { locales in
        locales.utf8.prefix(Self.limit).split(separator: UInt8(ascii: " ")).lazy
          .compactMap { best(for: $0) }.first
      }
      ?? chosen[1] ?? preference.acceptLanguage.flatMap(best(accepting:)) ?? catalogs[0]
  }

  /// The bytes of a preference that are read.
  private static let limit = 1_024

  /// Returns the language of the range with the highest weight.
  private func best(accepting field: String) -> Catalog? {
    let ranges = AcceptedLanguages(field).ranges
    let found = ranges.lazy.filter { $0.weight > 0 }.compactMap { best(for: $0.tag.utf8) }.first
    guard found == nil, ranges.contains(where: { $0.isAny && $0.weight > 0 }) else { return found }
    let refused = ranges.filter { $0.weight == 0 }.compactMap { best(for: $0.tag.utf8)?.language }
    return catalogs.first { !refused.contains($0.language) }
  }

  /// Returns the language of the longest prefix of a tag, such as `de` for `de-AT`.
  ///
  /// - Source: RFC 4647 section 3.4.
  private func best(for range: Substring.UTF8View) -> Catalog? {
    // No tag of RFC 5646 is longer, except those for private use.
    guard range.prefix(36).count < 36 else { return nil }
    var tag = range.map { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: "_"): UInt8(ascii: "-")
      default: byte
      }
    }
    while !tag.isEmpty {
      if let catalog = catalogs.first(where: { $0.language.utf8.elementsEqual(tag) }) {
        return catalog
      }
      tag.removeSubrange((tag.lastIndex(of: UInt8(ascii: "-")) ?? 0)...)
    }
    return nil
  }
}
