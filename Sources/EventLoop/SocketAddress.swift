package import Glibc

/// The address of a socket in the form of system calls.
package struct SocketAddress {
  private let bytes: [UInt8]

  /// The longest path, in bytes.
  package static let longestPath = 107

  /// Creates the address of a socket file; nil if its path is too long.
  package init?(path: String) {
    guard path.utf8.count <= Self.longestPath else { return nil }
    self.init(unix: path.utf8 + [0])
  }

  /// Creates the address of a Unix socket without a file; nil if its name is too long.
  package init?(abstract name: String) {
    guard name.utf8.count <= Self.longestPath else { return nil }
    self.init(unix: [0] + name.utf8)
  }

  private init(unix name: [UInt8]) {
    bytes = unsafe withUnsafeBytes(of: sa_family_t(AF_UNIX)) { unsafe Array($0) } + name
  }

  package init(_ name: sockaddr_in) {
    bytes = unsafe withUnsafeBytes(of: name) { unsafe Array($0) }
  }

  package init(_ name: sockaddr_in6) {
    bytes = unsafe withUnsafeBytes(of: name) { unsafe Array($0) }
  }

  /// Returns the error of a connection to a Unix socket; 0 if a process listens there.
  ///
  /// The error is `EAGAIN` if the queue is full. A blocking connection would wait then.
  package func connectionError() -> Int32 {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let probe = socket(AF_UNIX, Int32(kind), 0)
    guard probe >= 0 else { return errno }
    defer { close(probe) }
    return unsafe with { unsafe connect(probe, $0, $1) } == 0 ? 0 : errno
  }

  /// Calls a function with the address, and returns its result.
  package func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    unsafe bytes.withUnsafeBytes { bytes in
      // The array is never empty, and its elements are aligned like any allocation.
      let start = unsafe bytes.baseAddress.unsafelyUnwrapped
      return unsafe body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
