import CLinux
import Glibc

/// A file that a command writes, or standard output.
final class ResultsFile {
  private let descriptor: Int32

  /// Standard output.
  init() { descriptor = 1 }

  /// Opens a file, which only its owner may read: it tells of users.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - kept: how many of its bytes stay; what is behind them goes.
  /// - Throws: `.file`, also when it is shorter than that.
  init(_ path: String, keeping kept: Int = 0) throws(CommandFailure) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .file("\(path): \(Self.reason)", .files) }
    // Pipes and terminals have no length to keep.
    let length = CLinux_file_length(descriptor)
    guard length >= 0 else { return }
    guard length >= kept else {
      throw .file("\(path) is not the file that this import wrote its results to", .files)
    }
    guard ftruncate(descriptor, kept) == 0, lseek(descriptor, kept, SEEK_SET) == kept else {
      throw .file("\(path): \(Self.reason)", .files)
    }
  }

  /// Writes all of it.
  ///
  /// - Throws: `.file`, for instance when the disk is full.
  func write(_ bytes: [UInt8]) throws(CommandFailure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .file("cannot write: \(Self.reason)", .files) }
      rest = rest.dropFirst(count)
    }
  }

  private static var reason: String { String(cString: strerror(errno)) }
}
