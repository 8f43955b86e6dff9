/// Where the rows of a table are, on a database that is distributed over Citus.
package enum Placement: Hashable, Sendable {
  /// Each node has all rows: a reference table of Citus.
  case everywhere
  /// The rows with one value of a column are on one node.
  ///
  /// Equal values of two tables of one group are on the same node. A group has the name of the
  /// first table in it.
  case sharded(by: String, group: String)
  /// The coordinator has all rows.
  case coordinator

  /// The tables of users, or with keys like theirs; a table precedes those that it leads.
  private static let ofUsers = """
    users identities passwords user_origins sessions api_keys mail_tokens device_accounts audit documents
    document_versions properties pictures search_values consents second_factors recovery_codes
    user_roles user_permissions additional_subjects identity_tokens passkeys merges
    support_codes unpublished_changes mail_deliveries
    """

  /// The other tables that are distributed, each with its key.
  private static let byKey = """
    devices.device_id identity_subjects.subject authorizations.authorization_id
    authentication_flows.place idempotency_keys.owner job_parts.job_id mail_outbox.mail_id
    event_feeds.feed_id feed_events.feed_id
    webhook_progress.webhook_id webhook_deliveries.webhook_id
    log_stream_progress.stream_id
    """

  /// The tables of operators.
  private static let ofOperators = """
    apps administrators app_hosts clients client_grants connections count_progress
    daily_counts document_schemas issuers log_streams resource_servers
    role_permissions roles search_indexes signing_keys webhooks
    """

  /// Each table of the schema with its placement, in the order in which they are distributed.
  ///
  /// Heartbeats of `hosts` must succeed while a node is away, and `imports` has large results; an app
  /// may have one row of `jobs` that runs. So these stay on the coordinator.
  package static let tables: [(name: String, placement: Placement)] =
    words(ofUsers).map { ($0, .sharded(by: "user_id", group: "users")) }
    + words(byKey).map { word in
      let parts = word.split(separator: ".").map(String.init)
      return (parts[0], .sharded(by: parts[1], group: "users"))
    }
    // Its key is bytes, so it cannot be in the group of texts.
    + [("rate_limits", .sharded(by: "subject", group: "rate_limits"))]
    + words(ofOperators).map { ($0, .everywhere) }
    + ["hosts", "imports", "jobs", "master_keys"].map { ($0, .coordinator) }

  /// The table of the coordinator that Citus knows, so that transactions can commit in two phases.
  package static let managed = "master_keys"

  /// The placements of the tables, and of the views of one table of users.
  package static let ofRelations: [String: Placement] = {
    var found: [String: Placement] = [:]
    for (name, placement) in tables { found[name] = placement }
    found["live_sessions"] = .sharded(by: "user_id", group: "users")
    found["profiles"] = .sharded(by: "id", group: "users")
    found["audit_entries"] = .sharded(by: "subject_id", group: "users")
    return found
  }()

  private static func words(_ text: String) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  /// The column by whose value the rows are distributed.
  package var key: String? {
    if case .sharded(let key, _) = self { key } else { nil }
  }
}

extension Placement: CustomStringConvertible {
  package var description: String {
    switch self {
    case .everywhere: "on each node"
    case .sharded(let key, let group): "by \(key), with \(group)"
    case .coordinator: "on the coordinator"
    }
  }
}
