/// A metric with its values, as OTLP has it.
package struct MetricFamily: Sendable {
  package enum Kind: Sendable {
    case gauge
    /// A sum that only increases.
    case counter
    case histogram
  }

  /// The values of a set of attributes.
  package struct Point: Sendable {
    package var attributes: [(String, String)]
    /// The value of a gauge or a counter; the sum of a histogram.
    package var value: Double
    /// The counts of a histogram between its bounds; the last one is above all bounds.
    package var buckets: [UInt64]
    package var bounds: [Double]

    package init(
      _ attributes: [(String, String)], value: Double, buckets: [UInt64] = [], bounds: [Double] = []
    ) {
      (self.attributes, self.value, self.buckets) = (attributes, value, buckets)
      self.bounds = bounds
    }
  }

  package let name: String
  package let kind: Kind
  package let help: String
  package var points: [Point] = []

  package init(_ name: String, _ kind: Kind, help: String) {
    (self.name, self.kind, self.help) = (name, kind, help)
  }

  /// Appends it as a message `Metric`.
  ///
  /// - Parameters:
  ///   - writer: the writer.
  ///   - start: when the counts began, in nanoseconds since 1970.
  ///   - now: the time of the values.
  func encode(to writer: inout ProtobufWriter, since start: UInt64, at now: UInt64) {
    writer.string(1, name)
    writer.string(2, help)
    let isTime = name.hasSuffix("_seconds") || name.hasSuffix("_seconds_total")
    writer.string(3, isTime ? "s" : "1")
    // The fields `gauge`, `sum` and `histogram`.
    let field =
      switch kind {
      case .gauge: 5
      case .counter: 7
      case .histogram: 9
      }
    writer.message(field) { data in
      for point in points {
        data.message(1) { encode(point, to: &$0, since: start, at: now) }
      }
      // AGGREGATION_TEMPORALITY_CUMULATIVE.
      if kind != .gauge { data.integer(2, 2) }
      if kind == .counter { data.integer(3, 1) }
    }
  }

  private func encode(
    _ point: Point, to writer: inout ProtobufWriter, since start: UInt64, at now: UInt64
  ) {
    if kind != .gauge { writer.fixed(2, start) }
    writer.fixed(3, now)
    guard kind == .histogram else {
      writer.double(4, point.value)
      for (name, value) in point.attributes { writer.attribute(7, name, .text(value)) }
      return
    }
    writer.fixed(4, point.buckets.reduce(0, &+))
    writer.double(5, point.value)
    writer.packed(6, point.buckets)
    writer.packed(7, point.bounds.map(\.bitPattern))
    for (name, value) in point.attributes { writer.attribute(9, name, .text(value)) }
  }
}
