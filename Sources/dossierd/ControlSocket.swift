import CLinux
import Configuration
import EventLoop
import Glibc

/// The socket through which `dossierd reload` requests a reload and waits for its result.
///
/// It has no file; its name is `dossierd-` and the process id.
///
/// Every user of the machine can connect to such a name, or take it first. So each side checks its
/// peer.
@EventLoop final class ControlSocket {
  private let descriptor: Int32
  private var watch: Watch?
  private let reload: @EventLoop (@escaping @EventLoop (String?) -> Void) -> Void

  /// Opens the socket.
  ///
  /// - Parameter reload: begins a reload and calls its argument at the end: with nil, or with the
  ///   reason why nothing changed.
  /// - Throws: `SocketError` if no descriptor is left or the name is taken.
  init(
    _ reload: @escaping @EventLoop (@escaping @EventLoop (String?) -> Void) -> Void
  ) throws(SocketError) {
    self.reload = reload
    descriptor = Self.make()
    let name = Self.name(getpid())
    guard descriptor >= 0, name?.with({ bind(descriptor, $0, $1) }) == 0,
      listen(descriptor, 8) == 0
    else {
      throw SocketError("`dossierd reload` will not reach this dossierd: \(systemMessage(errno))")
    }
    watch = try? Watch(descriptor, for: .read) { [unowned self] _ in accept() }
  }

  private func accept() {
    let connection = accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
    guard connection >= 0 else {
      // Without this, the socket would wake the process again at once.
      watch?.cancel()
      _ = Timer(after: .seconds(1)) { [self] in
        watch = try? Watch(descriptor, for: .read) { [unowned self] _ in accept() }
      }
      return
    }
    var process = pid_t()
    var user = uid_t()
    guard CLinux_peer(connection, &process, &user) == 0, user == 0 || user == geteuid() else {
      return Self.answer(connection, "only root and the user of dossierd may request a reload")
    }
    reload { Self.answer(connection, $0 ?? Self.done) }
  }

  private nonisolated static let done = "done"

  private static func answer(_ connection: Int32, _ words: String) {
    // The peer may be gone. A short text fits the socket's buffer.
    _ = [UInt8](words.utf8).withUnsafeBytes {
      send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    close(connection)
  }

  /// Asks a supervisor to replace its workers, and waits for the result.
  ///
  /// - Returns: nil, or the reason why it did not.
  nonisolated static func ask(_ supervisor: pid_t) -> String? {
    let descriptor = make(blocking: true)
    defer { close(descriptor) }
    let name = name(supervisor)
    var process = pid_t()
    var user = uid_t()
    guard descriptor >= 0, name?.with({ connect(descriptor, $0, $1) }) == 0,
      CLinux_peer(descriptor, &process, &user) == 0, process == supervisor
    else { return "process \(supervisor) is not a running dossierd of this user" }
    var words: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4_096)
    while case let count = read(descriptor, &part, part.count), count > 0 {
      words += part[..<count]
    }
    if words.elementsEqual(done.utf8) { return nil }
    return words.isEmpty ? "dossierd has ended" : String(decoding: words, as: UTF8.self)
  }

  private nonisolated static func make(blocking: Bool = false) -> Int32 {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    return socket(AF_UNIX, Int32(blocking ? kind : kind | SOCK_NONBLOCK.rawValue), 0)
  }

  /// Fills the name up with zero bytes, as the kernel compares all of it.
  ///
  /// A supervisor of an older version has this name too.
  private nonisolated static func name(_ process: pid_t) -> SocketAddress? {
    let text = "dossierd-\(process)"
    let rest = max(0, SocketAddress.longestPath - text.utf8.count)
    return SocketAddress(abstract: text + String(repeating: "\0", count: rest))
  }
}
