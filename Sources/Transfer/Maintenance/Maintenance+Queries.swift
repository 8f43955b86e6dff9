package import Postgres

/// Rows that expire by a condition of their own.
struct ExpiredRows {
  /// Returns the keys of a thousand rows, of all shards.
  let page: Statement<RowKey>
  let deletion: Statement<Int, String, String>

  /// - Parameters:
  ///   - table: the table.
  ///   - key: the column that distributes the table.
  ///   - rest: the column that tells rows of one key apart.
  ///   - condition: the condition of the expiry.
  ///   - page: the name of the statement that finds the rows.
  ///   - deletion: the name of the statement that deletes one, unless it was renewed meanwhile.
  private init(
    _ table: SQL, _ key: SQL, _ rest: SQL, _ condition: SQL, page: StaticString,
    deletion: StaticString
  ) {
    self.page = Statement(
      page, "select \(key), \(rest) from \(table) where \(condition) limit 1000"
    )
    self.deletion = Statement(
      deletion,
      "delete from \(table) where \(key) = $1 and \(rest) = $2 and \(condition) returning 1"
    )
  }

  static let all = [
    // Until then, the server can distinguish a stolen refresh token of an ended session from an
    // unknown one.
    ExpiredRows(
      "sessions", "user_id", "session_id",
      "least(ended_at, expires_at) < now() - interval '30 days'", page: "maintenance.sessions_page",
      deletion: "maintenance.sessions"
    ),
    // Rate limits that have recovered.
    ExpiredRows(
      "rate_limits", "subject", "app_id", "theoretical_arrival_at < now()",
      page: "maintenance.rate_limits_page", deletion: "maintenance.rate_limits"
    ),
    ExpiredRows(
      "mail_tokens", "user_id", "token_hash", "expires_at < now()",
      page: "maintenance.mail_tokens_page", deletion: "maintenance.mail_tokens"
    ),
    ExpiredRows(
      "authentication_flows", "place", "flow_id", "expires_at < now()",
      page: "maintenance.authentication_flows_page", deletion: "maintenance.authentication_flows"
    ),
    // For a day, the pages can begin an expired one again.
    ExpiredRows(
      "authorizations", "authorization_id", "app_id", "expires_at < now() - interval '1 day'",
      page: "maintenance.authorizations_page", deletion: "maintenance.authorizations"
    ),
    // Former addresses that are no longer reserved for their users.
    ExpiredRows(
      "identity_subjects", "subject", "app_id", "provider = 'email' and reserved_until < now()",
      page: "maintenance.reservations_page", deletion: "maintenance.reservations"
    ),
    // The same addresses in the rows of their users.
    ExpiredRows(
      "additional_subjects", "user_id", "subject", "reserved_until < now()",
      page: "maintenance.additional_subjects_page", deletion: "maintenance.additional_subjects"
    ),
    ExpiredRows(
      "idempotency_keys", "owner", "key_hash", "expires_at < now()",
      page: "maintenance.idempotency_keys_page", deletion: "maintenance.idempotency_keys"
    ),
  ]
}

package enum MaintenanceQueries {
  static let batch = 1_000

  /// Deletes imports that have not continued for 30 days.
  private static let imports = Statement<Int>(
    "maintenance.imports",
    "delete from imports where changed_at < now() - interval '30 days' returning 1"
  )

  /// Deletes hosts that have served nothing for a week.
  private static let hosts = Statement<Int>(
    "maintenance.hosts", "delete from hosts where seen_at < now() - interval '7 days' returning 1"
  )

  static let local = [imports, hosts]

  /// Returns what each app keeps.
  ///
  /// The deployment's own events, under the app id of zeros, stay for the default time.
  static let apps = Statement<AppRetention>(
    "maintenance.apps",
    """
    select p.app_id, lpad(to_hex(extract(epoch from now()
        - coalesce((p.settings ->> 'audit_retention_days')::bigint, 365) * interval '1 day')::bigint),
        8, '0'),
      case when p.kept is not null then lpad(to_hex(extract(epoch from now()
        - coalesce((p.settings ->> 'data_event_days')::bigint, 0) * interval '1 day')::bigint),
        8, '0') end,
      p.kept::bigint
    from (
      select app_id::text, settings, document_versions_kept as kept from apps
      union all select repeat('0', 24), '{}', null) p
    """)

  /// Returns the keys of an app's oldest events, if their ids are less than `$2`.
  ///
  /// Served by `audit_by_app`.
  static let oldEvents = Statement<RowKey, String, String>(
    "maintenance.audit_page",
    """
    select user_id, event_id from audit where app_id = $1 and event_id < $2
    order by event_id limit 1000
    """)

  /// Returns the keys of a thousand events of users' changes to their own data, which their app may
  /// keep for a shorter time.
  ///
  /// Served by `audit_own_changes`.
  static let oldChanges = Statement<RowKey, String, String>(
    "maintenance.own_changes_page",
    """
    select user_id, event_id from audit
    where app_id = $1 and event_id < $2 and action = 'data_change' and actor = 'user'
    order by event_id limit 1000
    """)

  /// Removes an event that is older than a day or whose app is deleted; else returns no row.
  ///
  /// Our role may not delete events itself.
  static let removeEvent = Statement<Int, String, String>(
    "maintenance.audit", "select 1 from remove_event($1, $2) is_removed where is_removed"
  )

  /// Returns the documents of a thousand versions that an app may no longer keep.
  ///
  /// Served by `document_versions_by_kept`.
  static let excessVersions = Statement<RowKey, String, Int>(
    "maintenance.document_versions_page",
    """
    select user_id, kind from document_versions where app_id = $1 and kept > $2 limit 1000
    """)

  static let lockDocument = Statement<NoRow, String, String>(
    "maintenance.lock_document",
    "select 1 from documents where user_id = $1 and kind = $2 for update"
  )

  static let trimVersions = Statement<Int, String, String, Int>(
    "maintenance.document_versions",
    """
    delete from document_versions v using documents d
    where v.user_id = $1 and v.kind = $2 and d.user_id = $1 and d.kind = $2
      and v.version <= d.version - $3
    returning 1
    """)

  static let markVersions = Statement<NoRow, String, String, Int>(
    "maintenance.mark_versions",
    "update document_versions set kept = $3 where user_id = $1 and kind = $2 and kept > $3"
  )

  package static let all: [any PreparedStatement] =
    ExpiredRows.all.map(\.page) + ExpiredRows.all.map(\.deletion) + local + [
      apps, oldEvents, oldChanges, removeEvent, excessVersions, lockDocument, trimVersions,
      markVersions,
    ]
}
