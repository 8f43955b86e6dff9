import Encoding
import Glibc
import HeapModule

/// Makes the file of a set from hashes in any order, in bounded memory.
///
/// Hashes are sorted in memory, and written in runs. A run continues as long as the hashes ascend, so
/// a sorted list makes one run, which is the file already. Several runs are merged.
package struct BreachedPasswordSetWriter {
  private let path: String
  private let capacity: Int
  private var unsorted: [UInt64] = []
  private var output: HashOutput
  /// Where each run begins, as an index of a hash.
  private var starts: [Int] = []

  /// Opens the files, beside the set that they replace.
  ///
  /// - Parameters:
  ///   - path: the path of the set.
  ///   - capacity: the hashes that are sorted in memory; 4,000,000 take 32 MB.
  /// - Throws: an error if the folder cannot be written to.
  package init(_ path: String, sorting capacity: Int = 4_000_000) throws(BreachedPasswordSetError) {
    (self.path, self.capacity) = (path, max(1, capacity))
    output = try HashOutput("\(path).runs")
  }

  package mutating func add(_ hash: UInt64) throws(BreachedPasswordSetError) {
    unsorted.append(hash)
    if unsorted.count == capacity { try endRun() }
  }

  /// Replaces the set by the one with the added hashes.
  ///
  /// - Returns: the number of its hashes.
  /// - Throws: an error if a file cannot be written, or there is no hash.
  package mutating func finish() throws(BreachedPasswordSetError) -> Int {
    try endRun()
    guard !starts.isEmpty else { throw BreachedPasswordSetError("the list", "has no hash") }
    if starts.count > 1 { try merge() }
    return try output.replace(path)
  }

  private mutating func endRun() throws(BreachedPasswordSetError) {
    unsorted.sort()
    guard let first = unsorted.first else { return }
    if output.last.map({ first < $0 }) ?? true { starts.append(output.count) }
    for hash in unsorted { try output.append(hash) }
    unsorted.removeAll(keepingCapacity: true)
  }

  /// Merges the runs into a new file.
  private mutating func merge() throws(BreachedPasswordSetError) {
    unsorted = []
    try output.flush()
    let file = try HashFile(output.descriptor, output.path)
    let ends = starts.dropFirst() + [output.count]
    let merged = try HashOutput("\(path).new")
    var heads = Heap<HashRun>()
    for (start, end) in zip(starts, ends) {
      if let run = try HashRun(start, end, of: file) { heads.insert(run) }
    }
    while let run = heads.min {
      try merged.append(run.hash)
      if let next = try run.next(of: file) {
        heads.replaceMin(with: next)
      } else {
        heads.removeMin()
      }
    }
    output = merged
  }
}

/// A file of hashes that is being written, which is removed unless it replaces the set.
private final class HashOutput {
  /// In bytes.
  private static let chunk = 1_048_576

  let path: String
  let descriptor: Int32
  /// The number of hashes.
  private(set) var count = 0
  private(set) var last: UInt64?
  private var buffer = HashFile.mark
  private var isInPlace = false

  /// - Throws: an error if the file exists or cannot be created.
  init(_ path: String) throws(BreachedPasswordSetError) {
    self.path = path
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor < 0 else { return }
    guard errno == EEXIST else { throw BreachedPasswordSetError(path, code: errno) }
    throw BreachedPasswordSetError(
      path, "exists: another run is writing it, or one was killed; then remove the file"
    )
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    if !isInPlace { unsafe unlink(path) }
  }

  /// Appends a hash, unless it is the last one.
  func append(_ hash: UInt64) throws(BreachedPasswordSetError) {
    guard hash != last else { return }
    last = hash
    count += 1
    for shift in stride(from: 56, through: 0, by: -8) {
      buffer.append(UInt8(truncatingIfNeeded: hash >> UInt64(shift)))
    }
    if buffer.count >= Self.chunk { try flush() }
  }

  func flush() throws(BreachedPasswordSetError) {
    var written = 0
    while written < buffer.count {
      let count = unsafe buffer.withUnsafeBytes { bytes in
        unsafe write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw BreachedPasswordSetError(path, code: errno) }
      written += count
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Renames the file to another path, after it is on the disk.
  ///
  /// - Returns: the number of hashes.
  func replace(_ other: String) throws(BreachedPasswordSetError) -> Int {
    try flush()
    // The set is no secret, and the user of the server reads it.
    guard fchmod(descriptor, 0o644) == 0, fsync(descriptor) == 0, unsafe rename(path, other) == 0
    else {
      throw BreachedPasswordSetError(other, code: errno)
    }
    isInPlace = true
    return count
  }
}

/// A run that is being merged, at one of its hashes.
private struct HashRun: Comparable {
  private var read: [UInt64]
  private var place = 0
  private var rest: Range<Int>

  var hash: UInt64 { read[place] }

  /// Returns nil for a run without a hash.
  init?(_ start: Int, _ end: Int, of file: HashFile) throws(BreachedPasswordSetError) {
    (read, rest) = ([], start..<end)
    guard try fill(from: file) else { return nil }
  }

  /// Returns the run at its next hash, or nil at its end.
  func next(of file: HashFile) throws(BreachedPasswordSetError) -> HashRun? {
    var next = self
    next.place += 1
    if next.place < next.read.count { return next }
    return try next.fill(from: file) ? next : nil
  }

  private mutating func fill(from file: HashFile) throws(BreachedPasswordSetError) -> Bool {
    guard !rest.isEmpty else { return false }
    let end = min(rest.upperBound, rest.lowerBound + 8 * HashFile.window)
    read = try file.hashes(from: rest.lowerBound, to: end)
    (place, rest) = (0, end..<rest.upperBound)
    return true
  }

  static func < (first: HashRun, second: HashRun) -> Bool { first.hash < second.hash }
  static func == (first: HashRun, second: HashRun) -> Bool { first.hash == second.hash }
}

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
