import CLinux
import Configuration
import Dossier
import EventLoop
import FastCGI
import Glibc
import HTTP
import Outbound
import Postgres
import Wiring

/// One process that answers requests, on one thread with one loop.
@EventLoop final class Worker {
  private let configuration: Configuration
  let database: Database
  let readiness: ReadinessCheck
  private let service: Service
  let metrics: Metrics
  let passwords: PasswordHasher
  private let courier: Courier?
  private var listener: Listener?
  private var signals: Signals?
  private static let signals = [SIGTERM, SIGINT, SIGHUP]
  /// What one request may hold the loop for, as a rule of the house.
  private static let longTurn = Duration.milliseconds(50)

  /// - Parameters:
  ///   - configuration: what is in force.
  ///   - slot: where it counts on the supervisor's board; nil without a supervisor.
  ///   - whenReady: accepts nothing before it can serve, and ends when that takes too long.
  ///   - keepsHouse: whether it is the one that removes what nobody can use any more.
  static func run(_ configuration: Configuration, slot: Int?, whenReady: Bool, keepsHouse: Bool) {
    // Before the pools' threads: one of them would be handed a SIGTERM, and libfcgi's handler
    // would swallow it.
    Signals.block(Self.signals)
    if slot != nil { _ = CLinux_die_with_parent(SIGTERM) }
    let board = slot == nil ? MetricsBoard() : MetricsBoard(MetricsBoard.inherited)
    let worker = Worker(configuration, board, slot: slot ?? 0)
    worker.startDatabase()
    EventLoop.task {
      if let (reason, status) = await worker.reasonNotToStart(whenReady: whenReady) {
        complaint(slot: slot)(reason)
        exit(status)
      }
      do {
        try worker.start()
        worker.watch()
        worker.courier?.start()
        if keepsHouse {
          worker.keepHouse()
          worker.recordHost()
        }
      } catch {
        complaint(slot: slot)("\(error)")
        exit(1)
      }
      tellReady(slot: slot)
    }
  }

  /// Where it goes why a worker does not start: to its supervisor, which writes the log.
  nonisolated static func complaint(slot: Int?) -> (String) -> Void {
    if slot == nil { return { Log.write("error", $0) } }
    return complain
  }

  /// From now on what stands on descriptor 2 may be a client's, see `Complaint`.
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
    settings.exclusiveConnections = configuration.exclusiveConnections
    let database = Database(settings)
    self.database = database
    let report = MetricsReport()
    readiness = ReadinessCheck(database, configuration.masterKey, app: configuration.app)
    // Each has threads of its own: an issuer that is slow holds up neither mail nor pictures.
    let relay = Worker.relay(
      configuration.mail,
      BlockingPool(name: "mail", threads: 2, waiting: 64)
    )
    let pools = Pools(
      passwords: FairPool(
        name: "passwords",
        threads: configuration.hashingThreads,
        reserve: 0,
        waiting: 128,
        patience: .seconds(4)
      ),
      issuers: BlockingPool(name: "issuers", threads: 2, waiting: 16),
      pictures: FairPool(name: "pictures", threads: 1, waiting: 8, patience: .seconds(10)),
      files: BlockingPool(name: "shelf", threads: 2, waiting: configuration.connections),
      // Two, so that one large request does not wait for another.
      // nginx waits 15 s for an answer.
      calculator: FairPool(name: "calculator", threads: 2, waiting: 128, patience: .seconds(8))
    )
    let dependencies = configuration.dependencies(on: database, pools, sendsMail: relay != nil) {
      Log.write("error", $0)
    }
    passwords = dependencies.passwords
    let operations = OperationsWire(readiness: readiness) { report.metrics?.text ?? "" }
    let wires = clientWires(origin: configuration.issuer) + [operations]
    metrics = Metrics(board, slot: slot, routes: wires.flatMap(\.routes))
    report.metrics = metrics
    courier = relay.map { relay in
      Courier(dependencies, relay) { report.metrics?.count($0) }
    }
    let networks = configuration.operationsNetworks
    service = Service(wires: wires, dependencies) { $0.isIn(networks) }
  }

  /// What takes mail; one that cannot be right any more is as none, and the log says why.
  private static func relay(_ settings: MailRelaySettings, _ pool: BlockingPool) -> MailRelay? {
    guard settings.isSomewhere else { return nil }
    do throws(MailError) {
      return try MailRelay(pool: pool, settings: settings)
    } catch {
      Log.write("error", "mail: \(error)")
      return nil
    }
  }

  private func start() throws {
    // It has room for all connections, so no client's large bodies keep out another client's.
    var settings = FastCGISettings(
      pool: BlockingPool(name: "bodies", threads: 2, waiting: configuration.connections)
    )
    settings.connections = configuration.connections
    let listener = try Listener(0, settings, serve)
    self.listener = listener
    EventLoop.reactor.superviseTurns(longerThan: Self.longTurn) { [metrics] time in
      metrics.countLongTurn(microseconds: time.nanoseconds / 1_000)
      Log.write("warning", "one turn of the loop took \(time.nanoseconds / 1_000_000) ms")
    }
    // After libfcgi, which has handlers of its own.
    signals = try Signals(Self.signals) { [self] signal in
      if signal != SIGHUP { drain() }
    }
  }

  /// Removes what nobody can use any more, every hour or so: one worker of a supervisor's, and not in
  /// step with those of other machines.
  private func keepHouse() {
    EventLoop.task { [database] in
      while true {
        await EventLoop.sleep(for: .seconds(Int.random(in: 1_800...5_400)))
        do throws(Failure) {
          try await SearchIndexes.finishAll(in: database)
          let removed = try await Housekeeping.run(database).filter { $0.value > 0 }
          if !removed.isEmpty { Log.write("info", "removed: \(removed)") }
        } catch {
          Log.write("error", "housekeeping: \(error)")
        }
      }
    }
  }

  /// Stores every ten minutes by which settings this host serves.
  private func recordHost() {
    EventLoop.task { [database, fingerprint = configuration.fingerprint] in
      while true {
        do throws(DatabaseError) {
          try await Hosts.record(HostName.own, version: Version.text, fingerprint, in: database)
          await EventLoop.sleep(for: .seconds(600))
        } catch {
          // The log has why the database fails.
          await EventLoop.sleep(for: .seconds(10))
        }
      }
    }
  }

  private func serve(_ exchange: Exchange) async {
    let start = EventLoop.now()
    let call = service.call(Request(exchange), exchange)
    var response = await service.answer(call)
    metrics.count(hashes: passwords.hashes)
    response.add(.requestID, call.request.id.description)
    let status = response.status.code
    let (head, body) = response.message(withBody: call.request.method != .head)
    if !exchange.sendAtOnce(head, body) { await exchange.send(head, body) }
    let microseconds = (EventLoop.now() - start) / 1_000
    metrics.count(
      route: call.endpoint?.number,
      status: status,
      microseconds: microseconds,
      databaseMicroseconds: call.context.databaseNanoseconds / 1_000
    )
    metrics[.connections] = listener?.connections ?? 0
    if case .failure(let failure)? = call.refusal, let cause = failure.cause {
      metrics.count(cause)
    }
    if configuration.logsRequests || call.error != nil {
      Log.request(call, status: status, microseconds: microseconds, bytes: exchange.sent)
    }
  }

  /// Answers what was accepted, then ends; nginx closes its connections, or the time is up.
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

/// Breaks the circle of routes that show metrics and metrics that are made of routes.
@EventLoop private final class MetricsReport {
  var metrics: Metrics?
}

extension Request {
  /// Reads the head of a request as our `dossier.fastcgi_params` gives it.
  @EventLoop fileprivate init(_ exchange: Exchange) {
    self.init(
      method: Method(rawValue: exchange.parameter("REQUEST_METHOD") ?? ""),
      target: exchange.parameter("REQUEST_URI") ?? "/",
      fields: exchange
    )
  }
}

extension Exchange: @EventLoop FieldSource {
  @_lifetime(borrow self)
  func bytes(of name: FieldName) -> Span<UInt8>? { bytes(ofField: name.literal) }

  var clientAddress: String? { parameter("REMOTE_ADDR") }
}

extension Exchange: BodySource {
  func body(limit: Int) async throws(Refusal) -> [UInt8] {
    do throws(FastCGIError) {
      return try await readBody(limit: limit)
    } catch {
      switch error {
      case .tooLong: throw .bodyTooLong(limit: limit)
      case .truncated: throw .bodyTruncated
      case .overloaded: throw .failure(.overloaded(retryAfter: .seconds(1)))
      }
    }
  }
}
