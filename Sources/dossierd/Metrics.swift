import CLinux
import EventLoop
import Glibc

/// Memory that all workers share, in which each counts for itself and any can sum.
///
/// A slot is written by one worker at a time and keeps its counts for the next, so that sums never
/// fall. Words are 64 bits, aligned, and of one writer: a reader sees the one before or the one
/// after.
@EventLoop final class MetricsBoard {
  static let slots = 256
  static let words = 2_048
  /// The descriptor under which a worker finds it.
  static let inherited: Int32 = 3
  let descriptor: Int32
  private let memory: UnsafeMutablePointer<UInt64>

  /// Makes it, for a supervisor or for a worker on its own.
  convenience init() {
    let descriptor = CLinux_memfd_create("dossier-metrics", 1)
    ftruncate(descriptor, off_t(Self.slots * Self.words * 8))
    self.init(descriptor)
  }

  /// Maps one that is there.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    let length = Self.slots * Self.words * 8
    let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let address, address != MAP_FAILED else {
      preconditionFailure("no memory for metrics: \(systemMessage(errno))")
    }
    memory = address.bindMemory(to: UInt64.self, capacity: Self.slots * Self.words)
  }

  /// The slot, emptied when it was written by another version of the program.
  func open(_ slot: Int, layout: UInt64) -> UnsafeMutablePointer<UInt64> {
    let start = memory + slot * Self.words
    if start[0] != layout {
      start.update(repeating: 0, count: Self.words)
      start[0] = layout
    }
    return start
  }

  /// The greatest of a word over all slots of that layout.
  func greatest(_ word: Int, layout: UInt64) -> UInt64 {
    (0..<Self.slots).lazy.filter { self.memory[$0 * Self.words] == layout }
      .map { self.memory[$0 * Self.words + word] }.max() ?? 0
  }

  /// The sum of a word over all slots of that layout.
  func sum(_ word: Int, layout: UInt64) -> UInt64 {
    var sum: UInt64 = 0
    for slot in 0..<Self.slots where memory[slot * Self.words] == layout {
      sum &+= memory[slot * Self.words + word]
    }
    return sum
  }
}

/// What a worker counts.
@EventLoop final class Metrics {
  private let board: MetricsBoard
  private let slot: UnsafeMutablePointer<UInt64>
  private let layout: UInt64
  private let routes: [String]
  private var countedHashes = 0

  /// Upper bounds of the buckets, in microseconds: from a cached read to a hashed password, to a
  /// time-out.
  private static let bounds: [UInt64] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000,
  ]
  private static let classes = 5
  private var bucketsStart: Int { 1 + routes.count * Self.classes }
  private var totalsStart: Int { bucketsStart + Self.bounds.count + 1 }

  /// - Parameters:
  ///   - board: the supervisor's, or one of our own.
  ///   - slot: of this worker.
  ///   - routes: every name that is counted under.
  init(_ board: MetricsBoard, slot: Int, routes: [String]) {
    self.board = board
    self.routes = routes + ["none"]
    // FNV-1a over the names: another program, another layout.
    layout = self.routes.joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    precondition(
      1 + self.routes.count * Self.classes + Self.bounds.count + 8 < MetricsBoard.words,
      "more routes than a slot of metrics has room for"
    )
    self.slot = board.open(slot, layout: layout)
    setConnections(0)
  }

  /// Counts a request.
  ///
  /// - Parameters:
  ///   - route: its number among the routes; nil when there was none.
  ///   - status: of the answer.
  ///   - microseconds: from the first byte read to the last written.
  ///   - databaseMicroseconds: how many of these it waited for PostgreSQL.
  func count(route: Int?, status: Int, microseconds: UInt64, databaseMicroseconds: UInt64) {
    let index = route ?? routes.count - 1
    slot[1 + index * Self.classes + min(max(status / 100, 1), 5) - 1] &+= 1
    var bucket = 0
    while bucket < Self.bounds.count, Self.bounds[bucket] < microseconds { bucket += 1 }
    slot[bucketsStart + bucket] &+= 1
    slot[totalsStart] &+= microseconds
    slot[totalsStart + 1] &+= databaseMicroseconds
  }

  /// Counts passwords hashed since it was last called; `total` is of this worker.
  func count(hashes total: Int) {
    slot[totalsStart + 3] &+= UInt64(total - countedHashes)
    countedHashes = total
  }

  /// Counts a turn of the loop that kept all other requests of the worker waiting.
  func countLongTurn(microseconds: UInt64) {
    slot[totalsStart + 4] &+= 1
    slot[totalsStart + 5] = max(slot[totalsStart + 5], microseconds)
  }

  func setConnections(_ count: Int) { slot[totalsStart + 2] = UInt64(count) }

  /// In Prometheus's text format, summed over the workers.
  ///
  /// - Source: Prometheus exposition formats, text version 0.0.4.
  var text: String {
    func sum(_ word: Int) -> UInt64 { board.sum(word, layout: layout) }
    var text = "# HELP dossier_requests_total Requests by route and class of status.\n"
    text += "# TYPE dossier_requests_total counter\n"
    for (index, route) in routes.enumerated() {
      for statusClass in 1...Self.classes {
        let count = sum(1 + index * Self.classes + statusClass - 1)
        guard count > 0 else { continue }
        text += "dossier_requests_total{route=\"\(route)\",status=\"\(statusClass)xx\"} \(count)\n"
      }
    }
    text += "# HELP dossier_request_seconds From the first byte read to the last written.\n"
    text += "# TYPE dossier_request_seconds histogram\n"
    var cumulative: UInt64 = 0
    for (index, bound) in Self.bounds.enumerated() {
      cumulative += sum(bucketsStart + index)
      text += "dossier_request_seconds_bucket{le=\"\(Double(bound) / 1e6)\"} \(cumulative)\n"
    }
    cumulative += sum(bucketsStart + Self.bounds.count)
    text += "dossier_request_seconds_bucket{le=\"+Inf\"} \(cumulative)\n"
    text += "dossier_request_seconds_sum \(Double(sum(totalsStart)) / 1e6)\n"
    text += "dossier_request_seconds_count \(cumulative)\n"
    text += "# HELP dossier_database_seconds_total Time that requests waited for PostgreSQL.\n"
    text += "# TYPE dossier_database_seconds_total counter\n"
    text += "dossier_database_seconds_total \(Double(sum(totalsStart + 1)) / 1e6)\n"
    text += "# HELP dossier_password_hashes_total Passwords that were hashed.\n"
    text += "# TYPE dossier_password_hashes_total counter\n"
    text += "dossier_password_hashes_total \(sum(totalsStart + 3))\n"
    text += "# HELP dossier_connections Connections of nginx.\n"
    text += "# TYPE dossier_connections gauge\n"
    text += "dossier_connections \(sum(totalsStart + 2))\n"
    text += "# HELP dossier_long_turns_total Turns of a loop of over 50 ms: all else waits.\n"
    text += "# TYPE dossier_long_turns_total counter\n"
    text += "dossier_long_turns_total \(sum(totalsStart + 4))\n"
    let longest = board.greatest(totalsStart + 5, layout: layout)
    text += "# HELP dossier_longest_turn_seconds The longest of them since the start.\n"
    text += "# TYPE dossier_longest_turn_seconds gauge\n"
    text += "dossier_longest_turn_seconds \(Double(longest) / 1e6)\n"
    return text
  }
}
