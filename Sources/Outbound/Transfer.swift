internal import CCurl
internal import EventLoop
internal import Glibc

/// One use of libcurl's easy interface, made, run and ended by one job of a `BlockingPool`.
///
/// Nothing comes from the environment or a home folder: no proxy, no netrc, no protocol that the
/// caller does not name, no redirect. TLS is 1.2 or later and verified. The handle is not kept: what
/// Dossier says to others is rare, and a connection kept would have to be watched.
@safe struct Transfer: ~Copyable {
  private let easy: UnsafeMutableRawPointer
  /// Where libcurl writes why it failed.
  private let words: UnsafeMutablePointer<CChar>
  private let deadline: Deadline
  /// The first option that this libcurl refused; it must not run without.
  private var refused: CURLcode?

  /// Once a process, before the first handle; libcurl 7.84 and later may be called from any thread.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Prepares a transfer.
  ///
  /// - Parameters:
  ///   - url: without NUL.
  ///   - protocols: names of libcurl's, separated by commas.
  ///   - reach: time-outs, and whom to trust.
  init(url: String, protocols: String, reach: Reach) {
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
      // The system's folder of authorities would be trusted too.
      note(unsafe CCurl_set_text(easy, CURLOPT_CAPATH, nil))
    }
    set(CURLOPT_CONNECTTIMEOUT_MS, reach.connectTimeout.milliseconds)
    set(CURLOPT_TIMEOUT_MS, reach.timeout.milliseconds)
    // Time-outs without SIGALRM, and without waiting for a name that does not resolve.
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_QUICK_EXIT, 1)
    let deadline = unsafe Unmanaged.passUnretained(deadline).toOpaque()
    note(unsafe CCurl_set_progress(easy, Deadline.hasPassed))
    note(unsafe CCurl_set_pointer(easy, CURLOPT_XFERINFODATA, deadline))
    set(CURLOPT_NOPROGRESS, 0)
    // Else the farewell is said when the handle ends, which asks nobody.
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

  /// Sets a list that lives longer than the run.
  mutating func set(_ option: CURLoption, _ list: borrowing TextList) {
    note(unsafe CCurl_set_pointer(easy, option, list.first))
  }

  /// Has `function` called with `context`, which must live longer than the run.
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

  /// Has `function` open the sockets, with `context`, which must live longer than the run.
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

  /// Runs it to its end, within the time-out.
  ///
  /// - Returns: why it failed; nil when it did not.
  borrowing func run() -> TransferFailure? {
    if let refused { return TransferFailure(code: refused, reason: "libcurl refuses an option") }
    // Without signals libcurl leaves SIGPIPE to us. It stays blocked: the thread is the pool's.
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

  /// The status of an HTTP answer.
  var status: Int {
    var status = 0
    unsafe CCurl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
    return status
  }

  /// All values of a field of an HTTP answer, joined by commas; nil when there is none.
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

/// When a transfer must have ended.
///
/// libcurl's own time-out does not hold for the farewell: after it, a QUIT is sent and its answer
/// awaited for two minutes (seen with a relay that was silent after DATA). What is asked for the
/// progress, at least once a second, ends that too.
private final class Deadline {
  private let moment: UInt64

  init(after timeout: Duration) { moment = EventLoop.now() &+ timeout.nanoseconds }

  static let hasPassed: curl_xferinfo_callback = { context, _, _, _, _ in
    guard let context = unsafe context else { return 1 }
    let deadline = unsafe Unmanaged<Deadline>.fromOpaque(context).takeUnretainedValue()
    return EventLoop.now() > deadline.moment ? 1 : 0
  }
}

/// Why a transfer failed, in libcurl's number and words.
struct TransferFailure {
  let code: CURLcode
  let reason: String
}

/// A list of texts as libcurl has it.
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
  /// Whole milliseconds, at least one: none would mean "for ever" to libcurl.
  fileprivate var milliseconds: Int {
    let (seconds, attoseconds) = components
    let total = Double(seconds) * 1_000 + Double(attoseconds) / 1e15
    return Int(min(max(total, 1), 86_400_000))
  }
}
