import CLinux
import EventLoop
import Glibc

/// An output file of a command, or standard output.
package final class ResultsFile {
  private let descriptor: Int32

  /// Uses standard output.
  package init() { descriptor = 1 }

  /// Opens a file that only its owner may read, since it contains user data.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - kept: the number of bytes to keep; the rest is cut off.
  /// - Throws: `.file` if the file cannot be opened or is shorter than `kept`.
  package init(_ path: String, keeping kept: Int = 0) throws(CommandFailure) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CommandFailure("\(path): \(Self.reason)", .files) }
    // Pipes and terminals have no length.
    let length = CLinux_file_length(descriptor)
    guard length >= 0 else { return }
    guard length >= kept else {
      throw CommandFailure("\(path) is not the file that this import wrote its results to", .files)
    }
    guard ftruncate(descriptor, kept) == 0, lseek(descriptor, kept, SEEK_SET) == kept else {
      throw CommandFailure("\(path): \(Self.reason)", .files)
    }
  }

  /// Writes all of the bytes.
  ///
  /// - Throws: `.file` if a write fails, for example because the disk is full.
  package func write(_ bytes: [UInt8]) throws(CommandFailure) {
    guard Output.write(bytes, to: descriptor) else {
      throw CommandFailure("cannot write: \(Self.reason)", .files)
    }
  }

  private static var reason: String { String(cString: strerror(errno)) }
}
