import Distribution
import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests that statements can run on a database that is distributed by `user_id`.
@Suite struct StatementRulesTests {
  init() { LoopThread.start() }

  /// The statements that break a rule, by the reason.
  ///
  /// Each reason may only lose names.
  static let exceptions = [
    "Lists of users ask all shards on purpose, for operators and back ends.": """
    users.export users.export_some schemas.page search_indexes.users sessions.users audit_log.app
    audit_log.after audit_log.event audit_log.next_action audit_log.next_actor user_roles.users roles.users removed_scopes.users sessions.provider_of_issuer
    user_records.sign_ins connections.dependents passkey_domain.count sign_in_check.similar app_search.session
    support_sessions.find support_sessions.session merges.find user_state.watch
    """,
    "Pages of keys ask all shards on purpose, so that the commands of operators change rows by key.":
      """
    apps.users apps.subjects apps.events rate_limits.page stored_addresses.page
    reencryption.mails reencryption.job_parts reencryption.factors reencryption.tokens reencryption.merges reencryption.older_keys reencryption.older_recovery_codes
    """,
    "Work on a search index asks all shards on purpose, a range of users at a time.": """
    search_indexes.fill search_indexes.differing search_indexes.clear
    """,
    "Pages of expired and unused rows ask all shards on purpose; each row is deleted by its key.":
      """
    maintenance.rate_limits_page maintenance.audit_page maintenance.authentication_flows_page
    maintenance.authorizations_page maintenance.document_versions_page
    maintenance.idempotency_keys_page maintenance.job_parts_page maintenance.mail_tokens_page maintenance.own_changes_page
    maintenance.reservations_page maintenance.sessions_page unused.users unused.devices
    unused.device_accounts maintenance.additional_subjects_page maintenance.support_codes_page maintenance.merges_page
    maintenance.deleted_users_page
    maintenance.mail_deliveries_page
    """,
    "Pages and counts of the outbox ask all shards on purpose; a worker claims a row by its key.":
      """
    logout_notices.due token_revocations.due outbox.due outbox.expired outbox.ids outbox.page outbox.newest outbox.of_user outbox.failed outbox.state
    mail_deliveries.page
    readiness.late_mails
    """,
    "The publisher asks all shards on purpose for what waits, and marks it by its key.": """
    events.pending events.oldest events.oldest_change events.remove_changes
    events.ended_sessions feeds.all feeds.lasts
    """,
    "One PostgreSQL only gets the change of a document together with its event.": """
    documents.update_and_queue
    """,
    "A pass over webhooks or log streams asks all shards on purpose, once; each is then handled by its key.":
      """
    webhooks.work webhooks.known webhooks.lags webhook_notices.due log_streams.work log_streams.known
    """,
    "Counts by day ask all shards on purpose, in the background and a page at a time.": """
    daily_counts.events daily_counts.sign_ups daily_counts.users
    """,
    "A logout at an issuer that names no user asks all shards for its session.": """
    issuer_sign_out.users
    """,
    "A page of events finds the addresses of its users in one read of the shards of their keys.":
      """
    audit_names.users
    """,
    "An import finds the users of a batch in one read of the shards of their keys.": """
    imports.subjects imports.users imports.identities_of_users imports.events imports.done
    """,
  ]

  /// The names of all of them.
  static let listed = Set(exceptions.values.flatMap { $0.split(whereSeparator: \.isWhitespace) })

  @Test func `no statement but the listed ones breaks a rule`() {
    let listed = Self.listed
    var found: [String: Set<String>] = [:]
    for statement in allStatements {
      let broken = StatementRules("\(statement.sql)").broken
      if !broken.isEmpty { found["\(statement.name)"] = broken }
    }
    for (name, broken) in found where !listed.contains(name[...]) {
      Issue.record("\(name): \(broken.sorted().joined(separator: ", "))")
    }
    #expect(listed.filter { found[String($0)] == nil } == [], "they obey now: remove them")
  }

  @Test func `no listed statement is on the express lane, where others wait for it`() throws {
    let texts = try SourceFiles.all().map(\.text)
    var constants: Set<String> = []
    for part in texts.flatMap({ $0.split(separator: "enum ") }) where part.contains("Statement<") {
      let type = part.prefix { $0.isLetter }
      for match in part.matches(of: /let (\w+) = Statement<[^()]*?>\(\s*"([\w.]+)"/)
      where Self.listed.contains(match.2) { constants.insert("\(type).\(match.1)") }
    }
    #expect(constants.count > 30)
    // A call, with the rest of its arguments. Those that name another lane end with it.
    let call = /\.(?:read|first|add)\(\s*(\w+\.\w+)((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?/
    var others = 0
    for match in texts.flatMap({ $0.matches(of: call) }) where constants.contains(String(match.1)) {
      let isOnOther = match.2?.firstMatch(of: /, on: \.\w+\s*\)$/) != nil
      others += isOnOther ? 1 : 0
      #expect(isOnOther, "\(match.0)")
    }
    #expect(others > 15)
  }

  @Test(arguments: [
    ("select 1 from users where user_id = $1", 0),
    ("select 1 from users u where u.user_id = $1", 0),
    ("select 1 from users u where u.app_id = $1", 1),
    ("select 1 from users u join sessions s on s.user_id = u.user_id where u.user_id = $1", 1),
    ("delete from sessions s using users u where s.user_id = $1 and u.user_id = $1", 0),
    ("delete from sessions s using users u where s.user_id = $1 and u.user_id = $2", 1),
    ("insert into passwords (user_id, hash) values ($1, $2)", 0),
    ("with a as (insert into passwords (user_id) values ($1)) select 1", 1),
    ("with a as (delete from users where user_id = $1) insert into apps (name) values ($2)", 1),
    ("insert into apps (name) values ($1) on conflict do update set updated_at = now()", 1),
    ("update apps set updated_at = now() where name = $1", 0),
    ("update apps set updated_at = coalesce(updated_at, now()) where name = $1", 1),
    ("update apps set updated_at = case when $2 then now() end where name = $1", 1),
    ("update apps set name = coalesce($2, name), updated_at = now() where name = $1", 0),
    ("update apps set name = $2 where name = $1 returning now()", 1),
    ("update apps set (name, settings) = (select $1, $2)", 1),
    ("select coalesce(created_at, now()) from apps", 0),
    ("select 1 from apps for update skip locked", 1),
    ("insert into apps (name) select name from apps where name = $1 returning name", 1),
    ("insert into apps as n (name) select name from apps where name = $1 returning n.name", 0),
    ("select exists (select from apps)", 1), ("select 'from users' -- from users", 0),
  ])
  func `a statement that breaks a rule is found`(sql: String, count: Int) {
    #expect(StatementRules(sql).broken.count == count)
  }

  @Test func `each table is known to the rules`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let tables = try await Self.tables(of: database)
    #expect(tables == Set(Placement.tables.map(\.name)))
  }

  @EventLoop private static func tables(of database: String) async throws -> Set<String> {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    let rows = try await connection.query(
      """
      select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
        and relname not like 'schema_migration%'
      """,
      []
    ).rows
    return Set(rows.compactMap { $0[0] })
  }
}
