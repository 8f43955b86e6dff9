internal import CCurl
internal import EventLoop
internal import Glibc

/// One HTTP request.
@EventLoop enum Fetch {
  static func run(
    _ call: HTTPCall, _ settings: HTTPSourceSettings, in group: TransferGroup
  ) async -> Result<HTTPAnswer, FetchError> {
    let intake = Intake(settings)
    let transfer = Transfer(
      url: call.url, protocols: settings.allowsPlainHTTP ? "https,http" : "https",
      reach: settings.reach
    )
    transfer.set(
      CURLOPT_HTTPHEADER, TextList(call.allFields.map { "\($0.name): \($0.value)" }))
    transfer.set(CURLOPT_USERAGENT, "Dossier")
    // One request a connection, so that a stalled one holds up no other.
    transfer.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    if let body = call.form ?? call.json { transfer.set(CURLOPT_COPYPOSTFIELDS, body) }
    if let bytes = call.bytes { transfer.post(bytes.body) }
    transfer.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    // Checks Content-Length. `Intake` counts the bytes of a body without it.
    if call.readsBody { transfer.set(CURLOPT_MAXFILESIZE_LARGE, settings.limit) }
    unsafe transfer.set(CURLOPT_WRITEFUNCTION, receive, CURLOPT_WRITEDATA, intake)
    unsafe transfer.set(CURLOPT_HEADERFUNCTION, receiveHead, CURLOPT_HEADERDATA, intake)
    unsafe transfer.open(openSocket, intake)
    if let failure = await transfer.run(in: group) {
      let error = error(failure, intake)
      let isAnswered = error == .tooLarge(limit: settings.limit) && !call.readsBody
      guard isAnswered else { return .failure(error) }
    }
    let lifetime = Freshness.lifetime(
      cacheControl: transfer.field("Cache-Control"), expires: transfer.field("Expires"),
      date: transfer.field("Date"), age: transfer.field("Age")
    )
    return .success(
      HTTPAnswer(
        status: transfer.status, body: intake.body, contentType: transfer.field("Content-Type"),
        lifetime: lifetime, date: Freshness.time(transfer.field("Date")),
        retryAfter: Freshness.pause(
          transfer.field("Retry-After"), date: transfer.field("Date")),
        location: transfer.field("Location")
      ))
  }

  private static func error(_ failure: TransferFailure, _ intake: Intake) -> FetchError {
    switch failure.code {
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_LOGIN_DENIED:
      .invalidURL(failure.reason)
    case CURLE_FILESIZE_EXCEEDED: .tooLarge(limit: intake.settings.limit)
    case CURLE_WRITE_ERROR where intake.isHeadOver: .tooLarge(limit: Intake.headLimit)
    case CURLE_WRITE_ERROR where intake.isOver: .tooLarge(limit: intake.settings.limit)
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
      .untrusted(failure.reason)
    case CURLE_COULDNT_CONNECT where intake.hasRefusedAddress: .privateAddress
    default: .unreachable(failure.reason)
    }
  }

  nonisolated private static let receive: CCurlBytes = { bytes, _, count, context in
    guard let context = unsafe context, let bytes = unsafe bytes else { return 0 }
    let intake = unsafe Unmanaged<Intake>.fromOpaque(context).takeUnretainedValue()
    let kept = min(count, intake.settings.limit - intake.body.count)
    unsafe UnsafeRawBufferPointer(start: bytes, count: kept).withMemoryRebound(to: UInt8.self) {
      unsafe intake.body.append(contentsOf: $0)
    }
    guard kept == count else {
      intake.isOver = true
      return 0
    }
    return count
  }

  nonisolated private static let receiveHead: CCurlBytes = { _, _, count, context in
    guard let context = unsafe context else { return 0 }
    let intake = unsafe Unmanaged<Intake>.fromOpaque(context).takeUnretainedValue()
    intake.headCount += count
    guard intake.headCount <= Intake.headLimit else {
      intake.isHeadOver = true
      return 0
    }
    return count
  }

  nonisolated private static let openSocket: CCurlOpen = { context, _, target in
    guard let context = unsafe context, let target = unsafe target else { return CURL_SOCKET_BAD }
    let intake = unsafe Unmanaged<Intake>.fromOpaque(context).takeUnretainedValue()
    let address = unsafe CCurl_address(target).flatMap { unsafe IPAddress($0) }
    guard let address, intake.settings.allows(address) else {
      intake.hasRefusedAddress = true
      return CURL_SOCKET_BAD
    }
    let (family, kind) = unsafe (target.pointee.family, target.pointee.socktype)
    return unsafe socket(family, kind | Int32(SOCK_CLOEXEC.rawValue), target.pointee.protocol)
  }

  /// The data that libcurl's callbacks collect.
  private final class Intake {
    let settings: HTTPSourceSettings
    var body: [UInt8] = []
    var isOver = false
    /// The bytes of all header fields so far.
    var headCount = 0
    var isHeadOver = false
    var hasRefusedAddress = false
    static let headLimit = 65_536

    init(_ settings: HTTPSourceSettings) { self.settings = settings }
  }
}

/// The freshness lifetime of a response, computed from its fields.
package enum Freshness {
  /// Returns the remaining lifetime of a response when it arrives.
  ///
  /// `Cache-Control` takes precedence over `Expires`. `no-store`, `no-cache` and malformed values
  /// mean zero.
  /// - Parameters:
  ///   - cacheControl: the values of the field, joined by commas; likewise the others.
  ///   - expires: a date, compared with `date`.
  ///   - date: the time of the response; nil for now.
  ///   - age: the seconds that the response has spent in caches.
  /// - Returns: at most a year; nil if the fields do not state a lifetime.
  /// - Source: RFC 9111 §4.2, §5.2.2, §5.3.
  package static func lifetime(
    cacheControl: String?, expires: String?, date: String?, age: String?
  ) -> Duration? {
    guard let stated = stated(cacheControl, expires: expires, date: date) else { return nil }
    let spent = age.flatMap { Int($0) } ?? 0
    // Both values come from another machine, so clamp them before the subtraction.
    return .seconds(max(0, min(stated, 31_536_000) - min(max(0, spent), 31_536_000)))
  }

  private static func stated(_ cacheControl: String?, expires: String?, date: String?) -> Int? {
    var shortest: Int?
    for directive in (cacheControl ?? "").split(separator: ",") {
      let parts = directive.split(separator: "=", maxSplits: 1).map { part in
        part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
      }
      switch parts.first {
      case "no-store", "no-cache": return 0
      case "max-age":
        // A number beyond the range of integers means no limit. Other text is an error and means
        // zero.
        let digits = parts.count == 2 ? parts[1] : ""
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let seconds = isNumber ? Int(digits) ?? .max : 0
        shortest = min(shortest ?? .max, seconds)
      default: break
      }
    }
    if let shortest { return shortest }
    guard let expires else { return nil }
    let end = unsafe curl_getdate(expires, nil)
    return end < 0 ? 0 : end - (Self.time(date) ?? Glibc.time(nil))
  }

  /// Returns the pause that `Retry-After` asks for, at most a day; nil without a valid value.
  ///
  /// - Parameters:
  ///   - value: seconds, or a date that is compared with `date`.
  ///   - date: the time of the response; nil for now.
  /// - Returns: the pause.
  /// - Source: RFC 9110 section 10.2.3.
  package static func pause(_ value: String?, date: String?) -> Duration? {
    guard let value else { return nil }
    let seconds: Int
    if !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      seconds = Int(value) ?? .max
    } else if let end = time(value) {
      seconds = end - min(end, max(0, time(date) ?? Glibc.time(nil)))
    } else {
      return nil
    }
    return .seconds(min(seconds, 86_400))
  }

  /// Returns a date in seconds since 1970; nil without a valid one.
  static func time(_ date: String?) -> Int? {
    let time = date.map { unsafe curl_getdate($0, nil) } ?? -1
    return time < 0 ? nil : time
  }
}

/// The error of a fetch.
///
/// Texts are libcurl's, for a log; they may name the host.
package enum FetchError: Error, Equatable {
  /// The URL is malformed, has a scheme that is not allowed, or contains a password.
  case invalidURL(String)
  /// The form is not encoded: it has a character that is not visible ASCII.
  case invalidForm
  /// The value of this header field is empty, too long, or has a character that is neither a space
  /// nor visible ASCII.
  case invalidField(String)
  /// All addresses of the host are private, loopback or reserved.
  case privateAddress
  /// The host is unknown, the connection failed, or it was lost.
  case unreachable(String)
  /// The certificate is not trusted for this host.
  case untrusted(String)
  /// The response was not complete within the time-outs.
  case timedOut
  /// The body is larger than the limit, in bytes.
  case tooLarge(limit: Int)
  /// The answer is a redirect, which is not followed; nil without a target.
  case redirected(to: String?)
  /// The status is neither a success nor a redirect.
  case status(Int)
  /// The document is not of the format that the caller reads.
  case malformed
  /// Too many requests of this app, to this receiver or of all wait; no request was sent.
  case overloaded
}

extension FetchError {
  /// The failure in one word, which names no address and no host.
  package var word: String {
    switch self {
    case .invalidURL, .invalidForm, .invalidField: "invalid_url"
    case .privateAddress: "address_not_allowed"
    case .unreachable, .redirected, .status, .malformed: "unreachable"
    case .untrusted: "untrusted_certificate"
    case .timedOut: "timed_out"
    case .tooLarge: "answer_too_large"
    case .overloaded: "overloaded"
    }
  }
}
