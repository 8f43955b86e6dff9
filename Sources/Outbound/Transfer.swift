internal import CCurl
internal import EventLoop
internal import Glibc

/// One use of libcurl's easy interface within one job of a `BlockingPool`.
///
/// It uses nothing from the environment or a home folder. It uses no proxy, no netrc, no redirects,
/// and only the protocols that the caller names. TLS is 1.2 or later and verified. The handle is
/// not kept. Dossier's outbound requests are rare, and a kept connection would need supervision.
@safe struct Transfer: ~Copyable {
  private let easy: UnsafeMutableRawPointer
  /// The buffer for libcurl's error message.
  private let words: UnsafeMutablePointer<CChar>
  private let deadline: Deadline
  /// The first option that this libcurl refused; the transfer must not run without it.
  private var refused: CURLcode?

  /// Initializes libcurl once per process; libcurl 7.84 and later allow this on any thread.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Prepares a transfer.
  ///
  /// - Parameters:
  ///   - url: the URL, without NUL.
  ///   - protocols: libcurl's protocol names, separated by commas.
  ///   - reach: the time-outs and the trusted authorities.
  init(url: String, protocols: String, reach: TransferTimeouts) {
    precondition(Self.isReady, "libcurl cannot be initialised")
    guard let easy = unsafe curl_easy_init() else { preconditionFailure("no memory for libcurl") }
    unsafe self.easy = unsafe easy
    unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    deadline = Deadline(after: reach.timeout)
    note(unsafe CCurl_set_pointer(easy, CURLOPT_ERRORBUFFER, words))
    set(CURLOPT_URL, url)
    set(CURLOPT_PROTOCOLS_STR, protocols)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    if let authorities = reach.authorities {
      set(CURLOPT_CAINFO, authorities)
      // Otherwise libcurl would also trust the system's folder of authorities.
      note(unsafe CCurl_set_text(easy, CURLOPT_CAPATH, nil))
    }
    set(CURLOPT_CONNECTTIMEOUT_MS, reach.connectTimeout.milliseconds)
    set(CURLOPT_TIMEOUT_MS, reach.timeout.milliseconds)
    // Time-outs work without SIGALRM, and do not wait for a name that does not resolve.
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_QUICK_EXIT, 1)
    let deadline = unsafe Unmanaged.passUnretained(deadline).toOpaque()
    note(unsafe CCurl_set_progress(easy, Deadline.hasPassed))
    note(unsafe CCurl_set_pointer(easy, CURLOPT_XFERINFODATA, deadline))
    set(CURLOPT_NOPROGRESS, 0)
    // Otherwise libcurl would send QUIT when the handle is freed, without a check of the deadline.
    set(CURLOPT_FORBID_REUSE, 1)
  }

  deinit {
    unsafe curl_easy_cleanup(easy)
    unsafe words.deallocate()
  }

  // MARK: Options

  private mutating func note(_ code: CURLcode) {
    if code != CURLE_OK, refused == nil { refused = code }
  }

  mutating func set(_ option: CURLoption, _ value: Int) {
    note(unsafe CCurl_set_number(easy, option, value))
  }

  mutating func set(_ option: CURLoption, _ value: String) {
    note(unsafe CCurl_set_text(easy, option, value))
  }

  /// Sets a list that must outlive the transfer.
  mutating func set(_ option: CURLoption, _ list: borrowing TextList) {
    note(unsafe CCurl_set_pointer(easy, option, list.first))
  }

  /// Sets a callback with `context`, which must outlive the transfer.
  mutating func set(
    _ option: CURLoption,
    _ function: @escaping CCurlBytes,
    _ contextOption: CURLoption,
    _ context: AnyObject
  ) {
    note(unsafe CCurl_set_bytes(easy, option, function))
    note(
      unsafe CCurl_set_pointer(easy, contextOption, Unmanaged.passUnretained(context).toOpaque())
    )
  }

  /// Sets the callback that opens sockets, with `context`, which must outlive the transfer.
  mutating func open(_ function: @escaping CCurlOpen, _ context: AnyObject) {
    note(unsafe CCurl_set_open(easy, CURLOPT_OPENSOCKETFUNCTION, function))
    note(
      unsafe CCurl_set_pointer(
        easy,
        CURLOPT_OPENSOCKETDATA,
        Unmanaged.passUnretained(context).toOpaque()
      )
    )
  }

  // MARK: Running

  /// Runs the transfer to its end, within the time-out.
  ///
  /// - Returns: the failure, or nil.
  borrowing func run() -> TransferFailure? {
    if let refused { return TransferFailure(code: refused, reason: "libcurl refuses an option") }
    // Without signals, libcurl does not handle SIGPIPE. It stays blocked, since the thread is the
    // pool's.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    let code = unsafe curl_easy_perform(easy)
    guard code != CURLE_OK else { return nil }
    let reason = unsafe String(cString: words)
    return TransferFailure(
      code: code == CURLE_ABORTED_BY_CALLBACK ? CURLE_OPERATION_TIMEDOUT : code,
      reason: unsafe reason.isEmpty ? String(cString: curl_easy_strerror(code)) : reason
    )
  }

  /// The status of an HTTP response.
  var status: Int {
    var status = 0
    unsafe CCurl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
    return status
  }

  /// Returns all values of an HTTP response field, joined by commas; nil if it is absent.
  func field(_ name: String) -> String? {
    var values: [String] = []
    var header: UnsafeMutablePointer<curl_header>?
    let kind = UInt32(CURLH_HEADER)
    while unsafe curl_easy_header(easy, name, values.count, kind, -1, &header) == CURLHE_OK {
      guard let value = unsafe header?.pointee.value else { break }
      values.append(unsafe String(cString: value))
    }
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

/// The deadline of a transfer.
///
/// libcurl's own time-out does not cover the closing messages. After it, libcurl sends QUIT and
/// waits two minutes for the reply. This was seen with a relay that was silent after DATA. The
/// progress callback, which runs at least once a second, also ends that wait.
private final class Deadline {
  private let moment: UInt64

  init(after timeout: Duration) { moment = EventLoop.now() &+ timeout.nanoseconds }

  static let hasPassed: curl_xferinfo_callback = { context, _, _, _, _ in
    guard let context = unsafe context else { return 1 }
    let deadline = unsafe Unmanaged<Deadline>.fromOpaque(context).takeUnretainedValue()
    return EventLoop.now() > deadline.moment ? 1 : 0
  }
}

/// The failure of a transfer, with libcurl's code and message.
struct TransferFailure {
  let code: CURLcode
  let reason: String
}

/// A list of texts in libcurl's format.
@safe struct TextList: ~Copyable {
  fileprivate let first: UnsafeMutablePointer<curl_slist>?

  init(_ texts: [String]) {
    var first: UnsafeMutablePointer<curl_slist>?
    for text in texts { unsafe first = curl_slist_append(first, text) }
    unsafe self.first = first
  }

  deinit { unsafe curl_slist_free_all(first) }
}

extension Duration {
  /// Whole milliseconds, at least one: libcurl treats 0 as no limit.
  fileprivate var milliseconds: Int {
    let (seconds, attoseconds) = components
    let total = Double(seconds) * 1_000 + Double(attoseconds) / 1e15
    return Int(min(max(total, 1), 86_400_000))
  }
}
