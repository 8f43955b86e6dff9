import CFastCGI
import CLinux
package import EventLoop
import Glibc

/// A listening socket and the web server's connections to it.
///
/// Connections stay open, and only the web server closes them. If the worker closed one, a request
/// that nginx sends at that moment would be lost.
@EventLoop package final class Listener {
  let settings: FastCGISettings
  let handler: @EventLoop (Exchange) async -> Void
  /// Shared by all connections: each peek finishes before the next one starts.
  let window = WindowBuffer()
  private let descriptor: Int32
  private var watch: Watch?
  private var kept: [ObjectIdentifier: Peer] = [:]
  /// The timer after which to accept again, set when no descriptor was left.
  private var pausing: Timer?
  private(set) var isDraining = false
  private var onDrained: (@EventLoop () -> Void)?

  /// Starts to accept connections.
  ///
  /// - Parameters:
  ///   - descriptor: a listening Unix or TCP socket, which the caller closes.
  ///   - settings: the limits.
  ///   - handler: answers one request, and runs for many at once. The exchange is finished when
  ///     it returns.
  /// - Throws: `.notListening` if the descriptor is not a listening socket.
  package init(
    _ descriptor: Int32, _ settings: FastCGISettings,
    _ handler: @escaping @EventLoop (Exchange) async -> Void
  ) throws(ListenerError) {
    guard Self.isListening(descriptor) else { throw .notListening(descriptor) }
    FCGX_Init()
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

  /// Accepts the queued connections and no later ones, and asks the web server to close all.
  ///
  /// It asks at once on an idle connection, and after the next response on any other. Requests that
  /// arrive meanwhile are answered. Calls `body` when the last connection is closed.
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
        // No descriptor or memory is left. Waiting connections would wake the loop again at once.
        if errno != EAGAIN { pause() }
        return
      }
      guard connection < 1_024, let peer = try? Peer(connection, self) else {
        Glibc.close(connection)
        continue
      }
      kept[ObjectIdentifier(peer)] = peer
      // The request may have arrived with the connection.
      peer.look()
    }
    // The limit is reached: do not wake for the next connection until there is room for it.
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
    // The kernel had no memory for the watch either.
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

/// The error of a listener that cannot accept connections.
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

/// The buffer for peeks at a socket.
@safe @EventLoop final class WindowBuffer {
  nonisolated(unsafe) let bytes = UnsafeMutableRawBufferPointer.allocate(
    byteCount: FastCGISettings.window, alignment: 8
  )

  deinit { unsafe bytes.deallocate() }
}
