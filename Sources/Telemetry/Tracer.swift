package import EventLoop
internal import Glibc

/// Begins and ends the spans of requests.
@EventLoop package final class Tracer {
  private let collector: Collector
  /// A new trace is sampled if its random number is below this; nil for all traces.
  private let threshold: UInt64?

  /// - Parameters:
  ///   - collector: the receiver of the spans.
  ///   - ratio: from 0 to 1: the share of requests without a caller's trace that have one.
  package init(_ collector: Collector, ratio: Double) {
    self.collector = collector
    let bounded = max(0, min(ratio, 1))
    threshold = bounded >= 1 ? nil : UInt64(bounded * 0x1p64)
  }

  /// Begins the span of a request.
  ///
  /// The caller decides about its own trace. Without one, the ratio decides.
  /// - Parameter caller: the place in the caller's trace; nil without a valid one.
  /// - Returns: the trace; nil if it is not sampled.
  package func begin(_ caller: TraceContext?) -> RequestTrace? {
    if let caller {
      return caller.isSampled ? RequestTrace(caller.trace, parent: caller.parent, collector) : nil
    }
    let low = UInt64.random(in: 1 ... .max)
    if let threshold, low >= threshold { return nil }
    return RequestTrace((UInt64.random(in: 1 ... .max), low), parent: 0, collector)
  }
}

/// The trace of a request, to which its statements belong.
@EventLoop package final class RequestTrace {
  private let trace: (high: UInt64, low: UInt64)
  private let parent: UInt64
  private let id = UInt64.random(in: 1 ... .max)
  private let collector: Collector
  private let start = EventLoop.now()
  /// The difference between the clock of this host and that of the loop.
  private let offset: UInt64

  /// The trace of the request that the current task answers; nil without one.
  @TaskLocal package static var current: RequestTrace?

  init(_ trace: (high: UInt64, low: UInt64), parent: UInt64, _ collector: Collector) {
    (self.trace, self.parent, self.collector) = (trace, parent, collector)
    offset = Self.unixTime &- start
  }

  /// The nanoseconds since 1970.
  static var unixTime: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The request, when it has been answered.
  package struct Request {
    package var method: String
    /// The route without values; nil if none matches.
    package var route: String?
    package var app: String?
    package var status: Int

    package init(method: String, route: String?, app: String?, status: Int) {
      (self.method, self.route, self.app, self.status) = (method, route, app, status)
    }
  }

  /// Ends the span of the request.
  ///
  /// - Source: OpenTelemetry's semantic conventions for HTTP servers. Paths and addresses are left out,
  ///   since they name users.
  package func end(_ request: Request) {
    var attributes: [(String, AttributeValue)] = [
      ("http.request.method", .text(request.method)),
      ("http.response.status_code", .number(request.status)),
    ]
    if let route = request.route { attributes.append(("http.route", .text(route))) }
    if let app = request.app { attributes.append(("dossier.app", .text(app))) }
    let hasFailed = request.status >= 500
    if hasFailed { attributes.append(("error.type", .text(String(request.status)))) }
    let name = request.route.map { "\(request.method) \($0)" } ?? request.method
    collector.add(
      TraceSpan(
        trace: trace, id: id, parent: parent, name: name, isServer: true, start: offset &+ start,
        end: offset &+ EventLoop.now(), attributes: attributes, hasFailed: hasFailed))
  }

  /// Adds the span of a statement that has ended now.
  ///
  /// - Parameters:
  ///   - name: the name of the statement.
  ///   - nanoseconds: its time.
  ///   - rows: the rows that it returned, or else changed.
  ///   - failure: the code of its error; nil if it succeeded.
  /// - Source: OpenTelemetry's semantic conventions for database clients.
  package func addStatement(
    _ name: StaticString, nanoseconds: UInt64, rows: Int, failure: String?
  ) {
    let name = "\(name)"
    var attributes: [(String, AttributeValue)] = [
      ("db.system.name", .text("postgresql")), ("db.query.summary", .text(name)),
      ("db.response.returned_rows", .number(rows)),
    ]
    if let failure {
      attributes.append(("db.response.status_code", .text(failure)))
      attributes.append(("error.type", .text(failure)))
    }
    let end = offset &+ EventLoop.now()
    collector.add(
      TraceSpan(
        trace: trace, id: .random(in: 1 ... .max), parent: id, name: name, isServer: false,
        start: end &- nanoseconds, end: end, attributes: attributes, hasFailed: failure != nil))
  }
}

/// A span that has ended.
struct TraceSpan: Sendable {
  let trace: (high: UInt64, low: UInt64)
  let id: UInt64
  /// 0 for the first span of a trace.
  let parent: UInt64
  let name: String
  /// Whether it is that of a request, and not of a statement.
  let isServer: Bool
  /// Nanoseconds since 1970.
  let start: UInt64
  let end: UInt64
  let attributes: [(String, AttributeValue)]
  let hasFailed: Bool

  /// Appends it as a message `Span`.
  func encode(to writer: inout ProtobufWriter) {
    writer.append(1, Self.bytes(trace.high) + Self.bytes(trace.low))
    writer.append(2, Self.bytes(id))
    if parent != 0 { writer.append(4, Self.bytes(parent)) }
    writer.string(5, name)
    // SPAN_KIND_SERVER or SPAN_KIND_CLIENT.
    writer.integer(6, isServer ? 2 : 3)
    writer.fixed(7, start)
    writer.fixed(8, end)
    for (name, value) in attributes { writer.attribute(9, name, value) }
    // STATUS_CODE_ERROR.
    if hasFailed { writer.message(15) { $0.integer(3, 2) } }
    // The flag `sampled`; and whether the parent is in another process, which is known.
    writer.fixed32(16, isServer && parent != 0 ? 0x301 : 0x101)
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
  }
}
