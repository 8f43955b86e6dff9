@testable import BreachedPasswords
import Glibc

extension FuzzTarget {
  /// A list of SHA-1 hashes, which arrives in pieces of any length.
  static let hashLines = FuzzTarget(
    "hash-lines",
    words: ["0123456789ABCDEFabcdef0123456789ABCDEF01", ":", "42", "\r\n", "\n", "\u{feff}"],
    bound: MemoryBound(factor: 80, base: 65_536)
  ) { input in
    let whole = read(input, in: max(1, input.count))
    for size in [1, 7, 64] {
      let other = read(input, in: size)
      expect(other.hashes == whole.hashes, "pieces of \(size) have other hashes")
      expect(other.fault == whole.fault, "pieces of \(size): \(other.fault) and \(whole.fault)")
    }
    expect(whole.hashes.count * 40 <= input.count, "more hashes than the list has")
  }

  private static func read(_ input: [UInt8], in size: Int) -> (hashes: [UInt64], fault: String) {
    var lines = HashLines()
    var hashes: [UInt64] = []
    do {
      for start in stride(from: 0, to: input.count, by: size) {
        try lines.read(Array(input[start..<min(input.count, start + size)])) { hashes.append($0) }
      }
      try lines.finish { hashes.append($0) }
      return (hashes, "")
    } catch {
      return (hashes, "\(error)")
    }
  }

  /// The file of a set, which may be damaged.
  static let hashFiles = FuzzTarget(
    "hash-files",
    // More than the hashes of one read, twelve times.
    longest: 100_000,
    words: ["dossier-sha1-64\n", "\0\0\0\0\0\0\0\u{1}"],
    bound: MemoryBound(factor: 40, base: 1_048_576)
  ) { input in
    guard let open = unsafe tmpfile() else { fatalError("there is no temporary file") }
    defer { unsafe fclose(open) }
    let descriptor = unsafe fileno(open)
    guard unsafe write(descriptor, input, input.count) == input.count else {
      fatalError("the temporary file cannot be written")
    }
    do throws(BreachedPasswordSetError) {
      let file = try HashFile(descriptor, "the file")
      let hashes = try file.hashes(from: 0, to: file.count)
      let isSorted = zip(hashes, hashes.dropFirst()).allSatisfy { $0 < $1 }
      for hash in [0, 1, .max, .max - 1] + hashes.prefix(8) + hashes.suffix(8) {
        let isFound = try file.contains(hash)
        // A damaged file may hide a hash, but shows none that it lacks.
        expect(isFound == hashes.contains(hash) || !isFound && !isSorted, "\(hash): \(isFound)")
      }
    } catch {
      expect(!input.starts(with: HashFile.mark) || input.count % 8 != 0, "refused: \(error)")
    }
  }
}
