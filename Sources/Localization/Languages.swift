internal import Encoding
internal import FoundationEssentials
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

/// The languages of the pages and emails.
package struct Languages: Sendable {
  /// The first is the default.
  package let catalogs: [Catalog]

  /// No language, in place of those of a folder that cannot be read.
  package static let none = Languages([])

  private init(_ catalogs: [Catalog]) { self.catalogs = catalogs }

  /// Reads a file such as `de.json` for each language, with English first.
  ///
  /// A text that a language lacks is in English.
  ///
  /// - Parameter folder: the path of the folder of the files.
  /// - Throws: `CatalogError` with the file, the key and the rule if the folder has no complete
  ///   English, or a file is malformed.
  package init(in folder: String) throws(CatalogError) {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw CatalogError(folder, "is no folder that can be read")
    }
    let english = try Self.catalog(Self.english, in: folder, fallback: nil)
    if let missing = MessageKey.allCases.first(where: { english.messages[$0] == nil }) {
      throw CatalogError("\(folder)/\(Self.english).json: \(missing.rawValue)", "is missing")
    }
    let languages = names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }
    var catalogs = [english]
    for language in languages.sorted() where language != Self.english {
      catalogs.append(try Self.catalog(language, in: folder, fallback: english))
    }
    self.init(catalogs)
  }

  /// The language whose texts replace missing ones.
  package static let english = "en"

  private static func catalog(
    _ language: String, in folder: String, fallback: Catalog?
  ) throws(CatalogError) -> Catalog {
    let path = "\(folder)/\(language).json"
    guard isTag(language), language == language.lowercased() else {
      throw CatalogError(path, "must be named by a language tag in lower case, as pt-br.json is")
    }
    guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
      throw CatalogError(path, "cannot be read")
    }
    let texts: JSON
    do {
      texts = try JSON.parse(Array(bytes))
    } catch {
      throw CatalogError(path, "is no JSON: \(error)")
    }
    do throws(CatalogError) {
      return try Catalog(language, texts: texts, fallback: fallback)
    } catch {
      throw CatalogError("\(path):", error.description)
    }
  }

  /// Returns whether a text has the form of a language tag, such as `pt-BR`.
  package static func isTag(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return (2...8).contains(parts.first?.count ?? 0) && text.utf8.count <= 35
      && parts.allSatisfy { (1...8).contains($0.count) && $0.allSatisfy(\.isLetterOrDigit) }
  }

  /// Returns these languages with the texts of an app in place of their own.
  ///
  /// A language that has a name is added.
  package func with(_ own: [Catalog]) -> Languages {
    guard !own.isEmpty else { return self }
    let known = catalogs.map { catalog in
      own.first { $0.language.utf8.elementsEqual(catalog.language.utf8) }
        .map { catalog.replacing(with: $0) } ?? catalog
    }
    let english = known.first { $0.language == Self.english }
    let added = own.filter { added in
      added.template(of: .languageName) != nil
        && !known.contains { $0.language.utf8.elementsEqual(added.language.utf8) }
    }
    return Languages(known + added.map { english?.replacing(with: $0) ?? $0 })
  }

  /// Returns these languages with another default; the same if they lack it.
  package func with(default language: String) -> Languages {
    guard let first = catalogs.first(where: { $0.language.utf8.elementsEqual(language.utf8) })
    else { return self }
    return Languages([first] + catalogs.filter { $0.language != first.language })
  }

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
