package import EventLoop
import Postgres

/// Compares the live schema with the schema that the applied migrations create.
///
/// The migrations run again, in a separate schema and in a transaction that is rolled back. The
/// same server prints both schemas, so its version does not matter. No other session sees the
/// changes.
@EventLoop package struct Rehearsal {
  private let session: MigratorSession
  private let ledger: Ledger
  private let migrations: [Migration]
  private let role: String?
  private let scratch = "dossier_verify_\(UInt64.random(in: 0 ... .max))"

  /// Prepares a comparison.
  ///
  /// - Parameters:
  ///   - session: a session, which may be read-only, since the transaction declares that it writes.
  ///   - ledger: the ledger of the live schema.
  ///   - migrations: the applied migrations, by version.
  ///   - role: the server's role, whose privileges are compared too.
  package init(
    _ session: MigratorSession, _ ledger: Ledger, _ migrations: [Migration],
    grantTo role: String? = nil
  ) {
    self.session = session
    self.ledger = ledger
    self.migrations = migrations
    self.role = role
  }

  /// The live schema, and what it must be.
  package struct Comparison {
    package let expected: Catalog
    /// The expected schema after a restore from a dump.
    fileprivate let restored: Catalog
    package let live: Catalog

    /// Returns how the live schema differs, without some facts, or nil if it does not.
    package func difference(without titles: Set<String> = []) -> String? {
      Catalog(facts: expected.facts.filter { !titles.contains($0.key) })
        .difference(live, restored: restored)
    }
  }

  /// Returns how the live schema differs, or nil if it does not.
  ///
  /// - Throws: `.statementFailed` if the server rejects a statement, `.connectionLost`.
  package func difference() async throws(MigrationError) -> String? {
    try await comparison().difference()
  }

  /// Returns both schemas.
  ///
  /// - Throws: `.statementFailed` if the server rejects a statement, `.connectionLost`.
  package func comparison() async throws(MigrationError) -> Comparison {
    try await session.run("begin read write")
    do throws(MigrationError) {
      let comparison = try await compare()
      try await session.run("rollback")
      return comparison
    } catch {
      // If the rollback fails, the connection is lost and the server rolls back by itself.
      _ = try? await session.connection.script("rollback")
      throw error
    }
  }

  private func compare() async throws(MigrationError) -> Comparison {
    try await enter(ledger.schema)
    let live = try await Catalog(session, role: role)
    try await run(
      "create schema \(quotedName(scratch))",
      rest: "verify creates a schema and rolls it back: grant the role CREATE on the database"
    )
    try await enter(scratch)
    let expected = try await applied()
    try await run(Rehearsal.restore, rest: Self.inScratch)
    let restored = try await Catalog(session, role: role)
    return Comparison(expected: expected, restored: restored, live: live)
  }

  private static let inScratch =
    "this failed in a schema that verify had created for its comparison; the database was not changed"

  /// Applies the migrations, and returns the catalog of the result.
  private func applied() async throws(MigrationError) -> Catalog {
    let ledger = Ledger(schema: scratch)
    if self.ledger.exists {
      try await run(ledger.creation.joined(separator: ";\n"), rest: Self.inScratch)
    }
    for migration in migrations {
      // Any other statement that needs no transaction changes no schema.
      if let sql = migration.isTransactional ? migration.up.text : migration.up.rehearsedIndex {
        try await run(sql, file: migration.file, line: migration.up.line(of:), rest: Self.inScratch)
      }
      try await session.reset()
      try await enter(scratch)
    }
    if let role {
      try await run(
        Grants.statements(ledger, to: role).joined(separator: ";\n"), rest: Self.inScratch
      )
    }
    return try await Catalog(session, role: role)
  }

  /// Makes a schema the only one in the search path.
  ///
  /// A migration that names a table of the live schema could wait for its users or block them. The
  /// lock timeout makes it fail instead. Of a distributed database, only the coordinator gets the
  /// schema; without Citus, the setting means nothing.
  private func enter(_ schema: String) async throws(MigrationError) {
    try await session.run(
      "set local search_path to \(quotedName(schema)); set local lock_timeout = '1s'; "
        + "set local citus.enable_ddl_propagation = off"
    )
  }

  private func run(
    _ sql: String, file: String = "verify", line: ((Int?) -> Int?)? = nil, rest: String
  ) async throws(MigrationError) {
    do throws(DatabaseError) {
      try await session.connection.script(sql)
    } catch {
      throw MigrationError(error, file: file, line: line?(error.position), rest: rest)
    }
  }

  /// Replaces each parsed function and view by the text that the server prints, as a restore does.
  ///
  /// The server may print the restored form differently. For example, it then prints column names
  /// that the original omitted.
  private static let restore = """
    do $$
    declare definition text;
    begin
      for definition in
        select pg_get_functiondef(oid) from pg_proc
        where pronamespace = current_schema()::regnamespace and prosqlbody is not null
        union all
        select format('create or replace view %I %s as %s', relname,
          'with (' || array_to_string(reloptions, ', ') || ')', pg_get_viewdef(oid))
        from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'v'
      loop
        execute definition;
      end loop;
    end $$
    """
}
