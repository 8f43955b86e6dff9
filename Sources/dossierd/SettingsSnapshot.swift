import CLinux
import Configuration
import EventLoop
import Glibc

/// The settings file as it was at the start or the last reload.
///
/// Workers use it until the next reload, so that edits do not affect a restarted worker.
@EventLoop final class SettingsSnapshot {
  /// The descriptor of the file in a worker.
  nonisolated static let inherited: Int32 = 5

  let file: SettingsFile
  private let descriptor: Int32

  /// Copies the file into memory.
  ///
  /// - Throws: `SocketError` if the file cannot be read or copied.
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

  /// Opens the file for a worker.
  ///
  /// Each worker reads from the start, so it needs its own file position.
  func open() -> Int32 { Glibc.open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC) }
}
