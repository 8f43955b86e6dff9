import ArgumentParser
import CommandKit
import EventLoop
import Glibc
import HTTP
import JSON
import Outbound
import Runtime
import Telemetry

/// Shows what the workers do now.
struct TopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Shows requests, errors, queues, the slowest routes and the busiest clients, live.",
    discussion: """
      It reads /metrics of the workers, and no database. nginx serves that page to this machine and to \
      internal_networks. Rates are those between two readings; those of clients are of the last ten \
      seconds. With the setting log_addresses, it shows the busiest networks too.

        dossier top
        dossier top --once --json
        dossier top --url http://10.0.0.1:8080/metrics --url http://10.0.0.2:8080/metrics
      """)
  @OptionGroup var output: OutputOptions

  @Option(
    name: .customLong("url"),
    help: ArgumentHelp(
      "Where the metrics of a host are; repeat it for several hosts. The default is "
        + "http://127.0.0.1:8080/metrics.", valueName: "URL"))
  var urls: [String] = []

  @Option(help: ArgumentHelp("The time between two readings.", valueName: "seconds"))
  var interval = 2

  @Flag(help: "Prints the numbers of one interval, and ends.")
  var once = false

  @Option(
    help: ArgumentHelp("How many routes, clients and networks it shows.", valueName: "number"))
  var routes = 10

  func validate() throws {
    guard (1...60).contains(interval) else {
      throw ValidationError("--interval must be a number from 1 to 60.")
    }
    guard (1...100).contains(routes), urls.count <= 64 else {
      throw ValidationError("--routes must be a number from 1 to 100, with at most 64 --url.")
    }
  }

  func run() throws {
    EventLoop.task { await watch() }
    EventLoop.reactor.run()
    end([], .internalError)
  }

  @EventLoop private func watch() async {
    var settings = HTTPSourceSettings()
    (settings.allowsPlainHTTP, settings.allowsPrivateAddresses) = (true, true)
    settings.limit = 4_194_304
    let source = HTTPSource(settings)
    let isTerminal = isatty(1) == 1 && !once && !output.isJSON
    var before: Reading?
    while true {
      do throws(CommandFailure) {
        let reading = try await Reading(of: urls.isEmpty ? Self.usual : urls, source)
        if let before {
          let load = Load(before, reading, routes: routes)
          let text = output.isJSON ? load.json.text + "\n" : load.text
          let start = isTerminal ? "\u{1b}[H\u{1b}[2J" : ""
          guard Output.write(Array("\(start)\(text)".utf8), to: 1) else { end([], .success) }
          if once { end([], .success) }
        }
        before = reading
      } catch {
        // A host that is started again is back at the next reading.
        guard !once, before != nil else { end([error.reason], error.status) }
        say(error.reason)
        before = nil
      }
      await EventLoop.sleep(for: .seconds(interval))
    }
  }

  private static let usual = ["http://127.0.0.1:8080/metrics"]
}

/// The metrics of all hosts at a moment.
@EventLoop private struct Reading {
  let at = EventLoop.now()
  let hosts: [MetricSamples]

  /// Reads the metrics of the hosts.
  ///
  /// - Throws: an error that names the first host without metrics.
  init(of urls: [String], _ source: HTTPSource) async throws(CommandFailure) {
    var hosts: [MetricSamples] = []
    for url in urls {
      let answer: HTTPAnswer
      do throws(FetchError) {
        answer = try await source.send(HTTPCall(url), for: CallOwner(app: "", receiver: url))
      } catch {
        throw CommandFailure("\(Table.visible(url)): \(error.word)", .cannotConnect)
      }
      guard answer.status == 200, let samples = MetricSamples(answer.body) else {
        throw CommandFailure(
          "\(Table.visible(url)): no metrics (status \(answer.status))", .cannotConnect)
      }
      hosts.append(samples)
    }
    self.hosts = hosts
  }

  func sum(
    _ name: String, where fits: (MetricSamples.Sample) -> Bool = { _ in true }
  ) -> Double {
    hosts.reduce(0) { $0 + $1.sum(of: name, where: fits) }
  }

  func greatest(_ name: String) -> Double {
    hosts.flatMap { $0.all(of: name).map(\.value) }.max() ?? 0
  }

  /// Returns the sums of a metric by a label.
  func sums(_ name: String, by label: String) -> [String: Double] {
    var sums: [String: Double] = [:]
    for sample in hosts.flatMap({ $0.all(of: name) }) {
      if let key = sample[label] { sums[key, default: 0] += sample.value }
    }
    return sums
  }
}

/// The work between two readings.
@EventLoop private struct Load {
  private let seconds: Double
  private let before: Reading
  private let now: Reading
  private let most: Int

  init(_ before: Reading, _ now: Reading, routes: Int) {
    (self.before, self.now, most) = (before, now, routes)
    seconds = max(0.001, Double(now.at - before.at) / 1e9)
  }

  /// Returns how much a counter grows in a second; a worker's new board begins at zero.
  private func rate(
    _ name: String, where fits: (MetricSamples.Sample) -> Bool = { _ in true }
  ) -> Double {
    max(0, now.sum(name, where: fits) - before.sum(name, where: fits)) / seconds
  }

  private func rates(_ name: String, by label: String) -> [String: Double] {
    let earlier = before.sums(name, by: label)
    var rates: [String: Double] = [:]
    for (key, value) in now.sums(name, by: label) {
      let rate = max(0, value - (earlier[key] ?? 0)) / seconds
      if rate > 0 { rates[key] = rate }
    }
    return rates
  }

  private static func number(_ value: Double, digits: Int = 1) -> JSON {
    let scale = digits == 1 ? 10.0 : 1_000.0
    let rounded = (min(abs(value), 1e12) * scale).rounded() / scale
    return (try? JSON.parse(Array("\(rounded)".utf8))) ?? .null
  }

  private static func whole(_ value: Double) -> JSON {
    .number(JSONNumber(Int(min(max(value, 0), 1e12))))
  }

  private var summary: [(key: String, value: JSON)] {
    func requests(_ status: String) -> JSON {
      Self.number(rate("dossier_requests_total") { $0["status_class"] == status })
    }
    func waiting(_ lane: String) -> JSON {
      Self.whole(now.sum("dossier_database_requests_waiting") { $0["lane"] == lane })
    }
    let refusals = rate("dossier_sign_in_failures_total") {
      !["too_many_attempts", "too_many_requests"].contains($0["reason"] ?? "")
    }
    let limited = rate("dossier_sign_in_failures_total") {
      ["too_many_attempts", "too_many_requests"].contains($0["reason"] ?? "")
    }
    return [
      ("workers", Self.whole(now.sum("dossier_workers"))),
      ("workers_ready", Self.whole(now.sum("dossier_ready"))),
      ("requests_per_second", Self.number(rate("dossier_requests_total"))),
      ("refused_per_second", requests("4xx")), ("failed_per_second", requests("5xx")),
      ("sign_in_failures_per_second", Self.number(refusals)),
      ("rate_limited_per_second", Self.number(limited)),
      ("statements_active", Self.whole(now.sum("dossier_database_requests_active"))),
      ("statements_waiting_write", waiting("write")),
      ("statements_waiting_search", waiting("search")),
      ("statements_waiting_large", waiting("large")),
      ("passwords_hashing", Self.whole(now.sum("dossier_hashing"))),
      ("mails_queued", Self.whole(now.greatest("dossier_mail_queue"))),
      ("oldest_mail_seconds", Self.whole(now.greatest("dossier_mail_queue_oldest_seconds"))),
      (
        "oldest_event_seconds", Self.whole(now.greatest("dossier_events_oldest_pending_seconds"))
      ),
      ("webhook_lag_seconds", Self.whole(now.greatest("dossier_webhook_lag_seconds"))),
      ("log_stream_lag_seconds", Self.whole(now.greatest("dossier_log_stream_lag_seconds"))),
    ]
  }

  /// The routes with the longest mean time, with the requests and errors of each.
  private var slowest: [JSON] {
    let counts = rates("dossier_requests_total", by: "route")
    let times = rates("dossier_route_seconds_total", by: "route")
    var failed: [String: Double] = [:]
    for (host, earlier) in zip(now.hosts, before.hosts) {
      let isFailure = { (sample: MetricSamples.Sample) in sample["status_class"] == "5xx" }
      for sample in host.all(of: "dossier_requests_total") where isFailure(sample) {
        guard let route = sample["route"] else { continue }
        let old = earlier.sum(of: "dossier_requests_total") {
          isFailure($0) && $0["route"] == route
        }
        failed[route, default: 0] += max(0, sample.value - old) / seconds
      }
    }
    let rows = counts.map { (route: $0.key, rate: $0.value, mean: (times[$0.key] ?? 0) / $0.value) }
      .sorted { ($0.mean, $1.route) > ($1.mean, $0.route) }
    return rows.prefix(most).map { row in
      [
        "route": .string(row.route), "requests_per_second": Self.number(row.rate),
        "failed_per_second": Self.number(failed[row.route] ?? 0),
        "mean_milliseconds": Self.number(row.mean * 1_000, digits: 3),
      ]
    }
  }

  /// The clients or networks with the most requests, of all hosts.
  private func busiest(_ kind: String) -> [JSON] {
    let loads = now.sums("dossier_\(kind)_load", by: kind)
    return now.sums("dossier_\(kind)_requests_per_second", by: kind)
      .sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(most)
      .map { key, rate in
        let mean = (loads[key] ?? 0) / max(rate, 1e-9)
        return .object(
          JSONObject([
            (kind, .string(key)), ("requests_per_second", Self.number(rate)),
            ("mean_milliseconds", Self.number(mean * 1_000, digits: 3)),
          ]))
      }
  }

  var json: JSON {
    var members = JSONObject()
    for (key, value) in summary { members[key] = value }
    members["slowest_routes"] = .array(JSONArray(slowest))
    members["busiest_clients"] = .array(JSONArray(busiest("client")))
    members["busiest_networks"] = .array(JSONArray(busiest("network")))
    return .object(members)
  }

  var text: String {
    let numbers: [JSON] = summary.map { ["now": .string($0.key), "value": $0.value] }
    return CommandOutput(.array(JSONArray(numbers)), columns: ["now", "value"]).text(asJSON: false)
      + "\n"
      + CommandOutput(
        .array(JSONArray(slowest)),
        columns: ["route", "requests_per_second", "failed_per_second", "mean_milliseconds"]
      ).text(asJSON: false)
      + ["client", "network"].map(table).joined()
  }
  /// Returns the table of the busiest clients or networks; an empty text without any.
  private func table(_ kind: String) -> String {
    let rows = busiest(kind)
    guard !rows.isEmpty else { return "" }
    return "\n"
      + CommandOutput(
        .array(JSONArray(rows)), columns: [kind, "requests_per_second", "mean_milliseconds"]
      ).text(asJSON: false)
  }
}
