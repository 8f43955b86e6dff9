import EventLoop
import TestSupport
import Testing

@testable import Telemetry

/// Tests the field `traceparent`, the settings of the collector and what it gets.
@Suite struct TelemetryTests {
  init() { LoopThread.start() }

  private func context(_ text: String) -> TraceContext? { TraceContext(Array(text.utf8).span) }

  private static let trace = "0af7651916cd43dd8448eb211c80319c"

  @Test func `a caller names its trace`() throws {
    let context = try #require(self.context("00-\(Self.trace)-b7ad6b7169203331-01"))
    #expect(context.trace.high == 0x0af7_6519_16cd_43dd)
    #expect(context.trace.low == 0x8448_eb21_1c80_319c)
    #expect(context.parent == 0xb7ad_6b71_6920_3331)
    #expect(context.isSampled)
    #expect(self.context("00-\(Self.trace)-b7ad6b7169203331-00")?.isSampled == false)
    // Only the last bit counts.
    #expect(self.context("00-\(Self.trace)-b7ad6b7169203331-fe")?.isSampled == false)
    // A later version appends parts.
    #expect(self.context("cc-\(Self.trace)-b7ad6b7169203331-01-what")?.isSampled == true)
    #expect(self.context("cc-\(Self.trace)-b7ad6b7169203331-01")?.isSampled == true)
  }

  @Test(arguments: [
    "", "00", "00-\(trace)-b7ad6b7169203331-01-", "00-\(trace)-b7ad6b7169203331-01 ",
    "ff-\(trace)-b7ad6b7169203331-01", "00-\(trace.uppercased())-b7ad6b7169203331-01",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-\(trace)-0000000000000000-01",
    "00-\(trace)-b7ad6b716920333-01", "00_\(trace)-b7ad6b7169203331-01",
    "00-\(trace)-b7ad6b7169203331-0g", "cc-\(trace)-b7ad6b7169203331-01x",
    "cc-\(trace)-b7ad6b7169203331-01-\(String(repeating: "x", count: 100))",
    "00-\(trace)-b7ad6b7169203331-01,00-\(trace)-b7ad6b7169203331-01",
  ])
  func `other values count for nothing`(text: String) {
    #expect(context(text) == nil)
  }

  @Test(arguments: [
    ("http://127.0.0.1:4318", ""), ("https://collector.example.com/otlp/", "api-key=a=b, x = y z"),
  ])
  func `settings are read`(endpoint: String, headers: String) throws {
    let settings = try #require(
      CollectorSettings(endpoint: endpoint, headers: headers, authorities: nil))
    #expect(!settings.endpoint.hasSuffix("/"))
    let fields = settings.headers.map { "\($0.name): \($0.value)" }
    #expect(fields == (headers.isEmpty ? [] : ["api-key: a=b", "x: y z"]))
  }

  @Test(arguments: [
    ("collector:4318", ""), ("http://", ""), ("ftp://a", ""), ("http://a b", ""),
    ("http://a?b", ""), ("http://a", "key"), ("http://a", "key="), ("http://a", "a b=c"),
    ("http://a", "a=\n"), ("http://a", "\u{e9}=b"),
  ])
  func `other settings are refused`(endpoint: String, headers: String) {
    let settings = CollectorSettings(endpoint: endpoint, headers: headers, authorities: nil)
    #expect(settings == nil)
  }

  @EventLoop private func collector(_ report: @escaping @EventLoop (Collector.Report) -> Void)
    throws -> Collector
  {
    // Nothing listens there.
    let settings = try #require(
      CollectorSettings(endpoint: "http://127.0.0.1:1", headers: "", authorities: nil))
    return Collector(settings, resource: [], report: report)
  }

  @Test @EventLoop func `spans beyond the queue are dropped and counted`() async throws {
    var (dropped, failures) = (0, 0)
    let collector = try collector { report in
      switch report {
      case .dropped(let count): dropped += count
      case .failed: failures += 1
      }
    }
    let trace = try #require(Tracer(collector, ratio: 1).begin(nil))
    let count = Collector.most + Collector.batch + 7
    for _ in 0..<count {
      trace.addStatement("users.show", nanoseconds: 1, rows: 1, failure: nil)
    }
    // One batch is under way.
    #expect(dropped == 7)
    while dropped < count { await EventLoop.sleep(for: .milliseconds(5)) }
    #expect(dropped == count)
    #expect(failures == 1)
  }

  @Test @EventLoop func `the ratio decides only without a caller's trace`() throws {
    let collector = try collector { _ in }
    let never = Tracer(collector, ratio: 0)
    let always = Tracer(collector, ratio: 1)
    let half = Tracer(collector, ratio: 0.5)
    let sampled = try #require(self.context("00-\(Self.trace)-b7ad6b7169203331-01"))
    let others = try #require(self.context("00-\(Self.trace)-b7ad6b7169203331-00"))
    for _ in 0..<100 {
      #expect(never.begin(nil) == nil)
      #expect(always.begin(nil) != nil)
      #expect(never.begin(sampled) != nil)
      #expect(always.begin(others) == nil)
    }
    let count = (0..<4_000).count { _ in half.begin(nil) != nil }
    #expect((1_500...2_500).contains(count))
  }
}
