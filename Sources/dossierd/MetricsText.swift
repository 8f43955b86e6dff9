/// A builder of Prometheus's text format.
///
/// - Source: Prometheus exposition formats, text version 0.0.4.
struct MetricsText {
  private(set) var text = ""
  private var family = ""

  /// Begins a metric family for the samples that follow.
  mutating func family(_ name: String, _ type: String, _ help: String) {
    family = name
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  mutating func sample(
    _ labels: [(String, String)],
    _ value: some CustomStringConvertible,
    suffix: String = ""
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
    default: "dossier_" + "\(self)".snakeCased
    }
  }

  /// Whether every worker reports the same value, so that values are not summed.
  var isOfDatabase: Bool { self == .mailQueue || self == .mailAge }

  var help: String {
    switch self {
    case .workers: "Workers that live; those that drain too."
    case .ready: "Workers that could serve a request when they last looked."
    case .databaseUp: "Workers that have connections for reads and writes."
    case .connections: "Connections of nginx."
    case .reads: "Reads under way."
    case .writes: "Connections for writes that are in use."
    case .writesWaiting: "Requests that wait for such a connection."
    case .searches: "Searches under way."
    case .searchesWaiting: "Requests that wait to search."
    case .largeValues: "Reads with large answers, such as pictures and exports, under way."
    case .largeValuesWaiting: "Requests that wait for such a read."
    case .hashing: "Passwords that are hashed or wait for it."
    case .mailQueue: "Mails in the queue of the database, also those given up."
    case .mailAge: "Age of the oldest mail there that is still to be sent."
    }
  }
}

extension Metrics.Counter {
  var name: String {
    switch self {
    case .databaseMicroseconds: "dossier_database_seconds_total"
    case .hashes: "dossier_password_hashes_total"
    case .longestTurn: "dossier_longest_turn_seconds"
    default: "dossier_" + "\(self)".snakeCased + "_total"
    }
  }

  /// Whether the metric is measured in microseconds and reported in seconds.
  var isTime: Bool { self == .databaseMicroseconds || self == .longestTurn }

  var help: String {
    switch self {
    case .workerStarts: "Workers that were started."
    case .databaseMicroseconds: "Time that requests waited for PostgreSQL."
    case .hashes: "Passwords that were hashed."
    case .longTurns: "Turns of a loop of over 50 ms: all else waits."
    case .longestTurn: "The longest of them since the start."
    case .mailsSent: "Mails that the relay took."
    case .mailsLost: "Mails that were given up."
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
