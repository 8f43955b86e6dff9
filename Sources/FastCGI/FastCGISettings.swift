package import EventLoop

/// The limits of a listener.
package struct FastCGISettings: Sendable {
  /// The number of simultaneous connections; further ones wait in the kernel's queue.
  ///
  /// Descriptors must stay below 1,024, the limit of `select`, which libfcgi uses.
  package var connections = 512
  /// The time from the first byte of a request to its last, and the time to write a response.
  package var patience = Duration.seconds(10)
  /// The threads that read and write bodies larger than 64 KiB.
  package var pool: BlockingPool

  package init(pool: BlockingPool) { self.pool = pool }

  /// The bytes that one peek can see, and so the largest body that the loop reads itself.
  ///
  /// The loop also writes responses up to this size, since they fit the socket's buffer.
  static let window = 65_536
}

/// The error of an exchange with the web server.
package enum FastCGIError: Error, Equatable {
  /// The web server disconnected or broke the protocol before the request was complete.
  case truncated
  /// The body exceeds the limit.
  case tooLong
  /// Too many large bodies are in progress.
  case overloaded
}
