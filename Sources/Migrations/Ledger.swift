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
    /// The migration without its up statements, `Migration.undoing`, to undo it without its file.
    ///
    /// Nil if an older program applied it.
    package let down: String?

    package init(
      version: Int,
      name: String,
      checksum: String,
      appliedAt: String = "",
      appliedBy: String = "",
      duration: Int = 0,
      down: String? = nil
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

  /// The progress of a file without a transaction, in its current direction.
  package struct Progress: Equatable, Sendable {
    package let version: Int
    /// The statement to continue with.
    package let statement: Int
    /// The checksum of the statements before it.
    package let checksum: String
    /// Whether the statement was begun and its end was not recorded.
    package let isAttempted: Bool

    package init(version: Int, statement: Int, checksum: String, isAttempted: Bool) {
      self.version = version
      self.statement = statement
      self.checksum = checksum
      self.isAttempted = isAttempted
    }
  }

  package static let tables = ["schema_migrations", "schema_migration_progress"]

  package let schema: String
  package var exists: Bool
  /// Whether the ledger has a column for down parts.
  ///
  /// Older programs did not create it.
  package var keepsDownParts: Bool
  package var entries: [Entry]
  package var progress: Progress?

  package init(
    schema: String,
    exists: Bool = true,
    keepsDownParts: Bool = true,
    entries: [Entry] = [],
    progress: Progress? = nil
  ) {
    self.schema = schema
    self.exists = exists
    self.keepsDownParts = keepsDownParts
    self.entries = entries
    self.progress = progress
  }

  /// Reads the ledger without creating it.
  @EventLoop package init(_ connection: Connection) async throws(DatabaseError) {
    guard let schema = try await connection.query("select current_schema()").rows.first?[0] else {
      throw DatabaseError(SQLState(rawValue: "3F000"), "no schema of the search path exists")
    }
    self.init(schema: schema, exists: false, keepsDownParts: false)
    let found = try await connection.query(
      """
      select to_regclass($1), to_regclass($2), exists (select from pg_attribute
        where attrelid = to_regclass($1) and attname = 'down' and not attisdropped)
      """,
      [table, progressTable]
    )
    guard let row = found.rows.first, row[0] != nil, row[1] != nil else { return }
    exists = true
    keepsDownParts = row[2] == "t"
    let rows = try await connection.query(
      """
      select version, name, checksum, \
      to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), \
      applied_by, duration_ms, \(keepsDownParts ? "down" : "null") \
      from \(table) order by version
      """
    ).rows
    entries = rows.map { row in
      Entry(
        version: row[0].flatMap { Int($0) } ?? 0,
        name: row[1] ?? "",
        checksum: row[2] ?? "",
        appliedAt: row[3] ?? "",
        appliedBy: row[4] ?? "",
        duration: row[5].flatMap { Int($0) } ?? 0,
        down: row[6]
      )
    }
    let under = try await connection.query(
      """
      select version, statement_index, checksum, attempted_at is not null \
      from \(progressTable) order by version limit 1
      """
    ).rows
    progress = under.first.map { row in
      Progress(
        version: row[0].flatMap { Int($0) } ?? 0,
        statement: row[1].flatMap { Int($0) } ?? 0,
        checksum: row[2] ?? "",
        isAttempted: row[3] == "t"
      )
    }
  }

  // MARK: SQL statements

  package var table: String { "\(quotedName(schema)).schema_migrations" }
  package var progressTable: String { "\(quotedName(schema)).schema_migration_progress" }

  /// The statements that create both tables, and add columns missing from an older program's
  /// tables.
  package var creation: [String] {
    [
      """
      create table if not exists \(table) (
        version integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null,
        applied_by text not null,
        duration_ms bigint not null
      )
      """,
      "alter table \(table) add column if not exists down text",
      """
      create table if not exists \(progressTable) (
        version integer primary key,
        statement_index integer not null,
        checksum text not null,
        began_at timestamptz not null,
        attempted_at timestamptz
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

  /// Returns the statement that stores the down part of a migration applied by an older program.
  func keeping(_ migration: Migration) -> String {
    """
    update \(table) set down = \(quotedText(migration.undoing))
    where version = \(migration.version) and checksum = \(quotedText(migration.checksum))
    """
  }

  func deletion(of migration: Migration) -> String {
    "delete from \(table) where version = \(migration.version)"
  }

  func beginning(of migration: Migration) -> String {
    """
    insert into \(progressTable) (version, statement_index, checksum, began_at)
    values (\(migration.version), 0, \(quotedText(Migration.checksum(""))), clock_timestamp())
    """
  }

  func attempt(at migration: Migration, isOver: Bool = false) -> String {
    """
    update \(progressTable) set attempted_at = \(isOver ? "null" : "clock_timestamp()")
    where version = \(migration.version)
    """
  }

  func advance(of migration: Migration, to statement: Int, checksum: String) -> String {
    """
    update \(progressTable)
    set statement_index = \(statement), checksum = \(quotedText(checksum)), attempted_at = null
    where version = \(migration.version)
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
