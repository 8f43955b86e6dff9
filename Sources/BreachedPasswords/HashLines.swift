import Encoding

/// The lines of a list of SHA-1 hashes, which arrive in pieces.
///
/// A line has 40 hexadecimal digits in upper or lower case, and perhaps a colon and a count, as the
/// downloader of Have I Been Pwned writes them. Lines end with LF or CR LF. Empty lines are skipped.
package struct HashLines {
  /// The number of lines so far.
  package private(set) var count = 0
  private var rest: [UInt8] = []

  package init() {}

  /// Editors of Windows put it before the first line.
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
  /// The length of a line with the largest count, and more.
  private static let longest = 80
  private static let digits = 40

  /// Reads a piece of the list.
  ///
  /// - Parameters:
  ///   - piece: the bytes that follow those of the piece before.
  ///   - take: receives the first 8 bytes of each hash as a number.
  /// - Throws: `HashLineError` for a line that breaks a rule, and what `take` throws.
  package mutating func read(_ piece: [UInt8], _ take: (UInt64) throws -> Void) throws {
    var start = 0
    while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
      if rest.isEmpty {
        try line(piece[start..<end], take)
      } else {
        rest += piece[start..<end].prefix(Self.longest + 1)
        try line(rest[...], take)
        rest.removeAll(keepingCapacity: true)
      }
      start = end + 1
    }
    rest += piece[start...].prefix(Self.longest + 1)
    guard rest.count <= Self.longest else { throw tooLong(count + 1) }
  }

  /// Reads the last line, which may lack its line end.
  ///
  /// - Throws: as `read`.
  package mutating func finish(_ take: (UInt64) throws -> Void) throws {
    if !rest.isEmpty { try line(rest[...], take) }
    rest = []
  }

  private mutating func line(_ whole: ArraySlice<UInt8>, _ take: (UInt64) throws -> Void) throws {
    count += 1
    guard whole.count <= Self.longest else { throw tooLong(count) }
    var line = whole
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    if count == 1, line.starts(with: Self.byteOrderMark) { line.removeFirst(3) }
    guard !line.isEmpty else { return }
    var hash: UInt64 = 0
    var place = line.startIndex
    while place < line.endIndex, place - line.startIndex < Self.digits,
      let digit = line[place].hexadecimalValue
    {
      if place - line.startIndex < 2 * HashFile.width { hash = hash << 4 | UInt64(digit) }
      place += 1
    }
    guard place - line.startIndex == Self.digits else {
      throw HashLineError(count, "has no SHA-1 hash of 40 hexadecimal digits")
    }
    let number = line[place...]
    let isCount =
      number.first == UInt8(ascii: ":") && (2...21).contains(number.count)
      && number.dropFirst().allSatisfy(\.isDigit)
    guard number.isEmpty || isCount else {
      throw HashLineError(count, "has more than a hash, a colon and a count of at most 20 digits")
    }
    try take(hash)
  }

  private func tooLong(_ line: Int) -> HashLineError { HashLineError(line, "is too long") }
}

/// A line that is not one of a list of hashes.
package struct HashLineError: Error, CustomStringConvertible {
  package let description: String

  init(_ line: Int, _ rule: String) {
    description = "line \(line) \(rule); a line is HASH or HASH:COUNT"
  }
}
