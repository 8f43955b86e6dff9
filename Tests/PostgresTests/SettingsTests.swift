import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests the settings of connections, and what happens when the server has others.
@Suite struct SettingsTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let settings = Statement<String>(
      "test.settings",
      """
      select concat_ws(' ', current_setting('transaction_isolation'),
        current_setting('transaction_deferrable'), current_setting('bytea_output'),
        (select setting from pg_settings where name = 'lock_timeout'))
      """)
    static let conflict = Statement<Int, Int>("test.conflict", "select conflict($1::int)")
  }

  @Test @EventLoop func `no server setting changes what statements rely on`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let connection = try await Connection.open(.patient(name))
    for setting in [
      "default_transaction_isolation = 'serializable'", "default_transaction_deferrable = on",
      "bytea_output = 'escape'", "lock_timeout = 1", "datestyle = 'German'",
    ] {
      try await connection.script(
        "do $$ begin execute format('alter database %I set \(setting.replacing("'", with: "''"))', "
          + "current_database()); end $$"
      )
    }
    connection.close()
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    let expected = "read committed off hex 300000"
    #expect(try await database.write(Queries.settings) == [expected])
    #expect(try await database.read(Queries.settings) == ["read committed off hex 0"])
    #expect(try await database.search(Queries.settings) == ["read committed off hex 0"])
  }

  @Test @EventLoop func `a read is repeated a few times after a conflict`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let connection = try await Connection.open(.patient(name))
    try await connection.script(
      """
      create sequence tries;
      create function conflict(most int) returns int language plpgsql as $$
      begin
        -- A sequence is not rolled back.
        if nextval('tries') < most then
          raise exception 'in the way' using errcode = '40001';
        end if;
        return currval('tries');
      end $$;
      """)
    connection.close()
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    #expect(try await database.read(Queries.conflict, 3) == [3])
    #expect(try await database.search(Queries.conflict, 6) == [6])
    let error = await #expect(throws: DatabaseError.self) {
      try await database.read(Queries.conflict, 1_000)
    }
    #expect(error?.state == .serializationFailure && error?.isTransient == true)
  }
}
