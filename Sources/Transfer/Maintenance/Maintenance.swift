import Encoding
package import EventLoop
package import Postgres
import Runtime

/// Deletes expired data: pages of the keys of rows, and then each row by its key.
///
/// No statement locks rows of several keys, which a distributed database has on several nodes.
@EventLoop package final class Maintenance {
  private let database: Database
  private let unused: Unused

  /// - Parameters:
  ///   - database: the database.
  ///   - pages: the most pages of a thousand guests, and of a thousand devices, that a run looks
  ///     at. The next run continues there.
  package init(_ database: Database, pages: Int = 500) {
    self.database = database
    unused = Unused(pages: pages)
  }

  /// Deletes all data that has expired.
  ///
  /// Several runs may overlap; none blocks another for long. A task that fails stops no other task;
  /// the rows that it deleted before stay deleted.
  package func run() async -> MaintenanceReport {
    var report = MaintenanceReport()
    for rows in ExpiredRows.all {
      await report.run("\(rows.deletion.name)") { () async throws(DatabaseError) in
        try await remove(by: rows.deletion) { () async throws(DatabaseError) in
          try await database.write(rows.page)
        }
      }
    }
    for statement in MaintenanceQueries.local {
      await report.run("\(statement.name)") { () async throws(DatabaseError) in
        try await database.write(statement).count
      }
    }
    var apps: [AppRetention] = []
    await report.run("maintenance.apps") { () async throws(DatabaseError) in
      apps = try await database.write(MaintenanceQueries.apps)
      return 0
    }
    for app in apps {
      await report.run("maintenance.audit") { () async throws(DatabaseError) in
        try await removeEvents(of: app)
      }
      await report.run("maintenance.document_versions") { () async throws(DatabaseError) in
        try await trimVersions(of: app)
      }
    }
    await report.run("maintenance.anonymous") { () async throws(DatabaseError) in
      try await unused.removeUsers(database)
    }
    for app in apps {
      await report.run("maintenance.deleted_users") { () async throws(DatabaseError) in
        try await forgetUsers(of: app)
      }
    }
    await report.run("maintenance.devices") { () async throws(DatabaseError) in
      try await unused.removeDevices(database)
    }
    return report
  }

  /// Deletes the rows of pages by their keys, and returns their number.
  private func remove(
    by deletion: Statement<Int, String, String>,
    _ page: @EventLoop () async throws(DatabaseError) -> [RowKey]
  ) async throws(DatabaseError) -> Int {
    var count = 0
    while true {
      let keys = try await page().sorted()
      let calls = keys.map { PendingQuery(deletion, $0.key, $0.rest) }
      let removed = try await database.write(calls, returning: Int.self).count
      count += removed
      // If none was removed, another run removes them, or the clocks of two nodes differ.
      guard keys.count == MaintenanceQueries.batch, removed > 0 else { return count }
    }
  }

  /// Deletes events that are older than the settings of an app.
  private func removeEvents(of app: AppRetention) async throws(DatabaseError) -> Int {
    var count = try await remove(by: MaintenanceQueries.removeEvent) {
      () async throws(DatabaseError) in
      try await database.write(MaintenanceQueries.oldEvents, app.id, app.firstEvent)
    }
    guard let first = app.firstOwnChange else { return count }
    count += try await remove(by: MaintenanceQueries.removeEvent) {
      () async throws(DatabaseError) in
      try await database.write(MaintenanceQueries.oldChanges, app.id, first)
    }
    return count
  }

  /// Removes the addresses of users of an app who were deleted in the last two days, unless the
  /// deletion has done so.
  private func forgetUsers(of app: AppRetention) async throws(DatabaseError) -> Int {
    let users = try await database.write(MaintenanceQueries.deletedUsers, app.id)
    let calls = users.map { PendingQuery(EventQueries.forget, $0) }
    _ = try await database.write(calls, returning: NoRow.self)
    return users.count
  }

  /// Deletes document versions beyond the number that an app keeps; writes do the same for their
  /// document.
  ///
  /// The newest version of a document with too many was written when the app kept more. Each such
  /// document is therefore trimmed as a whole, and its remaining versions are marked.
  private func trimVersions(of app: AppRetention) async throws(DatabaseError) -> Int {
    guard let kept = app.versionsKept else { return 0 }
    var count = 0
    while true {
      let found = try await database.write(MaintenanceQueries.excessVersions, app.id, kept)
      for document in Set(found).sorted() {
        count += try await database.transaction { (transaction) async throws(DatabaseError) in
          let (user, kind) = (document.key, document.rest)
          // The lock excludes the writers of the document.
          _ = transaction.send(MaintenanceQueries.lockDocument, user, kind)
          let gone = transaction.send(MaintenanceQueries.trimVersions, user, kind, kept)
          _ = transaction.send(MaintenanceQueries.markVersions, user, kind, kept)
          transaction.sendCommit()
          return try await gone.rows().count
        }
      }
      guard found.count == MaintenanceQueries.batch else { return count }
    }
  }
}

/// The result of a run of the maintenance.
package struct MaintenanceReport: Sendable {
  /// The numbers of deleted rows, by the task; only tasks that deleted some.
  package private(set) var removed: [String: Int] = [:]
  /// The errors of the tasks that failed.
  package private(set) var faults: Set<String> = []

  /// Runs a task that deletes rows, and notes their number or its error.
  @EventLoop fileprivate mutating func run(
    _ task: String, _ body: @EventLoop () async throws(DatabaseError) -> Int
  ) async {
    do throws(DatabaseError) {
      let count = try await body()
      if count > 0 { removed[task, default: 0] += count }
    } catch {
      faults.insert("\(task): \(error)")
    }
  }
}

/// The key of a row: the column that distributes its table, and the rest.
struct RowKey: RowDecodable, Hashable, Comparable {
  let key: String
  let rest: String

  init(from row: Row) throws(DatabaseError) {
    key = try row.text(0)
    rest = try row.text(1)
  }

  static func < (one: RowKey, other: RowKey) -> Bool {
    (one.key, one.rest) < (other.key, other.rest)
  }
}

/// The limits of the data that an app keeps.
struct AppRetention: RowDecodable {
  let id: String
  /// The ids of older events are less.
  let firstEvent: String
  /// The same for users' changes of their own data; nil for the deployment.
  let firstOwnChange: String?
  /// The number of versions of a document; nil for the deployment.
  let versionsKept: Int?

  init(from row: Row) throws(DatabaseError) {
    id = try row.text(0)
    firstEvent = try row.text(1)
    firstOwnChange = row.text(ifAny: 2)
    versionsKept = try row.int(ifAny: 3)
  }
}

/// A row that a sweep reads.
protocol SweptRow: RowDecodable {
  /// The id, by which the pages are sorted.
  var id: String { get }
}

/// A scan of all rows of a table in the order of their ids, of which each run does a part.
///
/// A run continues after the last row of the run before it, and after the newest row with the
/// oldest. The first run of a process begins at a random time, so that restarts leave no row out.
@EventLoop final class Sweep<Row: SweptRow> {
  /// Returns the rows after an id.
  private let page: Statement<Row, String>
  /// The most pages of a run.
  private let pages: Int
  /// The id after which the next page begins; nil before the first run.
  private var next: String?

  init(_ page: Statement<Row, String>, pages: Int) {
    self.page = page
    self.pages = pages
  }

  /// Calls `body` with pages of rows, until all rows were read or the run has done its part.
  func run(
    _ database: Database, _ body: @EventLoop ([Row]) async throws(DatabaseError) -> Void
  ) async throws(DatabaseError) {
    let start = if let next { next } else { try await randomPlace(database) }
    var place = start
    var hasWrapped = false
    for _ in 0..<pages {
      let rows = try await database.write(page, place)
      place = rows.last?.id ?? ""
      next = place
      if rows.isEmpty {
        guard !hasWrapped, !start.isEmpty else { return }
        hasWrapped = true
      } else {
        try await body(rows)
        if hasWrapped, place >= start { return }
      }
    }
  }

  /// Returns the first digits of an id, of a random second between the oldest row and now.
  private func randomPlace(_ database: Database) async throws(DatabaseError) -> String {
    let ids = [try await database.write(page, "").first?.id ?? "", UserID().text]
    let times = ids.map { UInt32($0.prefix(8), radix: 16) ?? 0 }
    let time = UInt32.random(in: times[0]...max(times[0], times[1]))
    return String(time, digits: 8, radix: 16)
  }
}

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
      "support_codes", "user_id", "app_id", "expires_at < now()",
      page: "maintenance.support_codes_page", deletion: "maintenance.support_codes"
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
    // Merges of users that cannot be undone any more.
    ExpiredRows(
      "merges", "user_id", "merge_id", "expires_at < now()", page: "maintenance.merges_page",
      deletion: "maintenance.merges"
    ),
    ExpiredRows(
      "idempotency_keys", "owner", "key_hash", "expires_at < now()",
      page: "maintenance.idempotency_keys_page", deletion: "maintenance.idempotency_keys"
    ),
    // The results of the deliveries of mails.
    ExpiredRows(
      "mail_deliveries", "user_id", "mail_id", "ended_at < now() - interval '7 days'",
      page: "maintenance.mail_deliveries_page", deletion: "maintenance.mail_deliveries"
    ),
    // The input and the results of jobs.
    ExpiredRows(
      "job_parts", "job_id", "part", "created_at < now() - interval '7 days'",
      page: "maintenance.job_parts_page", deletion: "maintenance.job_parts"
    ),
  ]
}

package enum MaintenanceQueries {
  static let batch = 1_000

  /// Deletes imports that have not continued for 30 days.
  static let imports = Statement<Int>(
    "maintenance.imports",
    "delete from imports where changed_at < now() - interval '30 days' returning 1"
  )

  /// Deletes jobs whose input and results are deleted already, except those that run.
  static let jobs = Statement<Int>(
    "maintenance.jobs",
    """
    delete from jobs where created_at < now() - interval '30 days' and state <> 'running'
    returning 1
    """)

  /// Deletes hosts that have served nothing for a week.
  static let hosts = Statement<Int>(
    "maintenance.hosts", "delete from hosts where seen_at < now() - interval '7 days' returning 1"
  )

  /// Deletes the numbers of days more than two years ago.
  static let counts = Statement<Int>(
    "maintenance.daily_counts",
    "delete from daily_counts where day < current_date - 800 returning 1"
  )

  static let local = [imports, jobs, hosts, counts]

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
  /// Those that wait for their publication stay.
  ///
  /// Served by `audit_by_app`.
  static let oldEvents = Statement<RowKey, String, String>(
    "maintenance.audit_page",
    """
    select user_id, event_id from audit where app_id = $1 and event_id < $2 and not pending
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
      and not pending
    order by event_id limit 1000
    """)

  /// Returns a thousand users who were deleted in the last two days, and whose events have addresses.
  ///
  /// A user that was merged is still a person with an account. Served by `audit_by_action`.
  static let deletedUsers = Statement<UserID, String>(
    "maintenance.deleted_users_page",
    """
    select a.user_id from audit a
    where a.app_id = $1 and a.action = 'user_delete'
      and a.event_id > lpad(to_hex(extract(epoch from now() - interval '2 days')::bigint), 8, '0')
      and a.detail ->> 'linked_to' is null
      and exists (
        select 1 from audit e
        where e.user_id = a.user_id and e.address is not null
          and (e.action <> 'user_delete' or e.actor = 'user'))
    order by a.event_id limit 1000
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
}
