import CFastCGI
import CLinux
package import EventLoop
import Glibc

/// A listening socket and the web server's connections to it.
///
/// Connections are kept, and only the web server closes them. If the worker closed one, a request that
/// nginx sends at that moment would be lost.
@EventLoop package final class Listener {
  let settings: FastCGISettings
  let handler: @EventLoop (Exchange) async -> Void
  /// One for all peers: a look at a socket ends before the loop turns to the next.
  let window = WindowBuffer()
  private let descriptor: Int32
  private var watch: Watch?
  private var kept: [ObjectIdentifier: Peer] = [:]
  /// Until it fires, no descriptor was left for a connection.
  private var pausing: Timer?
  private(set) var isDraining = false
  private var onDrained: (@EventLoop () -> Void)?

  /// - Parameters:
  ///   - descriptor: listening; Unix or TCP. It stays the caller's to close.
  ///   - settings: the limits.
  ///   - handler: answers one request; called for many at once. The exchange is finished when it
  ///     returns.
  /// - Throws: `.notListening` when the descriptor is not a socket that listens.
  package init(
    _ descriptor: Int32,
    _ settings: FastCGISettings,
    _ handler: @escaping @EventLoop (Exchange) async -> Void
  ) throws(ListenerError) {
    guard Self.isListening(descriptor) else { throw .notListening(descriptor) }
    FCGX_Init()
    // libfcgi's handler for it would do; none at all is cheaper.
    signal(SIGPIPE, SIG_IGN)
    self.descriptor = descriptor
    self.settings = settings
    self.handler = handler
    guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
      throw .system(EventLoopError(call: "fcntl", code: errno))
    }
    do throws(EventLoopError) {
      watch = try Watch(descriptor, for: .read) { [unowned self] _ in accept() }
    } catch {
      throw .system(error)
    }
  }

  private static func isListening(_ descriptor: Int32) -> Bool {
    var listens: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)
    return code == 0 && listens != 0
  }

  package var connections: Int { kept.count }

  /// Accepts the connections in the kernel's queue and no later ones, and asks the web server to close
  /// each connection: an idle one at once, any other after its next response.
  ///
  /// Requests that arrive meanwhile are answered. Calls `body` when the last connection is closed.
  package func drain(_ body: @escaping @EventLoop () -> Void) {
    guard !isDraining else { return }
    isDraining = true
    onDrained = body
    accept()
    watch?.cancel()
    watch = nil
    for peer in kept.values { peer.requestClose() }
    endIfDrained()
  }

  private func accept() {
    while kept.count < settings.connections || isDraining {
      let connection = accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
      guard connection >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        // No descriptor or no memory is left: what waits would wake the loop again at once.
        if errno != EAGAIN { pause() }
        return
      }
      guard connection < 1_024, let peer = try? Peer(connection, self) else {
        Glibc.close(connection)
        continue
      }
      kept[ObjectIdentifier(peer)] = peer
      // The request may have come with the connection.
      peer.look()
    }
    // Full: be woken for the next connection only when there is room for it.
    watch?.cancel()
    watch = nil
  }

  /// Accepts again after a moment, or when a connection has ended.
  private func pause() {
    watch?.cancel()
    watch = nil
    guard pausing == nil else { return }
    pausing = Timer(after: .milliseconds(100)) { [weak self] in
      self?.pausing = nil
      self?.resume()
    }
  }

  private func resume() {
    guard watch == nil, !isDraining, kept.count < settings.connections else { return }
    watch = try? Watch(descriptor, for: .read) { [unowned self] _ in accept() }
    // The kernel had no memory for that either.
    if watch == nil { pause() }
  }

  func forget(_ peer: Peer) {
    kept[ObjectIdentifier(peer)] = nil
    resume()
    endIfDrained()
  }

  private func endIfDrained() {
    guard isDraining, kept.isEmpty else { return }
    onDrained?()
    onDrained = nil
  }
}

/// Why nothing can be accepted.
package enum ListenerError: Error, CustomStringConvertible {
  case notListening(Int32)
  case system(EventLoopError)

  package var description: String {
    switch self {
    case .notListening(let descriptor): "descriptor \(descriptor) is not a listening socket"
    case .system(let error): error.description
    }
  }
}

/// Where a peek at a socket goes.
@safe @EventLoop final class WindowBuffer {
  nonisolated(unsafe) let bytes = UnsafeMutableRawBufferPointer.allocate(
    byteCount: FastCGISettings.window,
    alignment: 8
  )

  deinit { unsafe bytes.deallocate() }
}
