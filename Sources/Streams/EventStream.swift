package import EventLoop
import Glibc

/// One connection of nginx, on which a client receives server-sent events.
@EventLoop package final class EventStream {
  let descriptor: Int32
  private unowned let server: StreamServer
  private var watch: Watch?
  private let acceptedAt = EventLoop.now()
  /// The bytes of the head, until it is read.
  private var received: [UInt8] = []
  private var unsent: [UInt8] = []
  /// When the client stopped reading; 0 while it reads.
  private var blockedSince: UInt64 = 0
  private(set) var isClosed = false
  /// The source of the events; nil until the head has been read.
  private(set) var subscription: (any Subscription)?
  /// The network of the client; nil for a client on this machine.
  private(set) var network: [UInt8]?
  /// When the client is to connect again.
  private var endsAt: UInt64 = 0

  /// The bytes that may wait for a client.
  static let longestUnsent = 65_536
  /// The time for which a client may read nothing, and nginx may take to send the head.
  private static let patience = Duration.seconds(10).nanoseconds
  /// The buffer in the kernel.
  ///
  /// A client that does not read is noticed after a few events.
  private static let kernelBuffer: Int32 = 4_608

  /// Starts to read the head of a connection, which it closes.
  ///
  /// - Throws: `EventLoopError` if the connection cannot be watched.
  init(_ descriptor: Int32, _ server: StreamServer) throws(EventLoopError) {
    self.descriptor = descriptor
    self.server = server
    var size = Self.kernelBuffer
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    watch = try Watch(descriptor, for: .readOrHangUp) { [unowned self] in handle($0) }
  }

  private func handle(_ readiness: Readiness) {
    if readiness.overlaps(.write) { flush() }
    guard !isClosed else { return }
    if subscription == nil {
      readHead()
    } else if readiness.overlaps(.hangUp) {
      close()
    }
  }

  private func readHead() {
    while subscription == nil, !isClosed {
      let room = SCGIHead.longestMessage - received.count
      guard room > 0 else { return close() }
      var count = 0
      received += [UInt8](unsafeUninitializedCapacity: min(room, 4_096)) { buffer, initialized in
        count = read(descriptor, buffer.baseAddress, buffer.count)
        initialized = max(0, count)
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else { return close() }
      switch SCGIHead.read(received) {
      case .incomplete: continue
      case .invalid: refuse("400 Bad Request")
      case .whole(let head):
        received = []
        server.open(self, head)
      }
    }
  }

  func refuse(_ status: String) { answer(StreamEvent.refusal(status)) }

  /// Sends a whole answer, and closes the connection.
  func answer(_ bytes: [UInt8]) {
    send(bytes)
    close()
  }

  /// Starts the response, whose events the subscription sends.
  func begin(_ subscription: any Subscription, network: [UInt8]?) {
    self.subscription = subscription
    self.network = network
    endsAt = EventLoop.now() + UInt64(subscription.life * 1e9)
    send(StreamEvent.head)
    if unsent.isEmpty { try? watch?.change(to: .hangUp) }
  }

  /// Tells the client that it gets nothing more, and closes the stream.
  func end(_ reason: String) { finish(StreamEvent.end(reason)) }

  /// Lets the client connect again, and closes the stream.
  func reconnect() { finish(subscription == nil ? [] : StreamEvent.reconnect) }

  private func finish(_ event: [UInt8]) {
    if unsent.isEmpty, !isClosed { send(event) }
    close()
  }

  /// Checks the times of the stream, once a second.
  ///
  /// - Parameters:
  ///   - now: the present time.
  ///   - beats: whether the stream sends a heartbeat in this second.
  func check(at now: UInt64, beats: Bool) {
    guard subscription != nil else {
      if now > acceptedAt + Self.patience { close() }
      return
    }
    if now >= endsAt { return reconnect() }
    if blockedSince > 0, now > blockedSince + Self.patience { return close() }
    if beats { send(StreamEvent.heartbeat) }
  }

  /// Whether the client has received all events so far.
  var hasSentAll: Bool { unsent.isEmpty && !isClosed }

  /// Sends bytes, and closes the stream if too many wait for the client.
  func send(_ bytes: [UInt8]) {
    guard !isClosed else { return }
    unsent += bytes
    flush()
    if unsent.count > Self.longestUnsent { close() }
  }

  private func flush() {
    while !unsent.isEmpty {
      let count = unsent.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
      }
      if count > 0 {
        unsent.removeFirst(count)
        blockedSince = 0
      } else if errno == EAGAIN {
        if blockedSince == 0 { blockedSince = EventLoop.now() }
        try? watch?.change(to: [.write, .hangUp])
        return
      } else if errno != EINTR {
        return close()
      }
    }
    // The array keeps no room for the next event.
    unsent = []
    if subscription != nil { try? watch?.change(to: .hangUp) }
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watch?.cancel()
    watch = nil
    Glibc.close(descriptor)
    server.forget(self)
    let ended = subscription
    subscription = nil
    ended?.close()
  }
}

/// The source of the events of a stream.
@EventLoop protocol Subscription: AnyObject {
  /// The seconds after which the client is to connect again.
  var life: Double { get }

  /// Called once when the stream is closed.
  func close()
}
