import FoundationEssentials
import Glibc
import JSON

/// A list in a package of Debian.
enum ReferenceFile: String, CaseIterable {
  case zones = "share/zoneinfo/tzdata.zi"
  case zonesOfCountries = "share/zoneinfo/zone.tab"
  case languages = "share/iso-codes/json/iso_639-2.json"
  case moreLanguages = "share/iso-codes/json/iso_639-3.json"
  case languageGroups = "share/iso-codes/json/iso_639-5.json"
  case scripts = "share/iso-codes/json/iso_15924.json"
  case countries = "share/iso-codes/json/iso_3166-1.json"
  case passwords = "lib/python3/dist-packages/zxcvbn/frequency_lists.py"

  static let folder = "/usr"

  private var package: String {
    switch self {
    case .zones, .zonesOfCountries: "tzdata"
    case .passwords: "python3-zxcvbn"
    default: "iso-codes"
    }
  }

  /// The name of the standard, which is a key in the file, and the members that contain codes.
  private var content: (standard: String, members: [String]) {
    switch self {
    case .zones, .zonesOfCountries, .passwords: ("", [])
    case .languages: ("639-2", ["alpha_2", "alpha_3"])
    case .moreLanguages: ("639-3", ["alpha_2", "alpha_3"])
    case .languageGroups: ("639-5", ["alpha_3"])
    case .scripts: ("15924", ["alpha_4"])
    // The numbers are the UN M.49 codes of countries.
    case .countries: ("3166-1", ["alpha_2", "numeric"])
    }
  }

  /// Throws an error if the file cannot be read.
  func check() throws(ReferenceListError) {
    guard access("\(Self.folder)/\(rawValue)", R_OK) == 0 else { throw unreadable(Self.folder) }
  }

  /// Returns the values of the list.
  ///
  /// - Parameter folder: the folder of the packages' files.
  /// - Returns: time zones in their spelling, and codes in lower case.
  /// - Throws: `ReferenceListError` if the file cannot be read, or has no values.
  func values(in folder: String) throws(ReferenceListError) -> Set<String> {
    let text = try text(in: folder)
    let values =
      switch self {
      case .zones: Self.zones(in: text)
      case .zonesOfCountries: Self.zonesOfCountries(in: text)
      default: codes(in: text)
      }
    guard !values.isEmpty else { throw unreadable(folder) }
    return values
  }

  /// Returns the content of the file.
  ///
  /// - Throws: `ReferenceListError` if the file cannot be read.
  func text(in folder: String) throws(ReferenceListError) -> [UInt8] {
    guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(rawValue)")) else {
      throw unreadable(folder)
    }
    return Array(data)
  }

  func unreadable(_ folder: String) -> ReferenceListError {
    ReferenceListError("\(folder)/\(rawValue)", package)
  }

  /// Returns the time zones.
  ///
  /// Lines `Z name …` define zones, and lines `L zone name` define aliases.
  ///
  /// - Source: zic(8).
  private static func zones(in text: [UInt8]) -> Set<String> {
    var names: Set<String> = []
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
      let index =
        switch fields.first {
        case [UInt8(ascii: "Z")]: 1
        case [UInt8(ascii: "L")]: 2
        default: fields.count
        }
      if index < fields.count { names.insert(String(decoding: fields[index], as: UTF8.self)) }
    }
    return names
  }

  /// Returns the time zones in use, without old names and areas that are no places.
  ///
  /// Lines have a country, a place, the zone and perhaps a comment, with tabs between them.
  private static func zonesOfCountries(in text: [UInt8]) -> Set<String> {
    let lines = text.split(separator: UInt8(ascii: "\n")).filter { $0.first != UInt8(ascii: "#") }
    return Set(
      lines.compactMap { line in
        let fields = line.split(separator: UInt8(ascii: "\t"))
        return fields.count > 2 ? String(decoding: fields[2], as: UTF8.self) : nil
      }
    )
  }

  private func codes(in text: [UInt8]) -> Set<String> {
    let (standard, members) = content
    var codes: Set<String> = []
    for entry in (try? JSON.parse(text))?[standard]?.array ?? [] {
      for member in members {
        if let code = entry[member]?.string { codes.insert(code.lowercased()) }
      }
    }
    return codes
  }
}

/// The reason why the lists cannot be loaded.
package struct ReferenceListError: Error, CustomStringConvertible {
  package let description: String

  init(_ path: String, _ package: String) {
    description = "\(path) cannot be read: it is in Debian's package \(package)"
  }
}
