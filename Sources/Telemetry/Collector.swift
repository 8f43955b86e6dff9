package import EventLoop
import Outbound

/// Sends spans and metrics to a collector of OpenTelemetry.
///
/// Spans wait in a queue, and one request at a time sends a batch of them. If the queue is full, or the
/// collector refuses a batch, the spans are dropped and counted.
/// - Source: OTLP 1.x over HTTP, with Protobuf.
@EventLoop package final class Collector {
  private let settings: CollectorSettings
  private let source: HTTPSource
  private let resource: [(String, String)]
  private let report: @EventLoop (Report) -> Void
  private var waiting: [TraceSpan] = []
  private var isSending = false
  private var timer: Timer?
  /// Whether the last request has failed, which is reported once for each signal.
  private var isAway: Set<String> = []

  /// A report for the metrics and the log.
  package enum Report: Sendable {
    case dropped(Int)
    case failed(String)
  }

  /// The most spans that wait, and those of a request.
  nonisolated static let (most, batch) = (2_048, 512)
  private static let interval = Duration.seconds(1)

  /// - Parameters:
  ///   - settings: the endpoint.
  ///   - resource: the attributes of this process.
  ///   - report: receives reports.
  package init(
    _ settings: CollectorSettings, resource: [(String, String)],
    report: @escaping @EventLoop (Report) -> Void
  ) {
    (self.settings, self.resource, self.report) = (settings, resource, report)
    source = HTTPSource(settings.source)
  }

  /// Adds a span, or drops it if too many wait.
  func add(_ span: TraceSpan) {
    guard waiting.count < Self.most else { return report(.dropped(1)) }
    waiting.append(span)
    if waiting.count >= Self.batch {
      sendSpans()
    } else if timer == nil {
      timer = Timer(after: Self.interval) { [unowned self] in
        timer = nil
        sendSpans()
      }
    }
  }

  private func sendSpans() {
    guard !isSending, !waiting.isEmpty else { return }
    isSending = true
    let spans = Array(waiting.prefix(Self.batch))
    waiting.removeFirst(spans.count)
    EventLoop.task { [self] in
      if await !post(message(of: spans), to: "traces") { report(.dropped(spans.count)) }
      isSending = false
      // Those that have come meanwhile wait for no timer, if they fill a batch.
      if waiting.count >= Self.batch {
        sendSpans()
      } else if !waiting.isEmpty, timer == nil {
        timer = Timer(after: Self.interval) { [unowned self] in
          timer = nil
          sendSpans()
        }
      }
    }
  }

  /// Sends metrics.
  package func send(_ metrics: [MetricFamily], since start: UInt64) async {
    var writer = ProtobufWriter()
    let now = RequestTrace.unixTime
    envelope(&writer) { scope in
      for metric in metrics {
        scope.message(2) { metric.encode(to: &$0, since: start, at: now) }
      }
    }
    _ = await post(writer.bytes, to: "metrics")
  }

  private func message(of spans: [TraceSpan]) -> [UInt8] {
    var writer = ProtobufWriter()
    envelope(&writer) { scope in
      for span in spans { scope.message(2) { span.encode(to: &$0) } }
    }
    return writer.bytes
  }

  /// Appends the resource and the scope, which the messages of both signals have in the same fields.
  private func envelope(_ writer: inout ProtobufWriter, _ body: (inout ProtobufWriter) -> Void) {
    writer.message(1) { all in
      all.message(1) { for (name, value) in resource { $0.attribute(1, name, .text(value)) } }
      all.message(2) { scope in
        scope.message(1) { $0.string(1, "dossier") }
        body(&scope)
      }
    }
  }

  /// Returns whether the collector has accepted a message.
  private func post(_ bytes: [UInt8], to signal: String) async -> Bool {
    var call = HTTPCall(
      "\(settings.endpoint)/v1/\(signal)", bytes: bytes, type: "application/x-protobuf")
    call.accept = "application/x-protobuf"
    call.readsBody = false
    call.fields = settings.headers
    let failure: String
    do throws(FetchError) {
      let status = try await source.send(
        call, for: CallOwner(app: "", receiver: signal)
      ).status
      if (200...299).contains(status) {
        isAway.remove(signal)
        return true
      }
      failure = "status \(status)"
    } catch {
      failure = error.word
    }
    if isAway.insert(signal).inserted {
      report(.failed("the collector does not accept \(signal): \(failure)"))
    }
    return false
  }
}

/// The collector, as the operator sets it.
package struct CollectorSettings: Sendable {
  /// The URL to which `/v1/traces` and `/v1/metrics` are appended.
  let endpoint: String
  let headers: [(name: String, value: String)]
  let source: HTTPSourceSettings

  /// Creates the settings; nil if one of them is invalid.
  ///
  /// - Parameters:
  ///   - endpoint: an `http` or `https` URL without a query.
  ///   - headers: `name=value`, with commas between several.
  ///   - authorities: a file with trusted authorities; nil for those of the system.
  package init?(endpoint: String, headers: String, authorities: String?) {
    let isURL = ["http://", "https://"].contains { start in
      endpoint.utf8.starts(with: start.utf8) && endpoint.utf8.count > start.utf8.count
    }
    let isPlain = endpoint.utf8.allSatisfy {
      (0x21...0x7e).contains($0) && ![UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0)
    }
    guard isURL, isPlain, endpoint.utf8.count <= 1_024 else { return nil }
    self.endpoint = String(endpoint.hasSuffix("/") ? endpoint.dropLast() : endpoint[...])
    var fields: [(name: String, value: String)] = []
    for pair in headers.split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      let (name, value) = (Self.trimmed(parts[0]), Self.trimmed(parts[1]))
      guard !name.isEmpty, !value.isEmpty, value.utf8.allSatisfy({ (0x20...0x7e).contains($0) }),
        name.utf8.allSatisfy({ Self.isOfName($0) })
      else { return nil }
      fields.append((name, value))
    }
    self.headers = fields
    var source = HTTPSourceSettings()
    // The operator chooses the collector, which is often on the same host.
    (source.allowsPrivateAddresses, source.allowsPlainHTTP) = (true, true)
    source.reach.connectTimeout = .seconds(3)
    source.reach.timeout = .seconds(10)
    source.reach.authorities = authorities
    (source.limit, source.most, source.waiting, source.keptConnections) = (65_536, 2, 0, 2)
    (source.mostOfApp, source.mostOfReceiver) = (2, 1)
    self.source = source
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
