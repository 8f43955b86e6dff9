import JSON
import Runtime

/// A parser of external input, with rules that hold for every input.
///
/// A target returns, or stops the process to report a finding.
struct FuzzTarget: Sendable {
  let name: String
  /// The maximum length of an input in bytes, enough to reach every rule several times.
  let longest: Int
  /// Whether the lines of an input are JSON.
  let isJSON: Bool
  /// The words that mutations insert.
  let words: [String]
  let bound: MemoryBound?
  let run: @Sendable ([UInt8]) -> Void

  init(
    _ name: String, longest: Int = 4_096, isJSON: Bool = false, words: [String] = [],
    bound: MemoryBound? = nil, run: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.name = name
    self.longest = longest
    self.isJSON = isJSON
    self.words = words
    self.bound = bound
    self.run = run
  }

  /// Runs the target on an input, and checks its memory.
  func check(_ input: [UInt8]) {
    let used = Memory.peak { run(input) }
    guard let bound, used > bound.bytes(for: input.count) else { return }
    // The first use of a table, such as that of time zones, loads it. So the check runs again.
    let again = Memory.peak { run(input) }
    expect(
      again <= bound.bytes(for: input.count),
      "\(again) bytes were allocated for an input of \(input.count)"
    )
  }

  /// Runs a reader, which may refuse an input only with faults.
  static func refuses(_ body: () throws(Failure) -> Void) {
    do throws(Failure) {
      try body()
    } catch {
      expect(error.is(.invalid) && !error.faults.isEmpty, "refused otherwise: \(error)")
    }
  }

  static let all = [
    digits, jsonGate, jsonPatch, operators, extendedJSON, jsonSchema, patterns, filters, records,
    heads, forms, tokens, authorizations, searches, parraIDs, imports, auth0, appServices,
    migrations, addresses, relayReplies, tenants, hashLines, hashFiles, deploymentFiles,
    issuerMetadata, callbacks, issuerAnswers, logoutTokens, redirectStates, webAuthnCBOR,
    webAuthnClientData, webAuthnCredential, streamHeads, erasures,
    metricSamples,
  ]
}

/// The memory limit of a target.
struct MemoryBound {
  /// The bytes for each byte of input.
  let factor: Int
  /// The bytes for every input.
  let base: Int

  func bytes(for length: Int) -> Int { base + factor * length }
}

/// Stops the process unless the condition holds.
///
/// libFuzzer then reports the input.
func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
  if !condition { fatalError(violation()) }
}

/// Returns the lines of an input.
func lines(_ input: [UInt8]) -> [[UInt8]] {
  input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
}

func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// Returns the JSON of each line, or nil for invalid JSON or too few lines.
func values(_ input: [UInt8], atLeast count: Int) -> [JSON]? {
  let values = lines(input).map { try? JSON.parse($0) }
  guard values.count >= count, !values.contains(nil) else { return nil }
  return values.compactMap(\.self)
}

/// Expects that a value can be stored: the strict parser accepts it.
func expectStorable(_ value: JSON, _ what: String) {
  let text = value.serialized()
  do {
    expect(try JSON.parse(text) == value, "\(what) reads back as another value: \(value.text)")
  } catch {
    fatalError("\(what) is refused by the gate: \(error) \(value.text)")
  }
}
