internal import CCurl
internal import EventLoop
internal import Glibc

/// Transfers of one kind, which libcurl's multi interface runs on the loop.
///
/// They share kept connections and resolved names with no other group. So a connection that one kind
/// of transfer may open is never used by another kind with other rules. libcurl resolves names on
/// threads of its own, so a slow name server does not hold the loop.
@safe @EventLoop final class TransferGroup {
  private let multi: UnsafeMutableRawPointer
  private var watches: [Int32: Watch] = [:]
  private var timer: Timer?
  private var underWay: [UnsafeMutableRawPointer: Transfer] = unsafe [:]

  /// Initializes libcurl once per process.
  nonisolated private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// - Parameter connections: the number of connections that are kept for later transfers.
  init(keeping connections: Int) {
    precondition(Self.isReady, "libcurl cannot be initialised")
    guard let multi = unsafe curl_multi_init() else { preconditionFailure("no memory for libcurl") }
    unsafe self.multi = unsafe multi
    // OpenSSL writes to sockets that the receiver has closed. So the loop's thread blocks SIGPIPE.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let codes = unsafe [
      CCurl_multi_set_watch(multi, Self.onInterest), CCurl_multi_set_timer(multi, Self.onDelay),
      CCurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context),
      CCurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context),
      CCurl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, connections),
    ]
    precondition(codes.allSatisfy { $0 == CURLM_OK }, "libcurl refuses an option")
  }

  /// Closes the kept connections; no transfer is under way, since each retains its group.
  isolated deinit {
    timer?.cancel()
    unsafe CCurl_multi_set_watch(multi, nil)
    unsafe CCurl_multi_set_timer(multi, nil)
    unsafe curl_multi_cleanup(multi)
  }

  /// Starts a transfer, whose `end` is called later.
  func start(_ transfer: Transfer) {
    unsafe underWay[transfer.easy] = transfer
    let code = unsafe curl_multi_add_handle(multi, transfer.easy)
    guard code != CURLM_OK else { return }
    unsafe underWay[transfer.easy] = nil
    transfer.end(CURLE_FAILED_INIT)
  }

  /// Removes a transfer that has ended; closes its connection if it was kept for the caller.
  func remove(_ transfer: Transfer) {
    unsafe curl_multi_remove_handle(multi, transfer.easy)
  }

  private func act(_ socket: Int32, _ events: Int32) {
    var count: Int32 = 0
    unsafe curl_multi_socket_action(multi, socket, events, &count)
    var code = CURLE_OK
    while let easy = unsafe CCurl_multi_next_ended(multi, &code) {
      unsafe underWay.removeValue(forKey: easy)?.end(code)
    }
  }

  // MARK: Callbacks of libcurl

  /// Watches a socket, as libcurl wants.
  ///
  /// If the kernel does not let it be watched, the transfer ends at its time-out.
  private func watch(_ socket: Int32, _ interest: Int32) {
    let events: Readiness
    switch interest {
    case CURL_POLL_IN: events = .read
    case CURL_POLL_OUT: events = .write
    case CURL_POLL_INOUT: events = .readOrWrite
    default:
      watches.removeValue(forKey: socket)?.cancel()
      return
    }
    guard let watch = watches[socket] else {
      watches[socket] = try? Watch(socket, for: events) { [unowned self] readiness in
        let isOver = readiness.overlaps(.hangUp)
        act(
          socket,
          (isOver || readiness.overlaps(.read) ? CURL_CSELECT_IN : 0)
            | (isOver || readiness.overlaps(.write) ? CURL_CSELECT_OUT : 0)
        )
      }
      return
    }
    try? watch.change(to: events)
  }

  private func schedule(_ milliseconds: Int) {
    timer?.cancel()
    timer =
      milliseconds < 0
      ? nil
      : Timer(after: .milliseconds(milliseconds)) { [unowned self] in
        act(CURL_SOCKET_TIMEOUT, 0)
      }
  }

  private static let onInterest: curl_socket_callback = { _, socket, interest, context, _ in
    guard let context = unsafe context else { return -1 }
    let group = unsafe Unmanaged<TransferGroup>.fromOpaque(context).takeUnretainedValue()
    EventLoop.assumeIsolated { group.watch(socket, interest) }
    return 0
  }

  private static let onDelay: curl_multi_timer_callback = { _, milliseconds, context in
    guard let context = unsafe context else { return -1 }
    let group = unsafe Unmanaged<TransferGroup>.fromOpaque(context).takeUnretainedValue()
    EventLoop.assumeIsolated { group.schedule(milliseconds) }
    return 0
  }
}

/// The time-outs and the trusted authorities for another machine.
package struct TransferTimeouts: Sendable {
  /// The time to connect, including the look-up of the name and the TLS handshake.
  package var connectTimeout: Duration
  /// The total time, including the connection.
  package var timeout: Duration
  /// A PEM file of the trusted certificate authorities; nil for the system's.
  package var authorities: String?

  /// Creates limits.
  ///
  /// - Parameters:
  ///   - connectTimeout: from one millisecond to a day.
  ///   - timeout: likewise.
  ///   - authorities: the path of a PEM file, or nil.
  package init(connectTimeout: Duration, timeout: Duration, authorities: String? = nil) {
    self.connectTimeout = connectTimeout
    self.timeout = timeout
    self.authorities = authorities
  }
}
