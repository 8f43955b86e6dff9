import Accounts
import Administration
import AppServicesWire
import CLinux
import Configuration
import Delivery
import Distribution
import Documents
import EventLoop
import Events
import FastCGI
import Federation
import Glibc
import HTTP
import LogStreams
import OpenID
import Outbound
import Postgres
import ReferenceData
import Runtime
import Sessions
import Telemetry
import Tenancy
import Transfer
import Webhooks
import WireKit

/// A process that answers requests, with one event loop on one thread.
@EventLoop final class Worker {
  let configuration: Configuration
  let database: Database
  let readiness: ReadinessCheck
  private let service: Service
  let metrics: Metrics
  let passwords: PasswordHasher
  private let courier: OutboxWorker
  private let jobs: JobWorker
  private let publisher: EventPublisher
  private let webhooks: WebhookWorker
  private let logStreams: LogStreamWorker
  let collector: Collector?
  private let tracer: Tracer?
  /// Whether requests are traced, or their statements are logged.
  private let observesRequests: Bool
  /// Reads files.
  let files: BlockingPool
  private var listener: Listener?
  private var signals: Signals?
  private static let signals = [SIGTERM, SIGINT, SIGHUP]
  /// The time for which one request may occupy the loop, by our own rule.
  private static let longTurn = Duration.milliseconds(50)

  /// Runs a worker until it ends.
  ///
  /// - Parameters:
  ///   - configuration: the settings in force.
  ///   - slot: its slot on the supervisor's metrics board, or nil without a supervisor.
  ///   - whenReady: whether it accepts only once it can serve, and ends if that takes too long.
  ///   - runsMaintenance: whether it runs the maintenance, which deletes expired data.
  static func run(
    _ configuration: Configuration, slot: Int?, whenReady: Bool, runsMaintenance: Bool
  ) {
    // Before the pools' threads start. Otherwise one of them could receive SIGTERM, and libfcgi's
    // handler would swallow it.
    Signals.block(Self.signals)
    if slot != nil { _ = CLinux_die_with_parent(SIGTERM) }
    let board = slot == nil ? MetricsBoard() : MetricsBoard(MetricsBoard.inherited)
    let worker = Worker(configuration, board, slot: slot ?? 0)
    worker.startDatabase()
    worker.beginHeartbeats()
    EventLoop.task {
      if let (reason, status) = await worker.reasonNotToStart(whenReady: whenReady) {
        complaint(slot: slot)(reason)
        exit(status)
      }
      do {
        try worker.start()
        worker.watch()
        worker.courier.start()
        worker.jobs.start()
        worker.publisher.start()
        worker.webhooks.start()
        worker.logStreams.start()
        if runsMaintenance {
          worker.keepHouse()
          worker.recordHost()
          worker.countDays()
          worker.sendMetrics()
        }
      } catch {
        complaint(slot: slot)("\(error)")
        exit(1)
      }
      tellReady(slot: slot)
      await worker.readLists()
    }
  }

  /// Returns the function that reports why a worker cannot start.
  ///
  /// Under a supervisor, it writes to stderr, which the supervisor logs.
  nonisolated static func complaint(slot: Int?) -> (String) -> Void {
    if slot == nil { return { Log.write("error", $0) } }
    return complain
  }

  /// Reports readiness.
  ///
  /// From here on, stderr may contain client data; see `CapturedStderr`.
  private static func tellReady(slot: Int?) {
    if slot != nil {
      var byte: UInt8 = 1
      _ = write(WorkerProcess.reportInherited, &byte, 1)
      close(WorkerProcess.reportInherited)
    } else {
      let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
      dup2(nowhere, 2)
      close(nowhere)
    }
  }

  private init(_ configuration: Configuration, _ board: MetricsBoard, slot: Int) {
    self.configuration = configuration
    var settings = DatabaseSettings(conninfo: configuration.database, applicationName: "dossierd")
    settings.pooler = configuration.pooler
    settings.writeConnections = configuration.writeConnections
    settings.nodes = .ofCitus
    settings.observer = Observation.observer(
      logs: configuration.logsStatements, traces: configuration.collector != nil)
    settings.letWritesWait(configuration.lockTimeout)
    let database = Database(settings)
    self.database = database
    let report = MetricsReport()
    let collector = configuration.collector.map { settings in
      Collector(settings, resource: Observation.resource) { report.metrics?.count($0) }
    }
    self.collector = collector
    tracer = collector.map { Tracer($0, ratio: configuration.samplingRatio) }
    Log.addresses = configuration.loggedAddresses
    observesRequests = configuration.logsStatements || collector != nil
    readiness = ReadinessCheck(database, configuration.masterKey, app: configuration.app)
    let relay = Worker.relay(configuration.mail)
    let pools = Pools(
      passwords: FairPool(
        name: "passwords", threads: configuration.hashingThreads, reserve: 0, waiting: 128,
        patience: configuration.patience
      ),
      pictures: FairPool(
        name: "pictures", threads: 1, waiting: 8, patience: configuration.patience
      ),
      files: BlockingPool(name: "shelf", threads: 2, waiting: configuration.connections),
      // Two threads, so that one large request does not delay another.
      calculator: FairPool(
        name: "calculator", threads: 2, waiting: 128, patience: configuration.patience
      )
    )
    let dependencies = configuration.dependencies(on: database, pools, sendsMail: relay != nil) {
      Log.write("error", $0)
    }
    passwords = dependencies[PasswordHasher.self]
    files = pools.files
    let operations = OperationsWire(readiness: readiness) { report.metrics?.text ?? "" }
    let wires = clientWires + [operations]
    metrics = Metrics(board, slot: slot, routes: wires.flatMap(\.routes))
    report.metrics = metrics
    dependencies.onAudit = { report.metrics?.count(action: $0) }
    let handlers: [String: OutboxWorker.Handler] = [
      Outbox.requestKind: AccountMail.resolve, LogoutNotices.kind: LogoutNotices.send,
      TokenRevocations.kind: TokenRevocations.send,
    ]
    let sources: [String: OutboxWorker.Source] = [
      LogoutNotices.kind: LogoutNotices.collect, TokenRevocations.kind: TokenRevocations.collect,
      WebhookNotices.kind: WebhookNotices.collect,
    ]
    courier = OutboxWorker(dependencies, relay, handlers, sources) {
      report.metrics?.count($0)
    }
    jobs = JobWorker(dependencies) {
      $0.appServicesSettings.userField
    } report: {
      Log.write("error", $0)
    }
    let webhooks = WebhookWorker(dependencies) { report.metrics?.count($0) }
    self.webhooks = webhooks
    dependencies[LogStreamSender.self].writesLine = Log.write(event:of:)
    let logStreams = LogStreamWorker(dependencies) { report.metrics?.count($0) }
    self.logStreams = logStreams
    publisher = EventPublisher(dependencies) {
      report.metrics?.count($0)
      guard case .published = $0 else { return }
      webhooks.wake()
      logStreams.wake()
    }
    let networks = configuration.internalNetworks
    service = Service(wires: wires, dependencies) { $0.isIn(networks) }
  }

  /// Returns the mail relay.
  ///
  /// Returns nil for an invalid one, and logs the reason.
  private static func relay(_ settings: MailRelaySettings) -> MailRelay? {
    guard settings.isSomewhere else { return nil }
    do throws(MailError) {
      return try MailRelay(settings)
    } catch {
      Log.write("error", "mail: \(error)")
      return nil
    }
  }

  private func start() throws {
    // The pool has room for all connections, so one client's large bodies do not block another's.
    var settings = FastCGISettings(
      pool: BlockingPool(name: "bodies", threads: 2, waiting: configuration.connections)
    )
    settings.connections = configuration.connections
    let listener = try Listener(0, settings) { [self] in await serve($0) }
    self.listener = listener
    EventLoop.reactor.superviseTurns(longerThan: Self.longTurn) { [metrics] time in
      metrics.countStall(microseconds: time.nanoseconds / 1_000)
      Log.write("warning", "one turn of the loop took \(time.nanoseconds / 1_000_000) ms")
    }
    // Set up after libfcgi, which installs its own handlers.
    signals = try Signals(Self.signals) { [self] signal in
      if signal != SIGHUP { drain() }
    }
  }

  @inline(__always)
  private func serve(_ exchange: Exchange) async {
    let start = EventLoop.now()
    let call = service.call(Request(exchange), exchange)
    var trace: RequestTrace?
    var response: Response
    if observesRequests {
      trace = Observation.begin(
        call, tracer, callersIn: configuration.internalNetworks)
      response = await Observation.observe(call.request, trace) { await service.answer(call) }
    } else {
      response = await service.answer(call)
    }
    metrics.count(hashes: passwords.hashes)
    response.add(call.request.id)
    let status = response.status.code
    let (head, body) = response.message(withBody: call.request.method != .head)
    if !exchange.sendAtOnce(head, body) { await exchange.send(head, body) }
    if let stream = response.stream, call.request.method != .head {
      while !exchange.isGone, let part = await stream.next() { await exchange.send([], part) }
    }
    let end = EventLoop.now()
    let microseconds = (end - start) / 1_000
    metrics.count(call, microseconds: microseconds, at: end)
    metrics.count(
      route: call.endpoint?.number, status: status, microseconds: microseconds,
      databaseMicroseconds: call.context.databaseNanoseconds / 1_000
    )
    if let trace { Observation.end(trace, of: call, status: status) }
    metrics[.connections] = listener?.connections ?? 0
    if let failure = call.failure {
      metrics.count(failure)
      if let cause = failure.cause { metrics.count(cause) }
    }
    if let use = call.context.part(ConnectionUse.self) { metrics.count(use) }
    if configuration.logsRequests || call.failure?.report != nil {
      Log.request(call, status: status, microseconds: microseconds, bytes: exchange.sent)
    }
  }

  /// Finishes the accepted requests, then ends.
  ///
  /// nginx closes its connections, or the deadline passes.
  private func drain() {
    listener?.drain { Self.end() }
    _ = Timer(after: configuration.drain) {
      Log.write("info", "ending with connections open")
      Self.end()
    }
  }

  private static func end() -> Never {
    Log.flush()
    exit(0)
  }
}

/// Breaks the reference cycle: the metrics route needs the metrics, which need the list of routes.
@EventLoop private final class MetricsReport {
  var metrics: Metrics?
}

extension Request {
  /// Reads the head of a request from the parameters of our `dossier.fastcgi_params`.
  @EventLoop fileprivate init(_ exchange: Exchange) {
    self.init(
      method: Method(rawValue: exchange.parameter("REQUEST_METHOD") ?? ""),
      target: exchange.parameter("REQUEST_URI") ?? "/", fields: exchange
    )
  }
}

extension Exchange: @EventLoop FieldSource {
  @_lifetime(borrow self)
  func bytes(of name: FieldName) -> Span<UInt8>? { bytes(ofField: name.literal) }

  var clientAddress: String? { parameter("REMOTE_ADDR") }
}

extension Exchange: BodySource {
  func body(limit: Int) async throws(Failure) -> [UInt8] {
    do throws(FastCGIError) {
      return try await readBody(limit: limit)
    } catch {
      switch error {
      case .tooLong: throw .bodyTooLarge(above: limit)
      case .truncated: throw .bodyTruncated
      case .overloaded: throw .overloaded(retryAfter: .seconds(1))
      }
    }
  }
}

/// The tasks of a worker beside its requests.
extension Worker {
  /// Reads the lists of passwords, languages and time zones, and returns memory to the system.
  ///
  /// The first request that needs them waits for the rest.
  func readLists() async {
    if case .failure(let error) = try? await files.run({ ReferenceLists.ofProcess }) {
      Log.write("error", "\(error)")
    }
    // The start has freed 2 MB, which the process would keep.
    malloc_trim(0)
  }

  /// Runs the maintenance about once an hour.
  ///
  /// It deletes expired data. One worker per supervisor runs it, at times that differ between
  /// hosts.
  func keepHouse() {
    EventLoop.task { [database, publisher] in
      let maintenance = Maintenance(database)
      while true {
        await EventLoop.sleep(for: .seconds(Int.random(in: 1_800...5_400)))
        do throws(Failure) {
          try await SearchIndexes.finishAll(in: database)
        } catch {
          Log.write("error", "search indexes: \(error)")
        }
        await publisher.removeOld()
        do throws(DatabaseError) {
          try await Webhooks.removeOld(in: database)
        } catch {
          Log.write("error", "old deliveries of webhooks stay: \(error)")
        }
        do throws(DatabaseError) {
          try await LogStreams.removeOld(in: database)
        } catch {
          Log.write("error", "positions of deleted log streams stay: \(error)")
        }
        let report = await maintenance.run()
        if !report.removed.isEmpty { Log.write("info", "removed: \(report.removed)") }
        for fault in report.faults.sorted() { Log.write("error", "maintenance: \(fault)") }
      }
    }
  }

  /// Counts the numbers of each app every ten minutes.
  func countDays() {
    EventLoop.task { [database] in
      let counter = DailyCounter(database)
      await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...2_000)))
      while true {
        do throws(DatabaseError) {
          try await counter.run()
          await EventLoop.sleep(for: .seconds(600))
        } catch {
          Log.write("error", "daily counts: \(error)")
          await EventLoop.sleep(for: .seconds(10))
        }
      }
    }
  }

  /// Records every ten minutes which settings this host uses.
  func recordHost() {
    EventLoop.task { [database, fingerprint = configuration.fingerprint] in
      while true {
        do throws(DatabaseError) {
          try await Hosts.record(HostName.own, version: Version.text, fingerprint, in: database)
          await EventLoop.sleep(for: .seconds(600))
        } catch {
          // The log already has the database's error.
          await EventLoop.sleep(for: .seconds(10))
        }
      }
    }
  }
}

/// The monitoring of a worker's own state, with log lines for changes, and metrics.
extension Worker {
  /// Starts the database connections.
  func startDatabase() {
    database.start { [metrics] state in
      switch state {
      case .connecting: break
      case .connected: Log.write("info", "the database is connected")
      case .incomplete(let reason):
        Log.write("warning", "the database refuses further connections: \(reason)")
      case .away(let reason): Log.write("error", "the database is unavailable: \(reason)")
      }
      metrics[.databaseUp] = state.isUp ? 1 : 0
    }
  }

  /// Waits until the worker can serve, or until the reason why not is known.
  ///
  /// - Parameter whenReady: whether the worker must be able to serve before it starts. If not, it
  ///   starts and waits for missing parts. It never starts with a master key that is not the
  ///   database's.
  /// - Returns: nil, or the reason why it does not start and its exit status.
  func reasonNotToStart(whenReady: Bool) async -> (String, Int32)? {
    // Waits up to 10 seconds. In that time, a running database accepts even many workers.
    let deadline = EventLoop.now() + 10_000_000_000
    await database.settle()
    var fault = await readiness.fault()
    while whenReady, fault?.check == .database, EventLoop.now() < deadline {
      await EventLoop.sleep(for: .milliseconds(20))
      fault = await readiness.fault()
    }
    guard let fault else { return nil }
    if fault.check == .masterKey { return (fault.description, 78) }
    return whenReady ? ("not ready: \(fault)", 69) : nil
  }

  /// Checks readiness every few seconds, and everything else every second.
  func watch() {
    EventLoop.task { [self] in
      var last: ReadinessCheck.Fault?
      var isFirst = true
      while true {
        let fault = await readiness.fault()
        metrics[.ready] = fault == nil ? 1 : 0
        // The database's state changes were already logged.
        if fault != last, fault?.check != .database, !(isFirst && fault == nil) {
          Log.write(fault == nil ? "info" : "error", fault.map { "not ready: \($0)" } ?? "ready")
        }
        last = fault
        isFirst = false
        for _ in 0..<(fault == nil ? 10 : 2) {
          observe()
          await EventLoop.sleep(for: .seconds(1))
        }
      }
    }
  }

  private func observe() {
    let load = database.load
    metrics[.reads] = load.express
    metrics[.writes] = load.exclusive
    metrics[.writesWaiting] = load.exclusiveWaiting
    metrics[.searches] = load.search
    metrics[.searchesWaiting] = load.searchWaiting
    metrics[.largeReads] = load.large
    metrics[.largeReadsWaiting] = load.largeWaiting
    metrics[.hashing] = passwords.pool.load
  }
}

extension DatabaseState {
  fileprivate var isUp: Bool {
    switch self {
    case .connected, .incomplete: true
    case .connecting, .away: false
    }
  }
}
