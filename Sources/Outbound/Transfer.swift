internal import CCurl
internal import EventLoop
internal import Glibc

/// One use of libcurl's easy interface, in a `TransferGroup`.
///
/// It uses nothing from the environment or a home folder. It uses no proxy, no netrc, no redirects,
/// and only the protocols that the caller names. TLS is 1.2 or later and verified.
@safe @EventLoop final class Transfer {
  let easy: UnsafeMutableRawPointer
  /// The buffer for libcurl's error message.
  private let words: UnsafeMutablePointer<CChar>
  /// The first option that this libcurl refused; the transfer must not run without it.
  private var refused: CURLcode?
  /// The objects to which libcurl has pointers.
  private var retained: [AnyObject] = []
  private var continuation: UnsafeContinuation<CURLcode, Never>?
  /// Whether the connection remains for the caller when the transfer has ended.
  private var keepsConnection = false
  private var group: TransferGroup?

  /// The system's authorities, as libcurl was built to find them.
  ///
  /// libcurl reads them once for each group, and only if they are one file without a folder.
  private static let authorities = unsafe curl_version_info(CURLVERSION_SEVENTH).flatMap {
    unsafe $0.pointee.cainfo.map { unsafe String(cString: $0) }
  }

  /// Prepares a transfer.
  ///
  /// - Parameters:
  ///   - url: the URL, without NUL.
  ///   - protocols: libcurl's protocol names, separated by commas.
  ///   - reach: the time-outs and the trusted authorities.
  init(url: String, protocols: String, reach: TransferTimeouts) {
    guard let easy = unsafe curl_easy_init() else { preconditionFailure("no memory for libcurl") }
    unsafe self.easy = unsafe easy
    unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    note(unsafe CCurl_set_pointer(easy, CURLOPT_ERRORBUFFER, words))
    set(CURLOPT_URL, url)
    set(CURLOPT_PROTOCOLS_STR, protocols)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    if let authorities = reach.authorities ?? Self.authorities {
      set(CURLOPT_CAINFO, authorities)
      note(unsafe CCurl_set_text(easy, CURLOPT_CAPATH, nil))
    }
    set(CURLOPT_CONNECTTIMEOUT_MS, reach.connectTimeout.milliseconds)
    set(CURLOPT_TIMEOUT_MS, reach.timeout.milliseconds)
    // Time-outs work without SIGALRM, and do not wait for a name that does not resolve.
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_QUICK_EXIT, 1)
  }

  isolated deinit {
    unsafe curl_easy_cleanup(easy)
    unsafe words.deallocate()
  }

  // MARK: Options

  private func note(_ code: CURLcode) {
    if code != CURLE_OK, refused == nil { refused = code }
  }

  func set(_ option: CURLoption, _ value: Int) {
    note(unsafe CCurl_set_number(easy, option, value))
  }

  func set(_ option: CURLoption, _ value: String) {
    note(unsafe CCurl_set_text(easy, option, value))
  }

  /// Sets the body of a POST, which libcurl copies.
  func post(_ body: [UInt8]) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, body.count)
    var body = body
    unsafe body.withUnsafeMutableBytes { bytes in
      note(unsafe CCurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress))
    }
  }

  func set(_ option: CURLoption, _ list: TextList) {
    retained.append(list)
    note(unsafe CCurl_set_pointer(easy, option, list.first))
  }

  /// Sets a callback with its context.
  func set(
    _ option: CURLoption, _ function: @escaping CCurlBytes, _ contextOption: CURLoption,
    _ context: AnyObject
  ) {
    note(unsafe CCurl_set_bytes(easy, option, function))
    note(unsafe CCurl_set_pointer(easy, contextOption, pointer(to: context)))
  }

  /// Sets the callback that opens sockets, with its context.
  func open(_ function: @escaping CCurlOpen, _ context: AnyObject) {
    note(unsafe CCurl_set_open(easy, CURLOPT_OPENSOCKETFUNCTION, function))
    note(unsafe CCurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, pointer(to: context)))
  }

  private func pointer(to context: AnyObject) -> UnsafeMutableRawPointer {
    retained.append(context)
    return unsafe Unmanaged.passUnretained(context).toOpaque()
  }

  // MARK: Running

  /// Runs the transfer to its end, within the time-out.
  ///
  /// - Returns: the failure, or nil.
  func run(in group: TransferGroup) async -> TransferFailure? {
    if let refused { return TransferFailure(code: refused, reason: "libcurl refuses an option") }
    self.group = group
    let code = await unsafe withUnsafeContinuation { continuation in
      unsafe self.continuation = continuation
      group.start(self)
    }
    if !keepsConnection || code != CURLE_OK { close() }
    guard code != CURLE_OK else { return nil }
    let reason = unsafe String(cString: words)
    return TransferFailure(
      code: code, reason: unsafe reason.isEmpty ? String(cString: curl_easy_strerror(code)) : reason
    )
  }

  /// Connects, with all steps that the protocol has before a request; the caller must `close` it.
  ///
  /// - Returns: the failure, or nil.
  func connect(in group: TransferGroup) async -> TransferFailure? {
    keepsConnection = true
    set(CURLOPT_CONNECT_ONLY, 1)
    return await run(in: group)
  }

  /// Closes a connection that `connect` has opened; does nothing if it is closed.
  func close() {
    group?.remove(self)
    group = nil
  }

  func end(_ code: CURLcode) {
    unsafe continuation?.resume(returning: code)
    unsafe continuation = nil
  }

  // MARK: The open connection

  /// The socket of the open connection; negative if it is lost.
  var socket: Int32 { unsafe CCurl_get_socket(easy) }

  /// Sends as much as the socket takes.
  ///
  /// - Returns: the number of bytes; nil if the connection is lost.
  func send(_ bytes: ArraySlice<UInt8>) -> Int? {
    var count = 0
    let code = unsafe bytes.withUnsafeBytes {
      unsafe curl_easy_send(easy, $0.baseAddress, $0.count, &count)
    }
    return code == CURLE_OK ? count : code == CURLE_AGAIN ? 0 : nil
  }

  /// Receives what has arrived.
  ///
  /// - Returns: the bytes, none if nothing has arrived; nil if the connection is lost.
  func receive() -> [UInt8]? {
    var (count, code) = (0, CURLE_OK)
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, initialized in
      code = unsafe curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
      initialized = code == CURLE_OK ? count : 0
    }
    return code == CURLE_AGAIN || code == CURLE_OK && count > 0 ? bytes : nil
  }

  // MARK: The response

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

/// The failure of a transfer, with libcurl's code and message.
struct TransferFailure: Sendable {
  let code: CURLcode
  let reason: String
}

/// A list of texts in libcurl's format.
@safe final class TextList {
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
