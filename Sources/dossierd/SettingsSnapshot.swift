import CLinux
import Configuration
import EventLoop
import Glibc

/// The file of settings as it was at the start or at a reload, which the workers go by until the next
/// one: what is edited meanwhile does not count for one that takes a dead one's place.
@EventLoop final class SettingsSnapshot {
  /// The descriptor under which a worker finds it.
  nonisolated static let inherited: Int32 = 5

  let file: SettingsFile
  private let descriptor: Int32

  /// - Throws: `SocketError` when the file cannot be read.
  init(_ path: String) throws(SocketError) {
    file = SettingsFile(path: path)
    guard let text = file.text else { throw SocketError("the file \(path) cannot be read") }
    descriptor = CLinux_memfd_create("dossier-settings", 1)
    let bytes = Array(text.utf8)
    guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else {
      throw SocketError("no memory for the settings: \(systemMessage(errno))")
    }
  }

  deinit { close(descriptor) }

  /// For a worker, which reads from the beginning: each needs a position of its own.
  func open() -> Int32 { Glibc.open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC) }
}
