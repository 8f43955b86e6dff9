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
  private let copy: Descriptor

  /// Copies the file into memory.
  ///
  /// - Throws: `SocketError` if the file cannot be read or copied.
  init(_ path: String) throws(SocketError) {
    file = SettingsFile(path: path)
    guard let text = file.text else { throw SocketError("the file \(path) cannot be read") }
    do throws(EventLoopError) {
      copy = try Descriptor(holding: Array(text.utf8))
    } catch {
      throw SocketError("no memory for the settings: \(error)")
    }
  }

  /// Opens the file for a worker.
  ///
  /// Each worker reads from the start, so it needs its own file position.
  func open() -> Int32 { Glibc.open("/proc/self/fd/\(copy.number)", O_RDONLY | O_CLOEXEC) }
}
