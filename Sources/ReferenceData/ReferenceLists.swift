import JSON

/// The valid time zones, languages, scripts and regions, and the common passwords, from Debian's
/// packages.
package struct ReferenceLists: Sendable {
  private let zones: Set<ByteString>
  /// The zones of all countries, and UTC, for users to choose from.
  package let zonesInUse: [String]
  /// The codes of ISO 639 with two and three letters.
  ///
  /// Like scripts and regions, they are in lower case.
  private let languages: Set<String>
  /// The codes of ISO 15924.
  private let scripts: Set<String>
  /// The codes of ISO 3166-1, and the numbers of UN M.49.
  private let regions: Set<String>
  package let passwords: CommonPasswords

  /// The lists of this process, read once.
  ///
  /// A program that validates values begins with `load`.
  package static let ofProcess = Result { () throws(ReferenceListError) in try ReferenceLists() }

  /// Reads the lists, unless they were read already.
  ///
  /// This takes 25 ms, so it must not run on a loop with waiting requests.
  ///
  /// - Throws: `ReferenceListError` if a file is missing or has unexpected content.
  package static func load() throws(ReferenceListError) { _ = try ofProcess.get() }

  /// Checks that the files exist, for a process that starts others which `load` them.
  package static func check() throws(ReferenceListError) {
    for file in ReferenceFile.allCases { try file.check() }
  }

  /// Reads the lists.
  ///
  /// - Parameter folder: the folder of the packages' files.
  /// - Throws: `ReferenceListError` if a file is missing or has unexpected content.
  package init(in folder: String = "/usr") throws(ReferenceListError) {
    zones = Set(try ReferenceFile.zones.values(in: folder).map(ByteString.init))
    zonesInUse = try ReferenceFile.zonesOfCountries.values(in: folder).sorted() + ["UTC"]
    languages = try ReferenceFile.languages.values(in: folder)
      .union(try ReferenceFile.moreLanguages.values(in: folder))
      .union(try ReferenceFile.languageGroups.values(in: folder))
    scripts = try ReferenceFile.scripts.values(in: folder)
    regions = try ReferenceFile.countries.values(in: folder).union(Self.areas)
    guard let passwords = CommonPasswords(file: try ReferenceFile.passwords.text(in: folder)) else {
      throw ReferenceFile.passwords.unreadable(folder)
    }
    self.passwords = passwords
  }

  /// The areas of UN M.49 with more than one country, which no package lists.
  ///
  /// - Source: the UN's "Standard country or area codes for statistical use", and its use in the
  ///   IANA registry of language subtags.
  private static let areas: Set<String> = [
    "001", "002", "003", "005", "009", "011", "013", "014", "015", "017", "018", "019", "021",
    "029", "030", "034", "035", "039", "053", "054", "057", "061", "142", "143", "145", "150",
    "151", "154", "155", "202", "419",
  ]

  /// Returns the error message for an invalid time zone, or nil for a valid one.
  package func fault(inZone text: String) -> String? {
    zones.contains(ByteString(text))
      ? nil : "A zone must be a name of the tz database, spelled as there, such as Europe/Berlin."
  }

  /// Returns the error message for an invalid locale, or nil for a valid one.
  package func fault(inLocale text: String) -> String? {
    guard let tag = LanguageTag(text) else {
      return text.contains("_")
        ? "A locale must have hyphens, not underscores, between its parts: pt-BR."
        : "A locale must be a language tag (BCP 47), such as en, pt-BR or zh-Hant-TW."
    }
    if let language = tag.languages.first(where: { !isLanguage($0.lowercased()) }) {
      return "ISO 639 has no language \(language)."
    }
    if let script = tag.script, !scripts.contains(script.lowercased()) {
      return "ISO 15924 has no script \(script)."
    }
    if let region = tag.region, !isRegion(region.lowercased()) {
      return "ISO 3166-1 and UN M.49 have no region \(region)."
    }
    return nil
  }

  /// Returns whether a code is a region.
  ///
  /// ISO 3166-1 reserves codes for some areas that are not countries, such as the EU. It also has
  /// ranges for private use; in one of them, `XK` commonly means Kosovo.
  ///
  /// - Source: the IANA registry of language subtags.
  private func isRegion(_ code: String) -> Bool {
    regions.contains(code) || Self.reserved.contains(code)
      || code.utf8.count == 2 && (("qm"..."qz").contains(code) || ("xa"..."xz").contains(code))
  }

  private static let reserved: Set<String> = [
    "aa", "ac", "cp", "dg", "ea", "eu", "ez", "ic", "ta", "un", "zz",
  ]

  /// Returns whether a code is a language.
  ///
  /// ISO 639-2 has a range for local use.
  private func isLanguage(_ code: String) -> Bool {
    languages.contains(code) || code.utf8.count == 3 && ("qaa"..."qtz").contains(code)
  }
}
