import CLinux
import FoundationEssentials
import Configuration
import Glibc

/// Where a worker listens.
struct SocketName {
  let path: String?
  let address: String
  let port: UInt16

  init(_ index: Int, _ configuration: Configuration) {
    if let listen = configuration.listen {
      path = nil
      address = listen.address
      port = listen.port + UInt16(index)
    } else {
      path = "\(configuration.socketDirectory)/worker-\(index).sock"
      address = ""
      port = 0
    }
  }

  var nginx: String { path.map { "unix:\($0)" } ?? "\(address):\(port)" }

  /// Makes the socket and listens.
  ///
  /// A socket file that nobody listens on any more is replaced; one that is in use is an error.
  func listen(_ configuration: Configuration) throws(SocketError) -> Int32 {
    path == nil ? try listenTCP() : try listenUnix(configuration)
  }

  private func listenUnix(_ configuration: Configuration) throws(SocketError) -> Int32 {
    guard let path else { throw SocketError("no path") }
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: name.sun_path) - 1
    guard path.utf8.count <= capacity else {
      throw SocketError("\(path) is longer than the \(capacity) bytes of a socket's name")
    }
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SocketError("\(path): \(String(cString: strerror(errno)))") }
    func withName(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
      withUnsafePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }
    if withName({ connect(descriptor, $0, $1) }) == 0 {
      throw SocketError("\(path) is in use: another dossierd is running there")
    }
    unlink(path)
    guard withName({ bind(descriptor, $0, $1) }) == 0 else {
      throw SocketError("\(path): \(String(cString: strerror(errno)))")
    }
    chmod(path, configuration.socketMode)
    if let group = configuration.socketGroup, chown(path, uid_t.max, group) != 0 {
      throw SocketError("\(path) cannot be given to its group: \(String(cString: strerror(errno)))")
    }
    return try listening(descriptor, path)
  }

  private func listenTCP() throws(SocketError) -> Int32 {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    guard inet_pton(AF_INET, address, &name.sin_addr) == 1 else {
      throw SocketError("\(address) is not an IPv4 address")
    }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(
      descriptor,
      SOL_SOCKET,
      SO_REUSEADDR,
      &one,
      socklen_t(MemoryLayout<Int32>.size)
    )
    let bound = withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard bound == 0 else {
      throw SocketError("\(address):\(port): \(String(cString: strerror(errno)))")
    }
    return try listening(descriptor, "\(address):\(port)")
  }

  private func listening(_ descriptor: Int32, _ name: String) throws(SocketError) -> Int32 {
    // As long a queue as the kernel allows: nginx connects in bursts.
    guard Glibc.listen(descriptor, 4_096) == 0 else {
      throw SocketError("\(name): \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  /// The sockets that systemd has made, in its order; none when it has not.
  ///
  /// - Source: sd_listen_fds(3).
  static func inherited() -> [Int32] {
    let environment = ProcessInfo.processInfo.environment
    guard environment["LISTEN_PID"] == String(getpid()),
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0
    else { return [] }
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    unsetenv("LISTEN_FDNAMES")
    return (3..<3 + count).map { descriptor in
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return descriptor
    }
  }
}

struct SocketError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
