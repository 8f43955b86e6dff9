internal import CCurl
package import EventLoop
internal import Glibc

/// Sends datagrams to a Unix socket of this host, such as that of syslog.
///
/// The socket is opened at the first datagram, and again after a failure, since its owner may have
/// restarted.
@EventLoop package final class LocalDatagrams {
  private let path: String
  private var descriptor: Int32 = -1

  package init(to path: String) { self.path = path }

  isolated deinit { close() }

  /// Sends a datagram.
  ///
  /// - Parameters:
  ///   - bytes: the datagram.
  ///   - latest: the time at which it stops waiting for room, by `EventLoop.now()`.
  /// - Throws: `FetchError`: `.unreachable` without an owner of the socket, `.timedOut` without room,
  ///   `.tooLarge` if the socket takes no datagram of this size.
  package func send(_ bytes: [UInt8], until latest: UInt64) async throws(FetchError) {
    // The second attempt is for an owner that has restarted.
    var attempts = 0
    while true {
      if descriptor < 0 { try open() }
      let (sent, code) = unsafe bytes.withUnsafeBytes { bytes in
        let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
        return (unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags), errno)
      }
      if sent >= 0 { return }
      switch code {
      case EINTR: continue
      case EAGAIN, ENOBUFS:
        // The kernel does not report room for each kind of owner.
        guard EventLoop.now() < latest else { throw .timedOut }
        await EventLoop.sleep(for: .milliseconds(20))
      case EMSGSIZE: throw .tooLarge(limit: bytes.count - 1)
      default:
        close()
        attempts += 1
        if attempts > 1 { throw .unreachable(systemMessage(code)) }
      }
    }
  }

  private func open() throws(FetchError) {
    guard let address = SocketAddress(path: path) else {
      throw .invalidURL("the path is too long")
    }
    let kind = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let socket = socket(AF_UNIX, Int32(kind), 0)
    guard socket >= 0 else { throw .unreachable(systemMessage(errno)) }
    guard unsafe address.with({ unsafe connect(socket, $0, $1) }) == 0 else {
      let code = errno
      Glibc.close(socket)
      throw .unreachable(systemMessage(code))
    }
    descriptor = socket
  }

  private func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}
