import CLinux
import Configuration
import Encoding
import EventLoop
import Glibc

/// Captures a worker's stderr: the crash messages of Swift's runtime and of libraries.
///
/// The runtime's messages can contain strings of a request (`Duplicate values for key: '…'`), so
/// they must not be logged unchanged. They go to a file in memory, which is read when the worker
/// has ended.
struct CapturedStderr: ~Copyable {
  let descriptor: Int32
  private static let size = 4_096

  init() throws(SocketError) {
    descriptor = CLinux_make_sealed_file("dossier-complaint", off_t(Self.size))
    guard descriptor >= 0 else { throw SocketError("no worker: \(systemMessage(errno))") }
  }

  deinit { close(descriptor) }

  /// Returns the part that may be logged.
  ///
  /// - Parameter all: whether all of it may be logged, since no client was served yet.
  /// - Returns: all of it, or only the source location of the crash. Nil without one.
  func words(all: Bool) -> String? {
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, Self.size, 0))
    }
    let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    if all {
      let lines = text.split(whereSeparator: \.isNewline)
      return lines.isEmpty ? nil : lines.joined(separator: "; ")
    }
    return Self.place(in: text)
  }

  /// Returns `Swift/Dictionary.swift:830` from `Swift/Dictionary.swift:830: Fatal error: …`.
  private static func place(in text: String) -> String? {
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let place = line.prefix { $0 != UInt8(ascii: " ") }
      let parts = place.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      guard parts.count == 3, parts[2].isEmpty, place.count < 200,
        parts[0].allSatisfy(isOfName), parts[0].suffix(6).elementsEqual(".swift".utf8),
        !parts[1].isEmpty, parts[1].allSatisfy(\.isDigit)
      else { continue }
      return String(decoding: place.dropLast(), as: UTF8.self)
    }
    return nil
  }

  /// Returns whether names of source files may contain this byte.
  private static func isOfName(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "/_+-.".utf8.contains(byte)
  }
}
