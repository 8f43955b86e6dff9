import CLinux
import EventLoop
import FoundationEssentials
import Glibc

extension SocketName {
  /// Creates the socket and listens.
  ///
  /// Replaces a socket file without a listener. Throws an error if the file is in use.
  package func listen(_ configuration: Configuration) throws(SocketError) -> ListeningSocket {
    if let path { return try ListeningSocket.listen(on: path, configuration) }
    guard let address else { throw SocketError("no address") }
    return try ListeningSocket.listen(on: address)
  }
}

extension ListeningSocket {
  /// Creates a socket file and listens.
  ///
  /// Replaces a socket file without a listener. Throws an error if the file is in use.
  package static func listen(
    on path: String, _ configuration: Configuration
  ) throws(SocketError) -> ListeningSocket {
    guard let name = SocketAddress(path: path) else {
      let longest = SocketAddress.longestPath
      throw SocketError("\(path) is longer than the \(longest) bytes of a socket's name")
    }
    switch name.connectionError() {
    case ECONNREFUSED, ENOENT: break
    case 0, EAGAIN: throw SocketError("\(path) is in use: another dossierd is running there")
    case let code: throw SocketError("\(path): \(systemMessage(code))")
    }
    let stale = CLinux_file_at(path)
    if stale.exists != 0 {
      guard stale.is_socket != 0 else { throw SocketError("\(path) is not a socket") }
      unlink(path)
    }
    let descriptor = try make(AF_UNIX, path)
    guard name.with({ bind(descriptor, $0, $1) }) == 0 else {
      throw SocketError("\(path): \(systemMessage(errno))")
    }
    let file = CLinux_file_at(path)
    if let group = configuration.socketGroup, chown(path, uid_t.max, group) != 0 {
      let reason = systemMessage(errno)
      unlink(path)
      throw SocketError(
        "\(path) cannot be given to its group (socket_group): \(reason); "
          + "the user of dossierd must be a member of that group"
      )
    }
    chmod(path, configuration.socketMode)
    try listen(descriptor, path)
    return ListeningSocket(descriptor: descriptor, file: (path, file))
  }

  fileprivate static func listen(on address: ListenAddress) throws(SocketError) -> ListeningSocket {
    let descriptor = try make(address.isIPv6 ? AF_INET6 : AF_INET, address.description)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    let code: Int32
    if address.isIPv6 {
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_port = address.port.bigEndian
      inet_pton(AF_INET6, address.host, &name.sin6_addr)
      code = SocketAddress(name).with { bind(descriptor, $0, $1) }
    } else {
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = address.port.bigEndian
      inet_pton(AF_INET, address.host, &name.sin_addr)
      code = SocketAddress(name).with { bind(descriptor, $0, $1) }
    }
    guard code == 0 else { throw SocketError("\(address): \(systemMessage(errno))") }
    try listen(descriptor, address.description)
    return ListeningSocket(descriptor: descriptor, file: nil)
  }

  private static func make(_ family: Int32, _ name: String) throws(SocketError) -> Int32 {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(family, Int32(kind), 0)
    guard descriptor >= 0 else { throw SocketError("\(name): \(systemMessage(errno))") }
    return descriptor
  }

  private static func listen(_ descriptor: Int32, _ name: String) throws(SocketError) {
    // The queue is as long as the kernel allows, since nginx connects in bursts.
    guard Glibc.listen(descriptor, 4_096) == 0 else {
      throw SocketError("\(name): \(systemMessage(errno))")
    }
  }
}

/// A socket on which a program accepts connections.
package struct ListeningSocket {
  package let descriptor: Int32
  /// The path, and the identity of the file when it was created.
  ///
  /// Nil for TCP and inherited sockets.
  private let file: (path: String, made: CLinux_file)?

  private init(descriptor: Int32, file: (path: String, made: CLinux_file)?) {
    self.descriptor = descriptor
    self.file = file
  }

  /// Stops new connections.
  ///
  /// Connected clients stay in the queue.
  ///
  /// The file is deleted only if it is still the one created here. Another dossierd may have
  /// replaced it.
  package func stop() {
    shutdown(descriptor, Int32(SHUT_RDWR))
    guard let file else { return }
    let found = CLinux_file_at(file.path)
    if found.exists != 0, found.device == file.made.device, found.inode == file.made.inode {
      unlink(file.path)
    }
  }

  /// Returns the sockets created by systemd, in its order.
  ///
  /// - Source: sd_listen_fds(3).
  package static func inherited() -> [ListeningSocket] {
    let environment = ProcessInfo.processInfo.environment
    guard environment["LISTEN_PID"] == String(getpid()),
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...1_024).contains(count)
    else { return [] }
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    unsetenv("LISTEN_FDNAMES")
    return (3..<3 + count).map { descriptor in
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      CLinux_make_nonblocking(descriptor)
      return ListeningSocket(descriptor: descriptor, file: nil)
    }
  }
}

extension ListeningSocket {
  /// The path, or the address and port.
  ///
  /// Nil for other sockets.
  package var name: String? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes -> String? in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
        getsockname(descriptor, start, &length) == 0
      else { return nil }
      switch Int32(start.pointee.sa_family) {
      case AF_UNIX:
        let path = bytes[MemoryLayout<sa_family_t>.size..<min(Int(length), bytes.count)]
        return String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
      case AF_INET, AF_INET6:
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let (hostSize, portSize) = (socklen_t(host.count), socklen_t(port.count))
        let flags = NI_NUMERICHOST | NI_NUMERICSERV
        guard getnameinfo(start, length, &host, hostSize, &port, portSize, flags) == 0 else {
          return nil
        }
        let texts = [host, port].map { text in
          String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return Int32(start.pointee.sa_family) == AF_INET6
          ? "[\(texts[0])]:\(texts[1])" : texts.joined(separator: ":")
      default: return nil
      }
    }
  }
}

package struct SocketError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
