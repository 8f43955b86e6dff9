@testable import Administration
import Encoding
@testable import Telemetry

extension FuzzTarget {
  /// The line of a ledger of erasures, which `dossier erase --replay` reads.
  static let erasures = FuzzTarget(
    "erasures",
    words: [
      "{\"user_id\":\"", "\",\"event_id\":\"", "\",\"at\":\"2026-01-31T08:30:00Z\"",
      ",\"actor\":\"operator:ada\"}", "5eed00000000000000000001", "\\u0000", "\u{202e}",
    ],
    bound: MemoryBound(factor: 400, base: 262_144)
  ) { input in
    guard let erasure = Erasure(line: input) else { return }
    let line = erasure.line
    expect(line.last == UInt8(ascii: "\n"), "a line without its end")
    expect(!line.dropLast().contains(UInt8(ascii: "\n")), "a line with two ends")
    expect(Erasure(line: Array(line.dropLast())) == erasure, "a line does not read back")
  }

  /// The metrics that `dossier top` reads.
  static let metricSamples = FuzzTarget(
    "metric-samples",
    words: [
      "# HELP x y\n", "dossier_requests_total{route=\"GET /v1/me\",status_class=\"2xx\"} 12\n",
      "dossier_ready 1\n", "{", "}", "=\"", "\",", "\\\\", "\\\"", "\\n",
      " NaN\n", " +Inf\n", " 1e9\n",
    ],
    bound: MemoryBound(factor: 400, base: 262_144)
  ) { input in
    guard let samples = MetricSamples(input) else { return }
    expect(samples.samples.count <= MetricSamples.most, "more samples than the bound")
    for sample in samples.samples {
      expect(!sample.name.isEmpty, "a sample without a name")
      expect(samples.all(of: sample.name).count > 0, "a sample is not found")
    }
  }
}
