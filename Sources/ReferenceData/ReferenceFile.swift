import FoundationEssentials
import Glibc
import JSON

/// A list as a package of Debian's has it.
enum ReferenceFile: String, CaseIterable {
  case zones = "share/zoneinfo/tzdata.zi"
  case languages = "share/iso-codes/json/iso_639-2.json"
  case moreLanguages = "share/iso-codes/json/iso_639-3.json"
  case languageGroups = "share/iso-codes/json/iso_639-5.json"
  case scripts = "share/iso-codes/json/iso_15924.json"
  case countries = "share/iso-codes/json/iso_3166-1.json"
  case passwords = "lib/python3/dist-packages/zxcvbn/frequency_lists.py"

  static let folder = "/usr"

  private var package: String {
    switch self {
    case .zones: "tzdata"
    case .passwords: "python3-zxcvbn"
    default: "iso-codes"
    }
  }

  /// The standard, as the file has it for a key, and the members of its entries that are codes.
  private var content: (standard: String, members: [String]) {
    switch self {
    case .zones, .passwords: ("", [])
    case .languages: ("639-2", ["alpha_2", "alpha_3"])
    case .moreLanguages: ("639-3", ["alpha_2", "alpha_3"])
    case .languageGroups: ("639-5", ["alpha_3"])
    case .scripts: ("15924", ["alpha_4"])
    // The numbers are those that countries have in UN M.49.
    case .countries: ("3166-1", ["alpha_2", "numeric"])
    }
  }

  /// Looks whether it is there.
  func check() throws(ReferenceListError) {
    guard access("\(Self.folder)/\(rawValue)", R_OK) == 0 else { throw unreadable(Self.folder) }
  }

  /// What it lists.
  ///
  /// - Parameter folder: in which the packages have theirs.
  /// - Returns: zones as they are spelled, codes in lower case.
  /// - Throws: `ReferenceListError` when it cannot be read, or has nothing to list.
  func values(in folder: String) throws(ReferenceListError) -> Set<String> {
    let text = try text(in: folder)
    let values = self == .zones ? Self.zones(in: text) : codes(in: text)
    guard !values.isEmpty else { throw unreadable(folder) }
    return values
  }

  /// All that is in it.
  ///
  /// - Throws: as `values`.
  func text(in folder: String) throws(ReferenceListError) -> [UInt8] {
    guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(rawValue)")) else {
      throw unreadable(folder)
    }
    return Array(data)
  }

  func unreadable(_ folder: String) -> ReferenceListError {
    ReferenceListError("\(folder)/\(rawValue)", package)
  }

  /// Lines `Z name …` are zones, `L zone name` other names of one.
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

/// Why there are no lists.
package struct ReferenceListError: Error, CustomStringConvertible {
  package let description: String

  init(_ path: String, _ package: String) {
    description = "\(path) cannot be read: it is in Debian's package \(package)"
  }
}
