import CLinux
import EventLoop
import Glibc

/// The notifications to systemd, if it requests them.
///
/// - Source: sd_notify(3).
@EventLoop struct ServiceManager {
  private let name: String?

  /// Removes the variable from the environment, since workers send no notifications.
  init() {
    name = getenv("NOTIFY_SOCKET").map { String(cString: $0) }
    unsetenv("NOTIFY_SOCKET")
  }

  func tell(_ state: String) {
    guard let name else { return }
    let address =
      name.first == "@"
      ? SocketAddress(abstract: String(name.dropFirst())) : SocketAddress(path: name)
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    _ = address?.with { sendto(descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), $0, $1) }
  }
}
