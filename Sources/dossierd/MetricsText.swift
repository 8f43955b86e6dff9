/// A builder of Prometheus's text format.
///
/// - Source: Prometheus exposition formats, text version 0.0.4.
struct MetricsText {
  private(set) var text = ""
  private var family = ""

  /// Begins a metric family for the samples that follow, unless it has begun.
  mutating func family(_ name: String, _ type: String, _ help: String) {
    guard name != family else { return }
    family = name
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  mutating func sample(
    _ labels: [(String, String)], _ value: some CustomStringConvertible, suffix: String = ""
  ) {
    let pairs = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
    text += family + suffix + (labels.isEmpty ? "" : "{\(pairs)}") + " \(value)\n"
  }
}

extension Metrics.Gauge {
  var name: String {
    switch self {
    case .databaseUp: "dossier_database_up"
    case .mailAge: "dossier_mail_queue_oldest_seconds"
    case .reads, .writes, .searches, .largeReads: "dossier_database_requests_active"
    case .writesWaiting, .searchesWaiting, .largeReadsWaiting: "dossier_database_requests_waiting"
    default: "dossier_" + "\(self)".snakeCased
    }
  }

  /// The lane of a gauge of requests; gauges of one family follow one another.
  var lane: String? {
    switch self {
    case .reads: "read"
    case .writes, .writesWaiting: "write"
    case .searches, .searchesWaiting: "search"
    case .largeReads, .largeReadsWaiting: "large"
    default: nil
    }
  }

  /// Whether every worker reports the same value, so that values are not summed.
  var isOfDatabase: Bool { self == .mailQueue || self == .mailAge }

  var help: String {
    switch self {
    case .workers: "Running workers, including draining ones."
    case .ready: "Workers that were ready at their last check."
    case .databaseUp: "Workers with database connections for reads and writes."
    case .connections: "Connections of nginx."
    case .reads, .writes, .searches, .largeReads:
      "Requests that PostgreSQL works on, by lane; each write, search and large read has a connection."
    case .writesWaiting, .searchesWaiting, .largeReadsWaiting:
      "Requests that wait for a connection of their lane."
    case .hashing: "Passwords that are hashed, or wait for that."
    case .mailQueue: "Mails in the queue, including abandoned ones; at most 10,000."
    case .mailAge: "Age of the oldest unsent mail in the queue."
    }
  }
}

extension Metrics.Counter {
  var name: String {
    switch self {
    case .databaseMicroseconds: "dossier_database_seconds_total"
    case .hashes: "dossier_password_hashes_total"
    case .eventLoopLag: "dossier_event_loop_lag_max_seconds"
    default: "dossier_" + "\(self)".snakeCased + "_total"
    }
  }

  /// Whether the metric is measured in microseconds and reported in seconds.
  var isTime: Bool { self == .databaseMicroseconds || self == .eventLoopLag }

  var help: String {
    switch self {
    case .workerStarts: "Started workers."
    case .databaseMicroseconds: "Time that requests waited for PostgreSQL."
    case .hashes: "Hashed passwords."
    case .eventLoopStalls: "Turns of an event loop of over 50 ms, in which other requests wait."
    case .eventLoopLag: "The longest turn since the start."
    case .mailsSent: "Mails that the relay accepted."
    case .mailsAbandoned: "Abandoned mails."
    }
  }
}

extension String {
  /// The name in snake case: `databaseUp` becomes `database_up`.
  var snakeCased: String {
    reduce(into: "") { text, character in
      if character.isUppercase { text += "_" }
      text += character.lowercased()
    }
  }
}
