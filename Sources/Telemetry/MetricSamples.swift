import Encoding

/// The samples of a text in Prometheus's format.
///
/// - Source: Prometheus exposition formats, text version 0.0.4.
package struct MetricSamples: Sendable {
  package struct Sample: Sendable {
    package let name: String
    package let labels: [(name: String, value: String)]
    package let value: Double

    package subscript(_ label: String) -> String? {
      labels.first { $0.name.utf8.elementsEqual(label.utf8) }?.value
    }
  }

  package private(set) var samples: [Sample] = []

  /// The most samples of a text.
  package static let most = 50_000

  /// Parses a text; nil for one that is not in the format, or has too many samples.
  package init?(_ text: [UInt8]) {
    for line in text.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      guard samples.count < Self.most, let sample = Self.sample(line) else { return nil }
      samples.append(sample)
    }
  }

  /// Returns the sum of the values of a metric, over all samples that fit.
  package func sum(
    of name: String, where fits: (Sample) -> Bool = { _ in true }
  ) -> Double {
    samples.reduce(0) { $1.name.utf8.elementsEqual(name.utf8) && fits($1) ? $0 + $1.value : $0 }
  }

  /// Returns the samples of a metric.
  package func all(of name: String) -> [Sample] {
    samples.filter { $0.name.utf8.elementsEqual(name.utf8) }
  }

  private static func sample(_ line: ArraySlice<UInt8>) -> Sample? {
    var rest = line
    let name = word(&rest)
    guard !name.isEmpty else { return nil }
    var labels: [(name: String, value: String)] = []
    if rest.first == UInt8(ascii: "{") {
      rest.removeFirst()
      while rest.first != UInt8(ascii: "}") {
        let label = word(&rest)
        guard !label.isEmpty, labels.count < 32, rest.starts(with: "=\"".utf8) else { return nil }
        rest.removeFirst(2)
        guard let value = quoted(&rest) else { return nil }
        labels.append((label, value))
        guard rest.first == UInt8(ascii: ",") else { break }
        rest.removeFirst()
      }
      guard rest.popFirst() == UInt8(ascii: "}") else { return nil }
    }
    guard rest.popFirst() == UInt8(ascii: " "), let text = rest.split(separator: 0x20).first,
      let value = Double(String(decoding: text, as: UTF8.self))
    else { return nil }
    return Sample(name: name, labels: labels, value: value)
  }

  /// Takes a name of a metric or of a label.
  private static func word(_ rest: inout ArraySlice<UInt8>) -> String {
    let end = rest.firstIndex { !$0.isLetterOrDigit && $0 != UInt8(ascii: "_") } ?? rest.endIndex
    defer { rest = rest[end...] }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// Takes the value of a label with its closing quote; nil without one.
  private static func quoted(_ rest: inout ArraySlice<UInt8>) -> String? {
    var value: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        value.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "n"): value.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "\\"): value.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "\""): value.append(UInt8(ascii: "\""))
      default: return nil
      }
    }
    return nil
  }
}
