package import EventLoop
package import Postgres

/// The database's record of the migrations: two tables in the first schema of the search path.
package struct Ledger: Sendable {
  package struct Entry: Sendable {
    package let version: Int
    package let name: String
    package let checksum: String
    package let appliedAt: String
    package let appliedBy: String
    package let duration: Int
    /// The migration without its up part, `Migration.undoing`, to undo it without its file.
    package let down: String

    package init(
      version: Int, name: String, checksum: String, appliedAt: String = "", appliedBy: String = "",
      duration: Int = 0, down: String = ""
    ) {
      self.version = version
      self.name = name
      self.checksum = checksum
      self.appliedAt = appliedAt
      self.appliedBy = appliedBy
      self.duration = duration
      self.down = down
    }
  }

  package static let tables = ["schema_migrations", "schema_migration_progress"]

  package let schema: String
  package var exists: Bool
  package var entries: [Entry]
  /// The migration without a transaction whose statement was begun, and its end not recorded.
  package var interrupted: Int?

  package init(
    schema: String, exists: Bool = true, entries: [Entry] = [], interrupted: Int? = nil
  ) {
    self.schema = schema
    self.exists = exists
    self.entries = entries
    self.interrupted = interrupted
  }

  /// Reads the ledger without creating it.
  @EventLoop package init(_ connection: Connection) async throws(DatabaseError) {
    guard let schema = try await connection.query("select current_schema()").rows.first?[0] else {
      throw DatabaseError(SQLState(rawValue: "3F000"), "no schema of the search path exists")
    }
    self.init(schema: schema, exists: false)
    let found = try await connection.query(
      """
      select to_regclass($1), to_regclass($2)
      """,
      [table, progressTable]
    )
    guard let row = found.rows.first, row[0] != nil, row[1] != nil else { return }
    exists = true
    let rows = try await connection.query(
      """
      select version, name, checksum, \
      to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), \
      applied_by, duration_ms, down \
      from \(table) order by version
      """
    ).rows
    entries = rows.map { row in
      Entry(
        version: row[0].flatMap { Int($0) } ?? 0, name: row[1] ?? "", checksum: row[2] ?? "",
        appliedAt: row[3] ?? "", appliedBy: row[4] ?? "", duration: row[5].flatMap { Int($0) } ?? 0,
        down: row[6] ?? ""
      )
    }
    let begun = try await connection.query("select min(version) from \(progressTable)").rows
    interrupted = begun.first?[0].flatMap { Int($0) }
  }

  // MARK: SQL statements

  package var table: String { "\(quotedName(schema)).schema_migrations" }
  package var progressTable: String { "\(quotedName(schema)).schema_migration_progress" }

  /// The statements that create both tables.
  package var creation: [String] {
    [
      """
      create table if not exists \(table) (
        version integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null,
        applied_by text not null,
        duration_ms bigint not null,
        down text not null
      )
      """,
      """
      create table if not exists \(progressTable) (
        version integer primary key,
        began_at timestamptz not null
      )
      """,
    ]
  }

  /// Returns the insertion of an applied migration, for the current transaction.
  func insertion(of migration: Migration) -> String {
    """
    insert into \(table) (version, name, checksum, applied_at, applied_by, duration_ms, down)
    values (\(migration.version), \(quotedText(migration.name)), \
    \(quotedText(migration.checksum)), clock_timestamp(), session_user,
      (extract(epoch from clock_timestamp() - transaction_timestamp()) * 1000)::bigint,
      \(quotedText(migration.undoing)))
    """
  }

  /// Returns the insertion of an applied migration without a transaction.
  ///
  /// Its start time was recorded.
  func slowInsertion(of migration: Migration) -> String {
    """
    insert into \(table) (version, name, checksum, applied_at, applied_by, duration_ms, down)
    select \(migration.version), \(quotedText(migration.name)), \
    \(quotedText(migration.checksum)), clock_timestamp(), session_user,
      (extract(epoch from clock_timestamp() - began_at) * 1000)::bigint,
      \(quotedText(migration.undoing))
    from \(progressTable) where version = \(migration.version)
    """
  }

  func deletion(of migration: Migration) -> String {
    "delete from \(table) where version = \(migration.version)"
  }

  func beginning(of migration: Migration) -> String {
    """
    insert into \(progressTable) (version, began_at)
    values (\(migration.version), clock_timestamp())
    """
  }

  func ending(of migration: Migration) -> String {
    "delete from \(progressTable) where version = \(migration.version)"
  }
}

/// Returns a quoted SQL identifier.
package func quotedName(_ name: String) -> String {
  "\"" + name.replacing("\"", with: "\"\"") + "\""
}

/// Returns a quoted SQL string.
package func quotedText(_ text: String) -> String {
  "'" + text.replacing("'", with: "''") + "'"
}
