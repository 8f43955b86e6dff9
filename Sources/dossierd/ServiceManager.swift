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
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // A leading @ stands for the zero byte of an abstract name, which has no file.
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = sendto(descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), address, length)
      }
    }
  }
}
