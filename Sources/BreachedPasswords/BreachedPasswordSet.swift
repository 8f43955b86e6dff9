import Crypto
import Glibc

/// A set of passwords from data breaches, in a file that an operator installs.
///
/// Each search opens the file, so it finds the newest one. The writer replaces a file as a whole.
package struct BreachedPasswordSet: Sendable {
  package let path: String

  package init(_ path: String) { self.path = path }

  /// Looks a password up.
  ///
  /// This reads from the disk, so it must not run on the loop.
  ///
  /// - Parameter password: the password in the form that is hashed, compared by its bytes in UTF-8.
  /// - Returns: whether the set has the password.
  /// - Throws: `BreachedPasswordSetError` if the file cannot be read, or is not such a file.
  package func contains(_ password: String) throws(BreachedPasswordSetError) -> Bool {
    let digest = Insecure.SHA1.hash(data: Array(password.utf8))
    let prefix = digest.prefix(HashFile.width).reduce(0) { $0 << 8 | UInt64($1) }
    return try withFile { file throws(BreachedPasswordSetError) in try file.contains(prefix) }
  }

  /// Throws an error if the file cannot be read, has another format, or has no hash.
  package func check() throws(BreachedPasswordSetError) {
    let first = try withFile { file throws(BreachedPasswordSetError) in
      try file.hashes(from: 0, to: min(file.count, HashFile.window))
    }
    guard !first.isEmpty, zip(first, first.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw BreachedPasswordSetError(path, HashFile.formatFault)
    }
  }

  private func withFile<Result>(
    _ body: (HashFile) throws(BreachedPasswordSetError) -> Result
  ) throws(BreachedPasswordSetError) -> Result {
    // A pipe would wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw BreachedPasswordSetError(path, code: errno) }
    defer { close(descriptor) }
    return try body(try HashFile(descriptor, path))
  }
}

/// The reason why a set cannot be read or written.
package struct BreachedPasswordSetError: Error, CustomStringConvertible {
  package let description: String

  init(_ path: String, _ reason: String) { description = "\(path) \(reason)" }

  init(_ path: String, code: Int32) {
    description = unsafe "\(path): \(String(cString: strerror(code)))"
  }
}

/// An open file of sorted hashes.
struct HashFile {
  /// The bytes of a hash that are stored.
  static let width = 8
  /// The hashes of one read: 8 KiB, enough for the error of the computed place in a set of a million.
  static let window = 1_024
  static let mark = Array("dossier-sha1-64\n".utf8)
  static let formatFault =
    "is not a set of breached passwords: make it by dossier breached-password build"

  /// The number of hashes.
  let count: Int
  private let descriptor: Int32
  private let path: String

  /// - Throws: an error if the file has another format.
  init(_ descriptor: Int32, _ path: String) throws(BreachedPasswordSetError) {
    (self.descriptor, self.path) = (descriptor, path)
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else {
      throw BreachedPasswordSetError(path, code: errno)
    }
    let length = Int(found.st_size) - Self.mark.count
    guard found.st_mode & S_IFMT == S_IFREG, length >= 0, length % Self.width == 0 else {
      throw BreachedPasswordSetError(path, Self.formatFault)
    }
    count = length / Self.width
    guard try bytes(from: 0, Self.mark.count) == Self.mark else {
      throw BreachedPasswordSetError(path, Self.formatFault)
    }
  }

  /// Returns whether the file has a hash.
  ///
  /// A read goes where the hash is expected between the known neighbors. If the hashes are not evenly
  /// distributed, each third read halves the rest, so a search always ends soon.
  func contains(_ hash: UInt64) throws(BreachedPasswordSetError) -> Bool {
    // All hashes before `low` are less than the hash, and those from `high` on are greater.
    var (low, high) = (0, count)
    var (least, greatest) = (UInt64.min, UInt64.max)
    var reads = 0
    while low < high {
      reads += 1
      let share = reads % 3 == 0 ? 0.5 : Double(hash - least) / Double(greatest - least)
      let middle = low + Int(share * Double(high - low))
      let start = max(low, min(middle - Self.window / 2, high - Self.window))
      let read = try hashes(from: start, to: min(high, start + Self.window))
      if let first = read.first, hash < first {
        (high, greatest) = (start, first)
      } else if let last = read.last, hash > last {
        (low, least) = (start + read.count, last)
      } else {
        return read.contains(hash)
      }
    }
    return false
  }

  /// Returns the hashes of a range.
  func hashes(from start: Int, to end: Int) throws(BreachedPasswordSetError) -> [UInt64] {
    let bytes = try bytes(from: Self.mark.count + start * Self.width, (end - start) * Self.width)
    return unsafe bytes.withUnsafeBytes { all in
      (0..<end - start).map { index in
        unsafe UInt64(
          bigEndian: all.loadUnaligned(fromByteOffset: index * Self.width, as: UInt64.self)
        )
      }
    }
  }

  private func bytes(from offset: Int, _ length: Int) throws(BreachedPasswordSetError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: length)
    var filled = 0
    while filled < length {
      let count = unsafe bytes.withUnsafeMutableBytes { space in
        unsafe pread(
          descriptor, space.baseAddress?.advanced(by: filled), length - filled, offset + filled
        )
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw BreachedPasswordSetError(path, code: errno) }
      guard count > 0 else { throw BreachedPasswordSetError(path, Self.formatFault) }
      filled += count
    }
    return bytes
  }
}
