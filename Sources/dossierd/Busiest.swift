import Configuration
import EventLoop
import HTTP
import Runtime
import Tenancy
import WireKit

/// Counts the requests of each client and network, and tells the busiest ones.
///
/// Counters by client would grow with the clients. So each worker writes the busiest of a window of
/// ten seconds into its slot of the metrics, and the worker that answers adds up all slots.
@EventLoop struct Busiest {
  /// The property of requests that a count is for.
  nonisolated enum Kind: Int, CaseIterable {
    case client
    /// Only if the log has addresses.
    case network

    var name: String { "\(self)" }
  }

  /// How many entries of each kind the metrics have.
  nonisolated static let shown = 20
  /// The length of a key, in words; longer keys are not counted.
  private nonisolated static let keyWords = 6
  /// The key, the number of requests, and their time.
  private nonisolated static let entryWords = keyWords + 2
  /// When the window ended and how long it was, in nanoseconds; the entries of each kind follow.
  nonisolated static let words = 2 + Kind.allCases.count * shown * entryWords
  /// How many keys of a kind are counted in a window, so that forged ones fill no memory.
  private nonisolated static let most = 1_000
  private nonisolated static let window = Duration.seconds(10).nanoseconds

  private typealias Count = (requests: UInt64, microseconds: UInt64)
  private var counts: [[String: Count]] = Array(repeating: [:], count: Kind.allCases.count)
  private var start: UInt64 = 0

  /// Counts a request that has ended.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - microseconds: its time.
  ///   - now: the time of its end.
  ///   - place: where the last window stands.
  mutating func count(
    _ call: Call, microseconds: UInt64, at now: UInt64, _ place: UnsafeMutablePointer<UInt64>
  ) {
    if now - start >= Self.window {
      if start > 0 { write(until: now, to: place) }
      start = now
    }
    if let client = call.client { add(client.id.text, .client, microseconds) }
    guard Log.addresses != .off else { return }
    // The context has no address after the answer.
    let network = ClientAddress(call.request.address).truncatedText
    if let network { add(network, .network, microseconds) }
  }

  private mutating func add(_ key: String, _ kind: Kind, _ microseconds: UInt64) {
    guard counts[kind.rawValue].count < Self.most || counts[kind.rawValue][key] != nil,
      key.utf8.count <= Self.keyWords * 8
    else { return }
    counts[kind.rawValue][key, default: (0, 0)].requests += 1
    counts[kind.rawValue][key]?.microseconds += microseconds
  }

  private mutating func write(until now: UInt64, to place: UnsafeMutablePointer<UInt64>) {
    place.update(repeating: 0, count: Self.words)
    (place[0], place[1]) = (now, now - start)
    for kind in Kind.allCases {
      let busiest = counts[kind.rawValue].sorted { $0.value.requests > $1.value.requests }
      for (index, entry) in busiest.prefix(Self.shown).enumerated() {
        let place = place + Self.place(of: kind, index)
        for (offset, byte) in entry.key.utf8.enumerated() {
          place[offset / 8] |= UInt64(byte) << UInt64(offset % 8 * 8)
        }
        place[Self.keyWords] = entry.value.requests
        place[Self.keyWords + 1] = entry.value.microseconds
      }
      counts[kind.rawValue].removeAll(keepingCapacity: true)
    }
  }

  private nonisolated static func place(of kind: Kind, _ index: Int) -> Int {
    2 + (kind.rawValue * shown + index) * entryWords
  }

  // MARK: Output

  /// The requests of a key, and their time, both by second.
  private typealias Rate = (requests: Double, load: Double)

  /// Tells the busiest of all workers.
  ///
  /// - Parameters:
  ///   - places: where the windows of the workers stand.
  ///   - now: the present; older windows than two are left out.
  ///   - text: the metrics.
  static func tell(
    _ places: [UnsafeMutablePointer<UInt64>], at now: UInt64, in text: inout some MetricsOutput
  ) {
    let fresh = places.filter { $0[0] > 0 && now &- $0[0] < 2 * Self.window && $0[1] > 0 }
    for kind in Kind.allCases {
      var rates: [String: Rate] = [:]
      for place in fresh {
        let seconds = Double(place[1]) / 1e9
        for index in 0..<shown {
          let entry = place + Self.place(of: kind, index)
          guard entry[keyWords] > 0, let key = key(entry) else { continue }
          rates[key, default: (0, 0)].requests += Double(entry[keyWords]) / seconds
          rates[key]?.load += Double(entry[keyWords + 1]) / 1e6 / seconds
        }
      }
      let busiest = rates.sorted { ($0.value.requests, $1.key) > ($1.value.requests, $0.key) }
        .prefix(shown)
      text.family(
        "dossier_\(kind.name)_requests_per_second", "gauge",
        "Requests of the \(shown) busiest \(kind.name)s in the last ten seconds.")
      for (key, rate) in busiest { text.sample([(kind.name, key)], rate.requests) }
      text.family(
        "dossier_\(kind.name)_load", "gauge",
        "Time of these requests, in seconds for each second.")
      for (key, rate) in busiest { text.sample([(kind.name, key)], rate.load) }
    }
  }

  /// Returns the key of an entry; nil if its worker is just writing it.
  private static func key(_ entry: UnsafeMutablePointer<UInt64>) -> String? {
    let bytes = (0..<keyWords * 8).lazy.map { place in
      UInt8(truncatingIfNeeded: entry[place / 8] >> UInt64(place % 8 * 8))
    }
    let key = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    let isPlain = key.utf8.allSatisfy {
      $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    return key.isEmpty || !isPlain ? nil : key
  }
}
