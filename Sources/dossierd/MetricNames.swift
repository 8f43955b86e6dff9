extension Metrics.Gauge {
  var name: String {
    switch self {
    case .databaseUp: "dossier_database_up"
    case .mailAge: "dossier_mail_queue_oldest_seconds"
    case .eventAge: "dossier_events_oldest_pending_seconds"
    case .logStreamLag: "dossier_log_stream_lag_seconds"
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
  var isOfDatabase: Bool { [.mailQueue, .mailAge, .eventAge, .logStreamLag].contains(self) }

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
    case .eventAge: "Age of the oldest event that is not published yet."
    case .logStreamLag: "Age of the oldest event that a log stream has not sent."
    }
  }
}

extension Metrics.Counter {
  var name: String {
    switch self {
    case .databaseMicroseconds: "dossier_database_seconds_total"
    case .hashes: "dossier_password_hashes_total"
    case .eventLoopLag: "dossier_event_loop_lag_max_seconds"
    case .eventDelay: "dossier_event_delay_seconds_total"
    default: "dossier_" + "\(self)".snakeCased + "_total"
    }
  }

  /// Whether the metric is measured in microseconds and reported in seconds.
  var isTime: Bool { [.databaseMicroseconds, .eventLoopLag, .eventDelay].contains(self) }

  var help: String {
    switch self {
    case .workerStarts: "Started workers."
    case .databaseMicroseconds: "Time that requests waited for PostgreSQL."
    case .hashes: "Hashed passwords."
    case .eventLoopStalls: "Turns of an event loop of over 50 ms, in which other requests wait."
    case .eventLoopLag: "The longest turn since the start."
    case .mailsSent: "Mails that the relay accepted."
    case .mailsAbandoned: "Abandoned mails."
    case .eventsPublished: "Events that were published in feeds."
    case .webhookDeliveries: "Deliveries that receivers of webhooks accepted."
    case .webhookFailures: "Attempts that receivers of webhooks did not accept."
    case .logStreamEvents: "Events that log systems accepted."
    case .logStreamFailures: "Batches that log systems did not accept."
    case .otlpSpansDropped: "Spans that a full queue or the collector did not take."
    case .eventDelay: "Time from the events to their publication."
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
