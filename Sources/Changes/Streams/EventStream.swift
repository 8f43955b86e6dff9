import EventLoop
import Glibc
import Runtime

/// One connection of nginx, on which a client receives changes.
@EventLoop final class EventStream {
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
  /// Nil until the head has been read.
  private(set) var ticket: StreamTicket?
  /// The network of the client; nil for a client on this machine.
  private(set) var network: [UInt8]?
  /// When the client is to connect again.
  private var endsAt: UInt64 = 0
  private var known: Known = .nothing

  /// The state that the client knows.
  private enum Known {
    /// Its first event has the present state.
    case nothing
    /// Its cursor is not one of the user, so every part may differ.
    case invalid
    /// The state of the cursor with which it connected.
    case cursor(UserState)
    /// The state of the last event.
    case told(UserState)
  }

  /// The bytes that may wait for a client.
  private static let longestUnsent = 65_536
  /// The time for which a client may read nothing, and nginx may take to send the head.
  private static let patience = Duration.seconds(10).nanoseconds
  private static let usualLife = 1_800.0
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
    if ticket == nil {
      readHead()
    } else if readiness.overlaps(.hangUp) {
      close()
    }
  }

  private func readHead() {
    while ticket == nil, !isClosed {
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

  func refuse(_ status: String) {
    send(StreamEvent.refusal(status))
    close()
  }

  /// Starts the response; the first event follows when the state of the user has been read.
  func begin(_ ticket: StreamTicket, network: [UInt8]?, lastEventID: String?, _ master: MasterKey) {
    self.ticket = ticket
    self.network = network
    if let cursor = lastEventID ?? ticket.cursor {
      let state = UserChanges.state(in: cursor, of: ticket.user, master)
      known = state.map(Known.cursor) ?? .invalid
    }
    let untilExpiry = Double(max(0, ticket.expiresAt - time(nil)))
    let life = min(Self.usualLife * .random(in: 0.9...1.1), untilExpiry * .random(in: 0.9...1))
    endsAt = EventLoop.now() + UInt64(life * 1e9)
    send(StreamEvent.head)
    if unsent.isEmpty { try? watch?.change(to: .hangUp) }
  }

  /// Tells the client the state of its user, if it differs from what the client knows.
  func show(_ state: UserState, _ master: MasterKey) {
    guard let ticket, !isClosed else { return }
    var state = state
    if ticket.hidesAppMetadata { state[.appMetadata] = 0 }
    let parts: [UserPart]
    switch known {
    case .nothing: parts = []
    case .invalid:
      parts = UserPart.allCases.filter { $0 != .appMetadata || !ticket.hidesAppMetadata }
    case .cursor(let earlier), .told(let earlier): parts = state.parts(unlike: earlier)
    }
    let isFirst = if case .told = known { false } else { true }
    guard isFirst || !parts.isEmpty else { return }
    known = .told(state)
    let cursor = UserChanges.cursor(of: state, of: ticket.user, master)
    var events = isFirst ? StreamEvent.ready(cursor) : []
    if !parts.isEmpty { events += StreamEvent.change(parts, of: state, cursor) }
    send(events)
  }

  /// Tells the client that its session is over, and closes the stream.
  func end(_ reason: String) { finish(StreamEvent.end(reason)) }

  /// Lets the client connect again, and closes the stream.
  func reconnect() { finish(ticket == nil ? [] : StreamEvent.reconnect) }

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
    guard ticket != nil else {
      if now > acceptedAt + Self.patience { close() }
      return
    }
    if now >= endsAt { return reconnect() }
    if blockedSince > 0, now > blockedSince + Self.patience { return close() }
    if beats { send(StreamEvent.heartbeat) }
  }

  private func send(_ bytes: [UInt8]) {
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
    if ticket != nil { try? watch?.change(to: .hangUp) }
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    watch?.cancel()
    watch = nil
    Glibc.close(descriptor)
    server.forget(self)
  }
}
