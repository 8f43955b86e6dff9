import EventLoop
import JSON
import Postgres
import Runtime
import TestSupport
import Testing

@testable import Documents

/// The work on a search index: ranges, phases, interruptions and other processes.
@Suite struct SearchIndexBuildTests {
  init() { LoopThread.start() }

  private static let users = 100
  /// The users of a range.
  private static let size = 7

  /// Users of two apps, whose documents have a value of each kind in turn.
  private static let documents = """
    insert into apps (app_id, name) values (repeat('a', 24), 'built'), (repeat('b', 24), 'other');
    insert into users (user_id, app_id, anonymous)
    select app || lpad(to_hex(g), 23, '0'), repeat(app, 24), true
    from generate_series(1, \(users)) g, unnest('{a,b}'::text[]) app;
    insert into documents (user_id, kind, body, version, deleted_at)
    select app || lpad(to_hex(g), 23, '0'), 'metadata', case g % 10
        when 0 then '{}' when 1 then '{"a": {"b": null}}' when 2 then '{"a": [{"b": 1}]}'
        when 3 then '{"a": {"b": "text"}}' when 4 then '{"a": {"b": true}}' when 5 then '{"a": 1}'
        else jsonb_build_object('a', jsonb_build_object('b', g)) end, 1,
      case g % 10 when 0 then now() end
    from generate_series(1, \(users)) g, unnest('{a,b}'::text[]) app
    where g % 10 <> 9;
    insert into search_indexes (app_id, index_id, document_kind, path, kind)
    values (repeat('a', 24), repeat('1', 24), 'metadata', '{a,b}', 'number');
    """

  /// The values that the documents have.
  private static let expected = (1...users).compactMap { number -> String? in
    let user = String(number, radix: 16)
    let text = "a" + String(repeating: "0", count: 23 - user.count) + user
    return switch number % 10 {
    case 2, 3, 4: "\(text) -"
    case 6, 7, 8: "\(text) \(number)"
    default: nil
    }
  }

  private enum Queries {
    static let indexes = Statement<SearchIndex>(
      "test.indexes",
      "select id, document_kind, path, kind, state, created_at from search_index_records"
    )
    static let values = Statement<String>(
      "test.values",
      """
      select user_id || ' ' || coalesce(number_value::text, '-') from search_values order by user_id
      """)
    static let state = Statement<String>(
      "test.state",
      """
      select state || ' ' || phase || ' ' || finished_users || ' ' || cardinality(open_ranges)
      from search_indexes
      """)
    static let hasten = Statement<NoRow>("test.hasten", "delete from slow")
    static let remove = Statement<NoRow>(
      "test.remove", "update search_indexes set state = 'removing', visible_since = null"
    )
  }

  /// A database with the documents, after another script.
  @EventLoop private static func database(after script: String = "") async throws -> Database {
    try await .started(
      on: TestCluster.shared.createMigratedDatabase(), after: documents + script)
  }

  @EventLoop private static func build(
    in database: Database, connections: Int = 2,
    _ progress: @escaping @EventLoop @Sendable (SearchIndexProgress) -> Void = { _ in }
  ) async throws {
    let index = try #require(try await database.write(Queries.indexes).first)
    try await SearchIndexBuild(
      index, connections: connections, size: size, in: database, progress
    ).run()
  }

  @Test(arguments: [1, 3]) @EventLoop
  func `an index gets the values of the documents of its app`(connections: Int) async throws {
    let database = try await Self.database()
    defer { database.stop() }
    let log = ProgressLog()
    try await Self.build(in: database, connections: connections) { log.seen.append($0) }
    let seen = log.seen
    #expect(try await database.write(Queries.values) == Self.expected)
    #expect(try await database.write(Queries.state) == ["ready check \(Self.users) 0"])
    #expect(Set(seen.map(\.phase)) == [.fill, .check])
    #expect(seen.filter { $0.phase == .fill }.map(\.users).max() == Self.users)
    #expect(seen.last?.ownUsers == Self.users)
    // Another run finds nothing to do.
    try await Self.build(in: database) { log.seen.append($0) }
    #expect(log.seen.count == seen.count)
  }

  @Test @EventLoop func `values that differ from the documents are corrected`() async throws {
    // As requests leave them that changed documents while values were added.
    let database = try await Self.database(
      after: """
        insert into search_values (user_id, index_id, number_value)
        select user_id, repeat('1', 24), 4711 from documents where user_id like 'a%';
        """)
    defer { database.stop() }
    try await Self.build(in: database)
    #expect(try await database.write(Queries.values) == Self.expected)
  }

  @Test(arguments: ["fill", "check"]) @EventLoop
  func `work continues where a killed process stopped`(phase: String) async throws {
    let user = "a" + String(repeating: "0", count: 21)
    let database = try await Self.database(
      after: """
        insert into search_values (user_id, index_id, number_value)
        select user_id, repeat('1', 24), (body #> '{a,b}')::numeric
        from documents where jsonb_typeof(body #> '{a,b}') = 'number' and user_id > '\(user)14'
          and user_id like 'a%';
        update search_indexes set phase = '\(phase)', claimed_to = '\(user)50',
          open_ranges = '{-\(user)0a-10,\(user)0a-\(user)14-10}', finished_users = 60;
        """)
    defer { database.stop() }
    let log = ProgressLog()
    try await Self.build(in: database) { log.seen.append($0) }
    #expect(try await database.write(Queries.state) == ["ready check \(Self.users) 0"])
    let values = try await database.write(Queries.values)
    let isDone = { (value: String) in
      value.prefix(24) > "\(user)14" && value.prefix(24) <= "\(user)50"
    }
    // Those that the killed process has finished are not worked on again in the same phase.
    #expect(
      values.filter { !isDone($0) } == Self.expected.filter { !isDone($0) })
    if phase == "fill" { #expect(values == Self.expected) }
    #expect(log.seen.first.map { $0.users > 60 } == true)
  }

  @Test @EventLoop func `a user who is deleted meanwhile stops no build`() async throws {
    // As the foreign key refuses the value of such a user.
    let database = try await Self.database(
      after: """
        create sequence tries;
        create function refuse() returns trigger language plpgsql as $$
        begin
          if nextval('tries') <= 3 then
            raise exception 'there is no such user' using errcode = 'foreign_key_violation';
          end if;
          return new;
        end $$;
        create trigger refused before insert on search_values for each row execute function refuse();
        """)
    defer { database.stop() }
    try await Self.build(in: database)
    #expect(try await database.write(Queries.values) == Self.expected)
  }

  @Test @EventLoop func `several processes share the work`() async throws {
    let database = try await Self.database()
    defer { database.stop() }
    let log = ProgressLog()
    let runs = (0..<3).map { _ in
      EventLoop.task { () async -> String? in
        do {
          try await Self.build(in: database, connections: 1) { log.seen.append($0) }
          return nil
        } catch {
          return "\(error)"
        }
      }
    }
    for run in runs { #expect(await run.value == nil) }
    #expect(try await database.write(Queries.values) == Self.expected)
    #expect(try await database.write(Queries.state) == ["ready check \(Self.users) 0"])
  }

  @Test @EventLoop func `an index that is removed while it is built leaves no values`() async throws
  {
    let database = try await Self.database()
    defer { database.stop() }
    let removal = ProgressLog()
    try await Self.build(in: database, connections: 1) { progress in
      guard removal.seen.isEmpty else { return }
      removal.seen.append(progress)
      removal.task = EventLoop.task { _ = try? await database.write(Queries.remove) }
    }
    await removal.task?.value
    // If the build was over before the removal, this run does the work.
    if try await !database.write(Queries.indexes).isEmpty { try await Self.build(in: database) }
    #expect(try await database.write(Queries.values) == [])
    #expect(try await database.write(Queries.state) == [])
  }

  @Test @EventLoop func `a range that takes too long is cut, and the rest waits for another run`()
    async throws
  {
    let database = try await Self.database(
      after: """
        create table slow as select 'a' || lpad(to_hex(16), 23, '0') as user_id;
        create function refuse() returns trigger language plpgsql as $$
        begin
          if exists (select 1 from slow s where s.user_id = new.user_id) then
            raise exception 'it takes too long' using errcode = 'query_canceled';
          end if;
          return new;
        end $$;
        create trigger slow before insert on search_values for each row execute function refuse();
        """)
    defer { database.stop() }
    await #expect(throws: DatabaseError.self) { try await Self.build(in: database, connections: 1) }
    // Of the range of users 15 to 21, user 15 is done, who has no value.
    let done = Self.expected.filter { $0.prefix(24).suffix(2) < "10" }
    #expect(try await database.write(Queries.values) == done)
    #expect(try await database.write(Queries.state) == ["building fill 14 1"])
    _ = try await database.write(Queries.hasten)
    try await Self.build(in: database)
    #expect(try await database.write(Queries.values) == Self.expected)
  }
}

/// Collects the reports of a build.
@EventLoop private final class ProgressLog {
  var seen: [SearchIndexProgress] = []
  var task: Task<Void, Never>?
}
