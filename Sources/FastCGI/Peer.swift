import CFastCGI
import CLinux
import EventLoop
import Glibc

/// One connection of the web server, which carries one request at a time.
@safe @EventLoop final class Peer {
  nonisolated(unsafe) let request: UnsafeMutablePointer<FCGX_Request>
  private let descriptor: Int32
  private let listener: Listener
  private var watch: Watch?
  private var state = State.idle
  /// The socket became readable during a request; edge-triggered epoll will not report it again.
  private var isLookDue = false
  /// The web server has closed the connection and expects no response.
  private(set) var isGone = false
  /// Bounds the time from the first byte of a request to its last.
  private var deadline: Timer?
  /// Repeats a request to close that did not fit into the socket's buffer.
  private var closeRetry: Timer?
  /// The parameters of the current request.
  let parameters = ParameterTable()
  /// The request that arrived while `answerRequests` was not waiting.
  private var begun: Exchange?
  /// The continuation of `answerRequests`; nil unless it waits for the next request.
  private var waiting: UnsafeContinuation<Exchange?, Never>?

  private enum State { case idle, gathering, busy, closed }

  init(_ descriptor: Int32, _ listener: Listener) throws(EventLoopError) {
    self.descriptor = descriptor
    self.listener = listener
    unsafe request = .allocate(capacity: 1)
    unsafe FCGX_InitRequest(request, -1, 0)
    unsafe request.pointee.ipcFd = descriptor
    unsafe request.pointee.keepConnection = 1
    // Without this, libfcgi waits for the other side to close first when it closes after an error.
    unsafe request.pointee.detached = 1
    limitWaiting()
    watch = try Watch(descriptor, for: [.read, .hangUp, .edges]) { [unowned self] readiness in
      if readiness.overlaps(.hangUp) { isGone = true }
      if state == .busy { isLookDue = true } else { look() }
    }
    EventLoop.task { [self] in await answerRequests() }
  }

  deinit { unsafe request.deallocate() }

  var pool: BlockingPool { listener.settings.pool }

  /// Sets a time-out for libfcgi's reads and writes, which block.
  private func limitWaiting() {
    var limit = timeval(tv_sec: Int(listener.settings.patience.components.seconds), tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    // The buffer must hold a response that the loop writes.
    var buffer = Int32(4 * FastCGISettings.window)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_SNDBUF, &buffer, socklen_t(MemoryLayout<Int32>.size)
    )
  }

  // MARK: Receiving a request

  /// Peeks at the received bytes, and starts a request if they suffice.
  func look() {
    let window = unsafe listener.window.bytes
    let count = unsafe recv(
      descriptor, window.baseAddress, window.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
    )
    guard count > 0 else {
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      return close()
    }
    let isFull = count == window.count
    switch unsafe RecordScan(UnsafeRawBufferPointer(rebasing: window[..<count])) {
    case .whole: begin(isWhole: true)
    case .head where isFull: begin(isWhole: false)
    case .head: gather()
    case .partialHead where !isFull: gather()
    // Our web server never sends parameters that fill the whole window.
    case .garbage, .partialHead: close()
    }
  }

  /// Waits for the rest.
  ///
  /// Each arrival is an edge, which triggers another peek.
  private func gather() {
    state = .gathering
    guard deadline == nil else { return }
    startDeadline { [unowned self] in close() }
  }

  private func startDeadline(_ body: @escaping @EventLoop () -> Void) {
    deadline = Timer(after: listener.settings.patience, body)
  }

  private func begin(isWhole: Bool) {
    deadline?.cancel()
    deadline = nil
    state = .busy
    guard unsafe FCGX_Accept_r(request) == 0 else {
      // libfcgi has closed the descriptor.
      return end()
    }
    // The worker closes, not libfcgi, which would wait for the other side.
    let keeps = unsafe request.pointee.keepConnection != 0
    unsafe request.pointee.keepConnection = 1
    if !isWhole {
      startDeadline { [unowned self] in shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    unsafe parameters.fill(from: request.pointee.envp)
    let exchange = Exchange(self, bodyIsHere: isWhole, keeps: keeps)
    if let waiting = unsafe waiting {
      unsafe self.waiting = nil
      unsafe waiting.resume(returning: exchange)
    } else {
      begun = exchange
    }
  }

  // MARK: Answering

  /// Answers one request after the other until the connection ends.
  ///
  /// One task serves all of them, so its memory is reused.
  private func answerRequests() async {
    while true {
      var next = begun
      begun = nil
      if next == nil, state != .closed {
        next = await unsafe withUnsafeContinuation {
          (continuation: UnsafeContinuation<Exchange?, Never>) in
          if begun != nil || state == .closed {
            unsafe continuation.resume(returning: begun)
            begun = nil
          } else {
            unsafe waiting = continuation
          }
        }
      }
      guard let exchange = next else { return }
      await listener.handler(exchange)
      if !exchange.finishAtOnce() { await exchange.finish() }
      parameters.clear()
      finished(keeps: exchange.keeps)
    }
  }

  /// Records that the body has been read completely.
  func bodyIsRead() {
    deadline?.cancel()
    deadline = nil
  }

  private func finished(keeps: Bool) {
    bodyIsRead()
    guard unsafe request.pointee.ipcFd >= 0 else { return end() }
    guard keeps else { return close() }
    state = .idle
    if isLookDue {
      isLookDue = false
      look()
    }
    if listener.isDraining { requestClose() }
  }

  /// An empty record of the error stream of request 1, the number that nginx gives to every request.
  private static let emptyErrorRecord: [UInt8] = [1, 7, 0, 1, 0, 0, 0, 0]

  /// Asks the web server to close the connection, unless it has just sent a request.
  ///
  /// nginx closes an idle connection on which a byte arrives. If its next request has crossed the
  /// record, nginx skips the record, which is valid in any response. The request is then answered.
  /// If the worker closed the connection, that request could be lost.
  func requestClose() {
    guard state == .idle else { return }
    let record = Self.emptyErrorRecord
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    guard unsafe send(descriptor, record, record.count, flags) < 0, errno == EAGAIN else { return }
    // The web server has not read the last response yet.
    closeRetry = Timer(after: .milliseconds(100)) { [weak self] in self?.requestClose() }
  }

  // MARK: Ending

  /// Closes the connection at once.
  func close() {
    guard state != .closed else { return }
    watch?.cancel()
    watch = nil
    Glibc.close(descriptor)
    unsafe request.pointee.ipcFd = -1
    end()
  }

  private func end() {
    guard state != .closed else { return }
    state = .closed
    deadline?.cancel()
    closeRetry?.cancel()
    watch?.cancel()
    watch = nil
    unsafe FCGX_Free(request, 0)
    listener.forget(self)
    unsafe waiting?.resume(returning: nil)
    unsafe waiting = nil
  }
}
