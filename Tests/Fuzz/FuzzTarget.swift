import JSON

/// One reader of what comes from outside, with what must hold of it whatever comes.
///
/// A target returns, or stops the process: that is a finding.
struct FuzzTarget: Sendable {
  let name: String
  /// Bytes of an input: enough for every rule to be met several times.
  let longest: Int
  /// Whether the lines of an input are JSON.
  let isJSON: Bool
  /// What mutations put in.
  let words: [String]
  let bound: MemoryBound?
  let run: @Sendable ([UInt8]) -> Void

  init(
    _ name: String,
    longest: Int = 4_096,
    isJSON: Bool = false,
    words: [String] = [],
    bound: MemoryBound? = nil,
    run: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.name = name
    self.longest = longest
    self.isJSON = isJSON
    self.words = words
    self.bound = bound
    self.run = run
  }

  /// Runs the target on an input, and looks at the memory that it took.
  func check(_ input: [UInt8]) {
    let used = Memory.peak { run(input) }
    guard let bound, used > bound.bytes(for: input.count) else { return }
    // The first to need a table, such as that of time zones, loads it for all; looked at again.
    let again = Memory.peak { run(input) }
    expect(
      again <= bound.bytes(for: input.count),
      "\(again) bytes were allocated for an input of \(input.count)"
    )
  }

  static let all = [
    digits, jsonGate, jsonPatch, operators, extendedJSON, jsonSchema, patterns, filters, records,
    heads,
    forms,
    tokens, imports, migrations,
  ]
}

/// Stops the process, which libFuzzer reports with the input, unless the condition holds.
func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
  if !condition { fatalError(violation()) }
}

/// The parts of an input: its lines.
func lines(_ input: [UInt8]) -> [[UInt8]] {
  input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
}

func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// The JSON in the lines of an input; nil when there is other text, or there are too few lines.
func values(_ input: [UInt8], atLeast count: Int) -> [JSON]? {
  let values = lines(input).map { try? JSON.parse($0) }
  guard values.count >= count, !values.contains(nil) else { return nil }
  return values.compactMap(\.self)
}

/// Whether the gate lets a value pass that is about to be stored.
func expectStorable(_ value: JSON, _ what: String) {
  let text = value.serialized()
  do {
    expect(try JSON.parse(text) == value, "\(what) reads back as another value: \(value.text)")
  } catch {
    fatalError("\(what) is refused by the gate: \(error) \(value.text)")
  }
}
