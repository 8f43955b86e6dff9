import Crypto
import Encoding

/// A file of the migrations' folder, such as `0001_tenancy.sql`.
///
/// Marker lines divide the file: `-- migrate: up`, and then `-- migrate: down` or
/// `-- migrate: irreversible REASON`. `-- migrate: no transaction` may precede them, and so may
/// `-- migrate: formerly CHECKSUM`.
package struct Migration: Equatable, Sendable {
  package let version: Int
  package let name: String
  /// The name of the file, without its folder.
  package let file: String
  package let isTransactional: Bool
  package let up: SQLScript
  /// Empty if nothing needs to be done.
  package let down: SQLScript
  package let irreversible: String?
  /// SHA-256, in hexadecimal, of the text after the up marker and the text after the down marker.
  package let checksum: String
  /// The checksums of earlier texts of the file, which made the same schema with later migrations.
  let formerChecksums: [String]
  /// The file without its up part, as the ledger stores it.
  package let undoing: String

  package func script(_ direction: Direction) -> SQLScript {
    direction == .up ? up : down
  }

  /// Returns the version and name in a file's name.
  ///
  /// - Returns: nil if the name is not that of a migration.
  package static func parse(fileName: String) -> (version: Int, name: String)? {
    guard let match = fileName.wholeMatch(of: #/([0-9]{1,9})_([a-z0-9_-]+)\.sql/#),
      let version = Int(match.1), version > 0
    else { return nil }
    return (version, String(match.2))
  }

  /// Reads a file.
  ///
  /// - Throws: `.badFile` with the line if the file is invalid.
  package init(file: String, text: String) throws(MigrationError) {
    // A file has the same checksum with any line endings.
    try self.init(file: file, unixText: text.unixLines, checksum: nil)
    guard !up.isEmpty else {
      throw .badFile(file: file, line: up.line, reason: "the up part is empty")
    }
  }

  /// Returns the stored form of a migration, which can be undone but not applied.
  ///
  /// - Throws: `.badFile` if the stored text is invalid.
  package static func kept(_ entry: Ledger.Entry) throws(MigrationError) -> Migration {
    try Migration(
      file: fileName(version: entry.version, name: entry.name), unixText: entry.down,
      checksum: entry.checksum
    )
  }

  /// Returns the name of a migration's file.
  package static func fileName(version: Int, name: String) -> String {
    "\(paddedVersion(version))_\(name).sql"
  }

  /// Returns a version with at least four digits.
  package static func paddedVersion(_ version: Int) -> String {
    String(version, digits: 4)
  }

  private init(file: String, unixText: String, checksum: String?) throws(MigrationError) {
    guard let (version, name) = Migration.parse(fileName: file) else {
      throw .badFile(
        file: file, line: nil, reason: "the name of a migration must have the form 0001_name.sql"
      )
    }
    let sections = try Sections(file: file, text: unixText)
    self.version = version
    self.name = name
    self.file = file
    isTransactional = sections.isTransactional
    irreversible = sections.irreversible
    formerChecksums = sections.formerChecksums
    up = try sections.script(\.up)
    down = try sections.script(\.down)
    undoing = sections.undoing
    self.checksum = checksum ?? Migration.checksum(sections.up.text + sections.down.text)
  }

  /// Returns whether the file, or an earlier text of it, was applied.
  func isApplied(by entry: Ledger.Entry) -> Bool {
    checksum == entry.checksum || formerChecksums.contains(entry.checksum)
  }

  /// Returns SHA-256 in hexadecimal.
  package static func checksum(_ text: String) -> String {
    String(hexadecimal: SHA256.hash(data: Array(text.utf8)))
  }
}

package enum Direction: String, Sendable {
  case up
  case down
}

/// The sections of a file between its markers.
private struct Sections {
  struct Section {
    var text = ""
    var line = 1
  }

  let file: String
  var up = Section()
  var down = Section()
  var isTransactional = true
  var irreversible: String?
  var formerChecksums: [String] = []

  private enum Place { case header, up, down, irreversible }

  init(file: String, text: String) throws(MigrationError) {
    self.file = file
    var place = Place.header
    var number = 0
    for line in text.lines {
      number += 1
      if let words = line.markerWords {
        place = try marker(words, at: number, in: place)
      } else {
        switch place {
        case .up: up.text += line + "\n"
        case .down: down.text += line + "\n"
        case .header, .irreversible:
          guard line.isBlankOrComment else {
            throw .badFile(file: file, line: number, reason: "SQL outside of an up or down part")
          }
        }
      }
    }
    guard place != .header else {
      throw .badFile(file: file, line: nil, reason: "there is no line '-- migrate: up'")
    }
    guard place != .up else {
      throw .badFile(
        file: file, line: nil,
        reason: "there is no line '-- migrate: down' or '-- migrate: irreversible REASON'"
      )
    }
  }

  private mutating func marker(
    _ words: String, at line: Int, in place: Place
  ) throws(MigrationError) -> Place {
    switch (words, place) {
    case ("no transaction", .header):
      isTransactional = false
      return .header
    case (_, .header) where words.hasPrefix("formerly "):
      formerChecksums.append(String(words.dropFirst("formerly ".count)))
      return .header
    case ("up", .header):
      up.line = line + 1
      return .up
    case ("down", .up):
      down.line = line + 1
      return .down
    case (_, .up) where words.hasPrefix("irreversible "):
      irreversible = String(words.dropFirst("irreversible ".count))
      return .irreversible
    case ("irreversible", _):
      throw .badFile(file: file, line: line, reason: "'-- migrate: irreversible' needs a reason")
    case ("no transaction", _), ("up", _), ("down", _):
      throw .badFile(file: file, line: line, reason: "'-- migrate: \(words)' in the wrong place")
    default:
      throw .badFile(file: file, line: line, reason: "unknown marker '-- migrate: \(words)'")
    }
  }

  /// The file without its up part.
  ///
  /// The reader adds a newline to each line, including the last one. It is removed here, so that
  /// the text reads back unchanged.
  var undoing: String {
    var text = (isTransactional ? "" : "-- migrate: no transaction\n") + "-- migrate: up\n"
    if let irreversible { return text + "-- migrate: irreversible \(irreversible)\n" }
    text += "-- migrate: down\n\(down.text)"
    if !down.text.isEmpty { text.unicodeScalars.removeLast() }
    return text
  }

  func script(_ path: KeyPath<Sections, Section>) throws(MigrationError) -> SQLScript {
    let section = self[keyPath: path]
    let script = SQLScript(text: section.text, line: section.line)
    if let objection = script.objection {
      throw .badFile(file: file, line: script.line, reason: objection)
    }
    if !isTransactional, script.isConcurrentIndexCreation, script.concurrentIndex == nil {
      throw .badFile(
        file: file, line: script.line,
        reason: "an index built concurrently needs a name, by which an incomplete one is found"
      )
    }
    return script
  }
}

extension String {
  /// The text with newlines in place of carriage returns and newlines.
  ///
  /// Like all line readers here, it works on scalars. In Swift, the two form one character.
  fileprivate var unixLines: String {
    var scalars = UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == "\n", scalars.last == "\r" { scalars.removeLast() }
      scalars.append(scalar)
    }
    return String(scalars)
  }

  /// The lines, split at every newline.
  var lines: [Substring] {
    unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Substring.init)
  }
}

extension Substring {
  var isBlankOrComment: Bool {
    let text = drop(while: \.isWhitespace)
    return text.isEmpty || text.hasPrefix("--")
  }

  /// The words after `-- migrate:`, or nil for any other line.
  fileprivate var markerWords: String? {
    guard hasPrefix("--") else { return nil }
    let comment = dropFirst(2).drop(while: \.isWhitespace)
    let mark = "migrate:"
    guard comment.hasPrefix(mark) else { return nil }
    let words = comment.dropFirst(mark.count).drop(while: \.isWhitespace)
    return String(
      words[..<(words.lastIndex { !$0.isWhitespace }.map(words.index(after:)) ?? words.startIndex)]
    )
  }
}
