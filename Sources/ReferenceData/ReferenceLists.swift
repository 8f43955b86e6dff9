import JSON

/// The time zones, languages, scripts and regions that there are, and the passwords that everybody
/// uses, as Debian's packages list them.
package struct ReferenceLists: Sendable {
  private let zones: Set<ExactString>
  /// Of ISO 639, with two and three letters; in lower case, as scripts and regions are.
  private let languages: Set<String>
  /// Of ISO 15924.
  private let scripts: Set<String>
  /// Of ISO 3166-1, and the numbers of UN M.49.
  private let regions: Set<String>
  package let passwords: CommonPasswords

  /// Those of this process, read once; whoever lets values come in begins with `load`.
  package static let ofProcess = Result { () throws(ReferenceListError) in try ReferenceLists() }

  /// Reads the lists, if that has not been done: 25 ms, so not on a loop that has requests waiting.
  ///
  /// - Throws: `ReferenceListError` for a file that is not there, or is another than it should be.
  package static func load() throws(ReferenceListError) { _ = try ofProcess.get() }

  /// Looks whether the files are there, for who starts those that `load`.
  package static func check() throws(ReferenceListError) {
    for file in ReferenceFile.allCases { try file.check() }
  }

  /// - Parameter folder: where the packages have their files.
  /// - Throws: as `load`.
  package init(in folder: String = "/usr") throws(ReferenceListError) {
    zones = Set(try ReferenceFile.zones.values(in: folder).map(ExactString.init))
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

  /// The areas of UN M.49 that are more than one country: no package lists them.
  ///
  /// - Source: the UN's "Standard country or area codes for statistical use", and its use in the
  ///   IANA registry of language subtags.
  private static let areas: Set<String> = [
    "001", "002", "003", "005", "009", "011", "013", "014", "015", "017", "018", "019", "021",
    "029", "030", "034", "035", "039", "053", "054", "057", "061", "142", "143", "145", "150",
    "151", "154", "155", "202", "419",
  ]

  /// What is wrong with a time zone, for people; nil when nothing is.
  package func fault(inZone text: String) -> String? {
    zones.contains(ExactString(text))
      ? nil : "A zone is a name of the tz database as it is spelled there, such as Europe/Berlin."
  }

  /// What is wrong with a locale, for people; nil when nothing is.
  package func fault(inLocale text: String) -> String? {
    guard let tag = LanguageTag(text) else {
      return text.contains("_")
        ? "A locale has hyphens, not underscores, between its parts: pt-BR."
        : "A locale is a language tag (BCP 47), such as en, pt-BR or zh-Hant-TW."
    }
    if let language = tag.languages.first(where: { !isLanguage($0.lowercased()) }) {
      return "There is no language \(language) in ISO 639."
    }
    if let script = tag.script, !scripts.contains(script.lowercased()) {
      return "There is no script \(script) in ISO 15924."
    }
    if let region = tag.region, !isRegion(region.lowercased()) {
      return "There is no region \(region) in ISO 3166-1 or UN M.49."
    }
    return nil
  }

  /// ISO 3166-1 reserves codes for some that are no countries, such as the EU, and has ranges for
  /// private use, of which `XK` is Kosovo to most.
  ///
  /// - Source: the IANA registry of language subtags.
  private func isRegion(_ code: String) -> Bool {
    regions.contains(code) || Self.reserved.contains(code)
      || code.utf8.count == 2 && (("qm"..."qz").contains(code) || ("xa"..."xz").contains(code))
  }

  private static let reserved: Set<String> = [
    "aa", "ac", "cp", "dg", "ea", "eu", "ez", "ic", "ta", "un", "zz",
  ]

  /// ISO 639-2 has a range for local use.
  private func isLanguage(_ code: String) -> Bool {
    languages.contains(code) || code.utf8.count == 3 && ("qaa"..."qtz").contains(code)
  }
}
