import Configuration
import Tenancy
import Runtime
import EventLoop
import Federation
import Glibc
import HTTP
import JSON
import Postgres
import WireKit

/// The log on standard output, with one JSON object per line.
enum Log {
  static func write(_ level: String, _ message: String) {
    var line = LogLines()
    line.begin(level)
    line.append("message", message)
    line.end()
    line.flush()
  }

  /// Writes an event of a log stream, and returns whether all of it was written.
  @EventLoop static func write(event: [UInt8], of stream: String) -> Bool {
    // Before it, so that lines are in the order of their times.
    flush()
    var line = LogLines()
    line.begin("info")
    line.append("stream", stream)
    line.append("event", json: event)
    line.end()
    return line.flush()
  }

  /// The lines of the requests answered in this turn of the loop.
  @EventLoop private static var lines = LogLines()

  /// The part of a client's address in the lines of requests.
  @EventLoop static var addresses = LoggedAddresses.off

  /// Logs a request, without secrets, and without personal data but the address by setting.
  ///
  /// The line is written together with others at the end of the turn.
  @EventLoop static func request(_ call: Call, status: Int, microseconds: UInt64, bytes: Int) {
    if lines.isEmpty { EventLoop.atEndOfTurn { flush() } }
    lines.begin(call.failure?.report == nil ? "info" : "error")
    lines.append("request", call.request.id.description)
    lines.append("route", call.endpoint?.name ?? "none")
    lines.append("status", status)
    lines.append("duration_us", Int(microseconds))
    lines.append("db_duration_us", Int(call.context.databaseNanoseconds / 1_000))
    lines.append("bytes", bytes)
    if let user = call.context.principal.user { lines.append("user", user.text) }
    if let client = call.client { lines.append("client", client.id.text) }
    if addresses != .off { appendAddress(of: call) }
    if let use = call.context.part(ConnectionUse.self) {
      lines.append("connection", use.connection)
      lines.append("outcome", use.outcome.rawValue)
    }
    if let failure = call.failure {
      let kind = failure.type.kind
      if kind == .unauthenticated || kind == .forbidden {
        lines.append("refused", failure.detail ?? failure.type.title)
      }
      if let report = failure.report { lines.append("error", report) }
    }
    if let remark = call.context.remark { lines.append("remark", remark) }
    lines.end()
  }

  @EventLoop private static func appendAddress(of call: Call) {
    // The context has no address after the answer.
    let address = ClientAddress(call.request.address)
    guard let text = addresses == .full ? address.text : address.truncatedText else { return }
    lines.append("address", text)
  }

  /// The id of the request that the current task answers; nil for work of the server.
  ///
  /// Set only if statements are logged.
  @TaskLocal static var requestID: String?

  /// Observes a statement that is sent now, and logs its outcome with the id of the request.
  @EventLoop static func observeStatement() -> StatementReceiver {
    let id = requestID
    return { statement($0, of: id) }
  }

  /// Logs a statement, without its parameters.
  @EventLoop private static func statement(_ report: StatementReport, of request: String?) {
    if lines.isEmpty { EventLoop.atEndOfTurn { flush() } }
    lines.begin("debug")
    if let request { lines.append("request", request) }
    lines.append("statement", "\(report.name)")
    lines.append("duration_us", Int(report.nanoseconds / 1_000))
    lines.append("rows", report.rows)
    if let failure = report.failure { lines.append("state", failure.rawValue) }
    lines.end()
  }

  /// Writes the buffered lines.
  @EventLoop static func flush() { lines.flush() }
}

/// A reusable buffer of log lines.
private struct LogLines {
  private var bytes: [UInt8] = []
  /// The start of the current line.
  private var start = 0
  /// The second of the last line, whose start is reused within the second.
  private var second = 0
  private var opening: [UInt8] = []
  private static let pid = Int(getpid())
  /// The number of bytes that a pipe takes atomically, so that lines of several workers do not mix.
  private static let most = 4_096

  var isEmpty: Bool { bytes.isEmpty }

  mutating func begin(_ level: String) {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    if time.tv_sec != second {
      second = time.tv_sec
      opening = Array("{\"time\":\(second).".utf8)
    }
    start = bytes.count
    bytes.append(contentsOf: opening)
    let millisecond = time.tv_nsec / 1_000_000
    for unit in [100, 10, 1] { bytes.append(UInt8(ascii: "0") + UInt8(millisecond / unit % 10)) }
    append("level", level)
    append("pid", Self.pid)
  }

  mutating func append(_ name: StaticString, _ value: String) {
    append(name)
    if value.utf8.allSatisfy(Self.isPlain) {
      bytes.append(UInt8(ascii: "\""))
      bytes.append(contentsOf: value.utf8)
      bytes.append(UInt8(ascii: "\""))
    } else {
      bytes.append(contentsOf: JSON.string(value).serialized())
    }
  }

  mutating func append(_ name: StaticString, json value: [UInt8]) {
    append(name)
    bytes.append(contentsOf: value)
  }

  mutating func append(_ name: StaticString, _ value: Int) {
    append(name)
    var unit = 1
    while value / unit >= 10 { unit *= 10 }
    while unit > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(value / unit % 10))
      unit /= 10
    }
  }

  /// Ends a line.
  ///
  /// Writes the earlier lines first if all of them do not fit one write.
  mutating func end() {
    bytes.append(contentsOf: [UInt8(ascii: "}"), UInt8(ascii: "\n")])
    guard bytes.count > Self.most, start > 0 else { return }
    let line = Array(bytes[start...])
    bytes.removeSubrange(start...)
    flush()
    bytes.append(contentsOf: line)
    start = 0
  }

  /// Writes the lines, and returns whether all of them were written.
  @discardableResult mutating func flush() -> Bool {
    let count = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
    let isWhole = count == bytes.count
    bytes.removeAll(keepingCapacity: true)
    return isWhole
  }

  private mutating func append(_ name: StaticString) {
    bytes.append(UInt8(ascii: ","))
    bytes.append(UInt8(ascii: "\""))
    bytes.append(
      contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    )
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// Returns whether a byte needs no escape in a JSON string.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }
}
