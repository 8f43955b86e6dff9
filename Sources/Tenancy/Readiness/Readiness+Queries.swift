package import Postgres

/// The state of the server, and the privileges of our role.
struct ServerState: RowDecodable {
  /// Whether it enforces the statement timeout that every connection of ours requests.
  let hasTimeout: Bool
  let isReadOnly: Bool
  let hasLedger: Bool
  let role: String
  /// Whether the extension Citus is installed.
  let hasCitus: Bool
  /// A table that the role may not read and change, if any.
  let forbiddenTable: String?

  init(from row: Row) throws(DatabaseError) {
    hasTimeout = try row.bool(0)
    isReadOnly = try row.bool(1)
    hasLedger = try row.bool(2)
    role = try row.text(3)
    hasCitus = try row.bool(4)
    forbiddenTable = row.text(ifAny: 5)
  }
}

/// Facts about a working server, for operators.
package struct ServerFacts: RowDecodable {
  /// Milliseconds since 1970.
  package let time: Int
  package let maxConnections: Int

  package init(from row: Row) throws(DatabaseError) {
    time = try row.int(0)
    maxConnections = try row.int(1)
  }
}

package enum ReadinessQueries {
  /// Returns the state of the server, also for a database without tables.
  static let server = Statement<ServerState>(
    "readiness.server",
    """
    select current_setting('statement_timeout') <> '0',
      current_setting('transaction_read_only')::boolean,
      coalesce(has_table_privilege(to_regclass('schema_migrations'), 'select'), false),
      current_user::text, to_regclass('pg_catalog.pg_dist_partition') is not null,
      (select min(c.relname)::text from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
          and c.relname not in ('schema_migrations', 'schema_migration_progress')
          and not (has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
            and (c.relname = 'audit' or has_table_privilege(c.oid, 'update')
              and has_table_privilege(c.oid, 'delete'))))
    """)

  /// Returns the newest migration that is complete, as are all before it.
  static let version = Statement<Int>(
    "readiness.version",
    """
    select coalesce(max(version), 0)::bigint from schema_migrations
    """)

  static let app = Statement<String, String>(
    "readiness.app", "select name from apps where name = $1"
  )

  /// Returns the clock and the limits of the server.
  static let facts = Statement<ServerFacts>(
    "readiness.facts",
    """
    select (extract(epoch from clock_timestamp()) * 1000)::bigint,
      current_setting('max_connections')::bigint
    """)

  /// Counts the mails of all shards that are long overdue or abandoned.
  static let lateMails = Statement<Int>(
    "readiness.late_mails",
    """
    select count(*) from mail_outbox
    where next_attempt_at is null or created_at < now() - interval '15 minutes'
    """)

  /// Attempts a write with the resources that other writes need.
  ///
  /// These are a new page on disk, for a value of several kilobytes, and PL/pgSQL, which PostgreSQL
  /// loads from a file.
  static let write = Statement<NoRow, String, String>(
    "readiness.write",
    """
    insert into hosts (name, version, master_key, settings, seen_at)
    values ($1, '', '', merge_patch('{}', jsonb_build_object('attempt', $2::text)), now())
    """)

  package static let all: [any PreparedStatement] = [server, version, app, facts, lateMails, write]
}
