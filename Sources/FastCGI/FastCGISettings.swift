package import EventLoop

/// The limits of a listener.
package struct FastCGISettings: Sendable {
  /// Connections at once; further ones wait in the kernel's queue.
  ///
  /// Descriptors must stay below
  /// 1,024, which libfcgi's use of `select` cannot pass.
  package var connections = 512
  /// From the first byte of a request to its last, and for the writing of an answer.
  package var patience = Duration.seconds(10)
  /// Reads and writes the bodies that are larger than 64 KiB.
  package var pool: BlockingPool

  package init(pool: BlockingPool) { self.pool = pool }

  /// What one look at a socket takes in, and so the largest body that is read on the loop.
  ///
  /// As large an answer is written on the loop, since it fits the socket's buffer.
  static let window = 65_536
}

/// How an exchange with the web server can fail.
package enum FastCGIError: Error, Equatable {
  /// The web server has gone, or broke the protocol, before the request was complete.
  case truncated
  /// The body is longer than the caller allows; the length the client stated, if it did.
  case tooLong(stated: Int?)
  /// Too many large bodies are under way.
  case overloaded
}
