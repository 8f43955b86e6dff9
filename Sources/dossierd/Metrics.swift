import CLinux
import Configuration
import Delivery
import EventLoop
import Events
import Federation
import Glibc
import HTTP
import LogStreams
import OpenIDClient
import Postgres
import Runtime
import Telemetry
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
  private var busiest = Busiest()
  /// The webhooks that are furthest behind, as this worker last measured.
  var webhookLags = WebhookLags()

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
    case eventAge
    case logStreamLag
  }

  /// The values that only increase, at the places after the gauges.
  enum Counter: Int, CaseIterable {
    case workerStarts
    case databaseMicroseconds
    case hashes
    case eventLoopStalls
    case eventLoopLag
    case mailsSent, mailsAbandoned
    case eventsPublished, eventDelay
    case webhookDeliveries, webhookFailures
    case logStreamEvents, logStreamFailures
    case otlpSpansDropped
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

  /// The reason of a database error, by the operator's remedy.
  private nonisolated enum DatabaseErrorReason: Equatable {
    case server(ServerFault)
    case connection, timeout, laneFull, other

    /// All reasons, in the order of their counters.
    static let all =
      ServerFault.allCases.map(Self.server) + [.connection, .timeout, .laneFull, .other]

    init(_ error: DatabaseError) {
      if error.isServerAway {
        self = .connection
      } else if let fault = error.serverFault {
        self = .server(fault)
      } else {
        self =
          switch error.state.category {
          case "57", "55", "40": .timeout
          case "XD": .laneFull
          default: .other
          }
      }
    }

    var label: String {
      switch self {
      case .server(let fault): fault.rawValue
      case .connection: "connection"
      case .timeout: "timeout"
      case .laneFull: "lane_full"
      case .other: "other"
      }
    }
  }

  /// The sign-ins at services with a preset and an outcome, which are counted together.
  private nonisolated struct SignIns: Equatable {
    let preset: ProviderPreset
    let outcome: ConnectionUse.Outcome

    /// All of them, in the order of their counters.
    static let all = ProviderPreset.all.flatMap { preset in
      ConnectionUse.Outcome.allCases.map { SignIns(preset: preset, outcome: $0) }
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
    /// The classes of statuses of a route, and the time of its requests.
    static let route = statusClasses + 1
    /// The buckets of a class of routes, one for durations over the last bound, and the sum.
    static let histogram = Metrics.bounds.count + 2
    let counters = 1 + MetricsBoard.gauges
    var faults: Int { counters + Counter.allCases.count }
    var signIns: Int { faults + DatabaseErrorReason.all.count }
    var refusals: Int { signIns + SignIns.all.count }
    var actions: Int { refusals + RefusalReason.allCases.count }
    var histograms: Int { actions + CountedAction.allCases.count }
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
    let parts =
      names + Counter.allCases.map { "\($0)" } + DatabaseErrorReason.all.map(\.label)
      + SignIns.all.map { "\($0.preset.name) \($0.outcome.rawValue)" }
      + RefusalReason.allCases.map(\.rawValue) + CountedAction.allCases.map(\.rawValue)
    layout = parts.joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    precondition(
      places.routes + names.count * Places.route <= MetricsBoard.busiest,
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
    let start = places.routes + index * Places.route
    slot[start + min(max(status / 100, 1), 5) - 1] &+= 1
    slot[start + Places.statusClasses] &+= microseconds
    var bucket = 0
    while bucket < Self.bounds.count, Self.bounds[bucket] < microseconds { bucket += 1 }
    let histogram = places.histograms + classes[index].rawValue * Places.histogram
    slot[histogram + bucket] &+= 1
    slot[histogram + Self.bounds.count + 1] &+= microseconds
    add(databaseMicroseconds, to: .databaseMicroseconds)
  }

  /// Counts a request by its client and its network.
  func count(_ call: Call, microseconds: UInt64, at now: UInt64) {
    busiest.count(call, microseconds: microseconds, at: now, slot + MetricsBoard.busiest)
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

  func count(_ report: EventPublisher.Report) {
    switch report {
    case .published(let count, let delay):
      add(UInt64(count), to: .eventsPublished)
      add(delay.nanoseconds / 1_000, to: .eventDelay)
    case .oldest(let age): self[.eventAge] = age.wholeSeconds
    case .failed(let reason): Log.write("error", "events: \(reason)")
    }
  }

  func count(_ report: LogStreamWorker.Report) {
    switch report {
    case .sent(let count): add(UInt64(count), to: .logStreamEvents)
    case .failed: add(1, to: .logStreamFailures)
    case .lag(let age): self[.logStreamLag] = age.wholeSeconds
    case .lost(let reason): Log.write("warning", reason)
    case .outage(let reason): Log.write("error", "log streams have to wait: \(reason)")
    }
  }

  func count(_ report: Collector.Report) {
    switch report {
    case .dropped(let count): add(UInt64(count), to: .otlpSpansDropped)
    case .failed(let reason): Log.write("warning", reason)
    }
  }

  func count(_ error: DatabaseError) {
    let index = DatabaseErrorReason.all.firstIndex(of: DatabaseErrorReason(error))
    if let index { slot[places.faults + index] &+= 1 }
  }

  func count(_ use: ConnectionUse) {
    let index = SignIns.all.firstIndex(of: SignIns(preset: use.preset, outcome: use.outcome))
    if let index { slot[places.signIns + index] &+= 1 }
  }

  /// Counts a refused request, if its reason is one of a refused sign-in.
  func count(_ failure: Failure) {
    guard let place = RefusalReason.places[failure.type.code] else { return }
    slot[places.refusals + place] &+= 1
  }

  /// Counts an event of the audit log, if the metrics count its action.
  func count(action: String) {
    guard let place = CountedAction.places[action] else { return }
    slot[places.actions + place] &+= 1
  }

  private func tellSecurity(_ text: inout some MetricsOutput) {
    text.family(
      "dossier_sign_in_failures_total", "counter",
      "Requests refused for their credentials or by a rate limit, by the code of the error.")
    for (place, reason) in RefusalReason.allCases.enumerated() {
      text.sample([("reason", reason.rawValue)], sum(places.refusals + place))
    }
    text.family(
      "dossier_account_events_total", "counter",
      "Events of sign-ins, credentials and accounts, by their action in the audit log.")
    for (place, action) in CountedAction.allCases.enumerated() {
      text.sample([("action", action.rawValue)], sum(places.actions + place))
    }
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
    tell(&text)
    return text.text
  }

  /// The same metrics for OpenTelemetry.
  var families: [MetricFamily] {
    var data = MetricsData()
    tell(&data)
    return data.families
  }

  /// When the counts began, in nanoseconds since 1970.
  var start: UInt64 { board.start }

  private func tell(_ text: inout some MetricsOutput) {
    text.family("dossier_info", "gauge", "The version and the host of the program.")
    text.sample([("version", Version.text), ("host", HostName.own)], "1")
    text.family("dossier_requests_total", "counter", "Requests by route and class of status.")
    for (index, route) in names.enumerated() {
      for status in 1...Places.statusClasses {
        let count = sum(places.routes + index * Places.route + status - 1)
        guard count > 0 else { continue }
        text.sample([("route", route), ("status_class", "\(status)xx")], count)
      }
    }
    text.family(
      "dossier_route_seconds_total", "counter", "Time of the requests, by route.")
    for (index, route) in names.enumerated() {
      let time = sum(places.routes + index * Places.route + Places.statusClasses)
      if time > 0 { text.sample([("route", route)], "\(Double(time) / 1e6)") }
    }
    let help = "Time from the first byte read to the last byte written."
    text.family("dossier_request_seconds", "histogram", help)
    for kind in RouteClass.allCases { tellHistogram(of: kind, in: &text) }
    text.family(
      "dossier_database_failures_total", "counter", "Requests answered 503 because of the database."
    )
    for (index, reason) in DatabaseErrorReason.all.enumerated() {
      text.sample([("reason", reason.label)], sum(places.faults + index))
    }
    text.family(
      "dossier_connection_sign_ins_total", "counter",
      "Sign-ins at services, by the preset of their connection.")
    let counts = SignIns.all.enumerated().map { (signIns: $1, count: sum(places.signIns + $0)) }
    let used = counts.filter { $0.count > 0 }.map(\.signIns.preset)
    for (signIns, count) in counts where used.contains(signIns.preset) {
      text.sample(
        [("preset", signIns.preset.name), ("outcome", signIns.outcome.rawValue)], count)
    }
    tellSecurity(&text)
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
    webhookLags.write(to: &text)
    Busiest.tell(board.busiest(layout: layout), at: EventLoop.now(), in: &text)
  }

  private func tellHistogram(of kind: RouteClass, in text: inout some MetricsOutput) {
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

/// Memory shared by all workers.
///
/// Each counts in its own slot, and any worker can sum all slots.
///
/// One worker at a time writes a slot, and leaves its counts to the next one. So sums never
/// decrease. The words are aligned, have 64 bits and one writer each. So a reader sees either the
/// old or the new value. The first word of a slot identifies the layout of the rest. The gauges
/// follow; they end with the worker.
@EventLoop final class MetricsBoard {
  static let slots = 256
  /// Room for some 1,200 routes: six words each, beside counters and histograms.
  static let words = 8_192
  /// The number of gauge words in a slot, the same in every version of the program.
  nonisolated static let gauges = 63
  /// The place of the heartbeat in a slot, the last gauge; the same in every version of the program.
  nonisolated static let heartbeat = gauges
  /// The descriptor of the board in a worker.
  static let inherited: Int32 = 3
  /// The place of the busiest clients in a slot, its end.
  static let busiest = words - Busiest.words
  let descriptor: Int32
  private let memory: UnsafeMutablePointer<UInt64>

  /// Creates a board, for a supervisor or for a standalone worker.
  convenience init() {
    let descriptor = CLinux_memfd_create("dossier-metrics", 1)
    ftruncate(descriptor, off_t(Self.slots * Self.words * 8))
    self.init(descriptor)
  }

  /// Maps an existing board.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    let length = Self.slots * Self.words * 8
    let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let address, address != MAP_FAILED else {
      preconditionFailure("no memory for metrics: \(systemMessage(errno))")
    }
    memory = address.bindMemory(to: UInt64.self, capacity: Self.slots * Self.words)
  }

  /// Returns a slot.
  ///
  /// Empties it if another version of the program wrote it.
  func open(_ slot: Int, layout: UInt64) -> UnsafeMutablePointer<UInt64> {
    let start = memory + slot * Self.words
    if start[0] != layout {
      start.update(repeating: 0, count: Self.words)
      start[0] = layout
    }
    clear(slot)
    return start
  }

  /// When the board was created, in nanoseconds since 1970.
  var start: UInt64 { CLinux_file_changed(descriptor) }

  /// Clears the gauges of an ended worker.
  func clear(_ slot: Int) {
    (memory + slot * Self.words + 1).update(repeating: 0, count: Self.gauges)
  }

  /// Returns the number of heartbeats of the worker of a slot; 0 before its first.
  func heartbeats(of slot: Int) -> UInt64 { memory[slot * Self.words + Self.heartbeat] }

  /// Returns the places of the busiest clients in all slots of a layout.
  func busiest(layout: UInt64) -> [UnsafeMutablePointer<UInt64>] {
    (0..<Self.slots).filter { memory[$0 * Self.words] == layout }
      .map { memory + $0 * Self.words + Self.busiest }
  }

  /// Returns the maximum of a word over all slots of a layout.
  func greatest(_ word: Int, layout: UInt64) -> UInt64 {
    (0..<Self.slots).lazy.filter { self.memory[$0 * Self.words] == layout }
      .map { self.memory[$0 * Self.words + word] }.max() ?? 0
  }

  /// Returns the sum of a word over all slots of a layout.
  func sum(_ word: Int, layout: UInt64) -> UInt64 {
    var sum: UInt64 = 0
    for slot in 0..<Self.slots where memory[slot * Self.words] == layout {
      sum &+= memory[slot * Self.words + word]
    }
    return sum
  }
}
