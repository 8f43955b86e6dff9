import Configuration
import Delivery
import Runtime
import EventLoop
import HTTP
import Postgres
import WireKit

/// The counters of a worker.
@EventLoop final class Metrics {
  private let board: MetricsBoard
  private let slot: UnsafeMutablePointer<UInt64>
  private let layout: UInt64
  private let names: [String]
  private let classes: [RouteClass]
  private var countedHashes = 0
  private let places = Places()

  /// The current values, at fixed places of a slot.
  enum Gauge: Int, CaseIterable {
    case workers = 1
    case ready
    case databaseUp
    case connections
    case hashing
    case mailQueue
    case mailAge
    case reads
    case writes
    case searches
    case largeReads
    case writesWaiting
    case searchesWaiting
    case largeReadsWaiting
  }

  /// The values that only increase, at the places after the gauges.
  enum Counter: Int, CaseIterable {
    case workerStarts
    case databaseMicroseconds
    case hashes
    case eventLoopStalls
    case eventLoopLag
    case mailsSent
    case mailsAbandoned
  }

  /// The classes of routes with similar durations.
  enum RouteClass: Int, CaseIterable {
    case read
    case write
    /// Routes that hash a password or verify an external token.
    case login
    case operation

    init(_ route: Route) {
      self =
        switch route.access {
        case .loopback: .operation
        case .open where route.method == .post: .login
        default: route.method == .get ? .read : .write
        }
    }
  }

  /// The reasons of database errors, by the operator's remedy, in the order of their counters.
  private nonisolated static let reasons =
    ServerFault.allCases.map(\.rawValue) + ["connection", "timeout", "lane_full", "other"]

  private static func reason(of error: DatabaseError) -> String {
    if error.isServerAway { return "connection" }
    if let fault = error.serverFault { return fault.rawValue }
    return switch error.state.category {
    case "57", "55", "40": "timeout"
    case "XD": "lane_full"
    default: "other"
    }
  }

  /// The upper bounds of the buckets, in microseconds: from a cached read to a hashed password, to
  /// a timeout.
  private nonisolated static let bounds: [UInt64] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000,
  ]

  /// The layout of a slot.
  private nonisolated struct Places {
    static let statusClasses = 5
    /// The buckets of a class of routes, one for durations over the last bound, and the sum.
    static let histogram = Metrics.bounds.count + 2
    let counters = 1 + MetricsBoard.gauges
    var faults: Int { counters + Counter.allCases.count }
    var histograms: Int { faults + Metrics.reasons.count }
    var routes: Int { histograms + RouteClass.allCases.count * Self.histogram }
  }

  /// Prepares the slot of a worker.
  ///
  /// - Parameters:
  ///   - board: the supervisor's board, or a new one.
  ///   - slot: the slot of this worker.
  ///   - routes: the routes to count.
  init(_ board: MetricsBoard, slot: Int, routes: [Route]) {
    self.board = board
    names = routes.map(\.name) + ["none"]
    classes = routes.map(RouteClass.init) + [.read]
    // FNV-1a over all names: another program version has another layout.
    let parts = names + Counter.allCases.map { "\($0)" } + Self.reasons
    layout = parts.joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    precondition(
      places.routes + names.count * Places.statusClasses <= MetricsBoard.words,
      "more routes than a slot of metrics has room for"
    )
    self.slot = board.open(slot, layout: layout)
    self[.workers] = 1
    add(1, to: .workerStarts)
  }

  // MARK: Counting

  /// Counts a request.
  ///
  /// - Parameters:
  ///   - route: the index of the route, or nil if none matched.
  ///   - status: the status of the response.
  ///   - microseconds: the time from the first byte read to the last byte written.
  ///   - databaseMicroseconds: the part of it spent waiting for PostgreSQL.
  func count(route: Int?, status: Int, microseconds: UInt64, databaseMicroseconds: UInt64) {
    let index = route ?? names.count - 1
    slot[places.routes + index * Places.statusClasses + min(max(status / 100, 1), 5) - 1] &+= 1
    var bucket = 0
    while bucket < Self.bounds.count, Self.bounds[bucket] < microseconds { bucket += 1 }
    let histogram = places.histograms + classes[index].rawValue * Places.histogram
    slot[histogram + bucket] &+= 1
    slot[histogram + Self.bounds.count + 1] &+= microseconds
    add(databaseMicroseconds, to: .databaseMicroseconds)
  }

  func add(_ count: UInt64, to counter: Counter) {
    slot[places.counters + counter.rawValue] &+= count
  }

  /// Counts the passwords hashed since the last call.
  ///
  /// `total` is the total of this worker.
  func count(hashes total: Int) {
    add(UInt64(total - countedHashes), to: .hashes)
    countedHashes = total
  }

  /// Counts a turn of the loop that delayed the worker's other requests.
  func countStall(microseconds: UInt64) {
    add(1, to: .eventLoopStalls)
    let place = places.counters + Counter.eventLoopLag.rawValue
    slot[place] = max(slot[place], microseconds)
  }

  /// Shows the supervisor that the loop of this worker still turns.
  func beat() { slot[MetricsBoard.heartbeat] &+= 1 }

  func count(_ event: OutboxWorker.Event) {
    switch event {
    case .sent: add(1, to: .mailsSent)
    case .abandoned: add(1, to: .mailsAbandoned)
    case .waiting(let state):
      (self[.mailQueue], self[.mailAge]) = (state.count, state.age.wholeSeconds)
    }
  }

  func count(_ error: DatabaseError) {
    let index = Self.reasons.firstIndex(of: Self.reason(of: error))
    slot[places.faults + (index ?? Self.reasons.count - 1)] &+= 1
  }

  subscript(_ gauge: Gauge) -> Int {
    get { Int(slot[gauge.rawValue]) }
    set { slot[gauge.rawValue] = UInt64(newValue) }
  }

  // MARK: Output

  /// The metrics in Prometheus's text format, summed over the workers.
  ///
  /// - Source: Prometheus exposition formats, text version 0.0.4.
  var text: String {
    var text = MetricsText()
    text.family("dossier_info", "gauge", "The version and the host of the program.")
    text.sample([("version", Version.text), ("host", HostName.own)], "1")
    text.family("dossier_requests_total", "counter", "Requests by route and class of status.")
    for (index, route) in names.enumerated() {
      for status in 1...Places.statusClasses {
        let count = sum(places.routes + index * Places.statusClasses + status - 1)
        guard count > 0 else { continue }
        text.sample([("route", route), ("status_class", "\(status)xx")], count)
      }
    }
    let help = "Time from the first byte read to the last byte written."
    text.family("dossier_request_seconds", "histogram", help)
    for kind in RouteClass.allCases { tellHistogram(of: kind, in: &text) }
    text.family(
      "dossier_database_failures_total", "counter", "Requests answered 503 because of the database."
    )
    for (index, reason) in Self.reasons.enumerated() {
      text.sample([("reason", reason)], sum(places.faults + index))
    }
    for gauge in Gauge.allCases {
      text.family(gauge.name, "gauge", gauge.help)
      let all =
        gauge.isOfDatabase
        ? board.greatest(gauge.rawValue, layout: layout) : sum(gauge.rawValue)
      text.sample(gauge.lane.map { [("lane", $0)] } ?? [], all)
    }
    for counter in Counter.allCases {
      let word = places.counters + counter.rawValue
      text.family(counter.name, counter == .eventLoopLag ? "gauge" : "counter", counter.help)
      let count = counter == .eventLoopLag ? board.greatest(word, layout: layout) : sum(word)
      text.sample([], counter.isTime ? "\(Double(count) / 1e6)" : "\(count)")
    }
    return text.text
  }

  private func tellHistogram(of kind: RouteClass, in text: inout MetricsText) {
    let start = places.histograms + kind.rawValue * Places.histogram
    let label = ("class", "\(kind)")
    var cumulative: UInt64 = 0
    for (index, bound) in Self.bounds.enumerated() {
      cumulative += sum(start + index)
      text.sample([label, ("le", "\(Double(bound) / 1e6)")], cumulative, suffix: "_bucket")
    }
    cumulative += sum(start + Self.bounds.count)
    text.sample([label, ("le", "+Inf")], cumulative, suffix: "_bucket")
    text.sample([label], "\(Double(sum(start + Self.bounds.count + 1)) / 1e6)", suffix: "_sum")
    text.sample([label], cumulative, suffix: "_count")
  }

  private func sum(_ word: Int) -> UInt64 { board.sum(word, layout: layout) }
}
