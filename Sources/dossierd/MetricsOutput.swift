import Telemetry

/// A form of metrics.
protocol MetricsOutput {
  /// Begins a metric family for the samples that follow, unless it has begun.
  mutating func family(_ name: String, _ type: String, _ help: String)
  mutating func sample(
    _ labels: [(String, String)], _ value: some CustomStringConvertible, suffix: String)
}

extension MetricsOutput {
  mutating func sample(_ labels: [(String, String)], _ value: some CustomStringConvertible) {
    sample(labels, value, suffix: "")
  }
}

/// A builder of Prometheus's text format.
///
/// - Source: Prometheus exposition formats, text version 0.0.4.
struct MetricsText: MetricsOutput {
  private(set) var text = ""
  private var family = ""

  /// Begins a metric family for the samples that follow, unless it has begun.
  mutating func family(_ name: String, _ type: String, _ help: String) {
    guard name != family else { return }
    family = name
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  mutating func sample(
    _ labels: [(String, String)], _ value: some CustomStringConvertible, suffix: String
  ) {
    let pairs = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
    text += family + suffix + (labels.isEmpty ? "" : "{\(pairs)}") + " \(value)\n"
  }
}

/// A collector of metric families for OpenTelemetry.
///
/// It makes one point of the samples that Prometheus has of a histogram, whose buckets count all
/// smaller values too.
struct MetricsData: MetricsOutput {
  private(set) var families: [MetricFamily] = []
  private var histogram = MetricFamily.Point([], value: 0)
  private var cumulative: UInt64 = 0

  mutating func family(_ name: String, _ type: String, _ help: String) {
    guard name != families.last?.name else { return }
    let kind: MetricFamily.Kind =
      switch type {
      case "histogram": .histogram
      case "counter": .counter
      default: .gauge
      }
    families.append(MetricFamily(name, kind, help: help))
  }

  mutating func sample(
    _ labels: [(String, String)], _ value: some CustomStringConvertible, suffix: String
  ) {
    let number = Double("\(value)") ?? 0
    switch suffix {
    case "_bucket":
      let count = UInt64(number)
      histogram.buckets.append(count &- cumulative)
      cumulative = count
      if let bound = labels.last.flatMap({ Double($0.1) }), bound.isFinite {
        histogram.bounds.append(bound)
      }
    case "_sum": histogram.value = number
    case "_count":
      histogram.attributes = labels
      add(histogram)
      (histogram, cumulative) = (MetricFamily.Point([], value: 0), 0)
    default: add(MetricFamily.Point(labels, value: number))
    }
  }

  private mutating func add(_ point: MetricFamily.Point) {
    families[families.count - 1].points.append(point)
  }
}
