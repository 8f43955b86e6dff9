import Migrations
import Testing

@Suite struct SQLSplitterTests {
  func texts(_ sql: String) throws -> [String] { try SQLSplitter.split(sql).map(\.text) }

  @Test func `statements end at semicolons and empty ones are left out`() throws {
    #expect(try texts("select 1;; select 2 ;\n-- end\n;") == ["select 1", "select 2"])
    // The server is to say what it thinks of them.
    #expect(try texts("\u{1};select 1\u{1}\n") == ["\u{1}", "select 1\u{1}"])
  }

  @Test(arguments: [
    "select ';', 'it''s;'", #"select E'\';', e'\\'"#, #"select "a;""b""#,
    "select $$;$$, $a$;$$;$a$",
    "select $1, a$b, 1", "/* ; /* ; */ ; */ select 1", "select (1; 2)", "select U&'\\0041;'",
    "select -- ;\n 1", "select 'a\\'", "select $é$;$é$", "select a - - 1 / 2 * 3",
  ])
  func `a semicolon in quotes, comments and parentheses ends nothing`(sql: String) throws {
    let statements = try texts(sql + "; select 2")
    #expect(statements.count == 2)
    #expect(sql.hasSuffix(statements[0]))
    #expect(statements.last == "select 2")
  }

  @Test func `the body of an SQL function is one statement with it`() throws {
    let body = """
      create or replace function f(begin_at int) returns int language sql
      begin atomic
        select case when 1 = 1 then 2 end;
        select (select 3);
      end
      """
    #expect(try texts("\(body); begin; create procedure p() as $$ begin; $$; end").count == 4)
    #expect(try texts("\(body);").first == body)
  }

  @Test func `lines are counted, also to the character an error points at`() throws {
    let statements = try SQLSplitter.split("\n/* a\n*/ select\n 'é\n',\n x; select 2", line: 10)
    #expect(statements.map(\.line) == [12, 15])
    #expect(statements[0].line(of: nil) == 12)
    #expect(statements[0].line(of: 16) == 15)
    #expect(statements[0].lastLine == 15)
  }

  @Test(arguments: [
    ("select 1;\n'a", 2), ("\n\n$$ ", 3), ("/* /* */", 1), ("select\n(1", 1), ("\"", 1),
    ("create function f() begin atomic select 1;", 1), ("select E'\\", 1), ("$", 0),
  ])
  func `what is not closed is an error with its line`(sql: String, line: Int) throws {
    if line == 0 {
      #expect(try texts(sql) == ["$"])
    } else {
      let error = #expect(throws: SQLSplitError.self) { try SQLSplitter.split(sql) }
      #expect(error?.line == line)
    }
  }

  @Test func `statements that need no transaction are known`() throws {
    let alone = """
      create unique index concurrently i on t (a); vacuum; reindex table t; do $$ $$; call p();
      drop index concurrently i; alter system set a = 1; create database d
      """
    #expect(try SQLSplitter.split(alone).filter { !$0.needsNoTransaction }.isEmpty)
    let others = """
      create index i on t (a); insert into t values ('concurrently'); alter table t add c int
      """
    #expect(try SQLSplitter.split(others).filter(\.needsNoTransaction).isEmpty)
  }

  @Test func `the index of a statement is found by its names`() throws {
    let sql = """
      CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "my i" ON ONLY s . "T t" using btree (a);
      create index concurrently i on t (a); drop index concurrently if exists s.i;
      create index concurrently on t (a); create index j on t (a)
      """
    let found = try SQLSplitter.split(sql).map(\.concurrentIndex)
    #expect(
      found == [
        .create(name: "\"my i\"", table: "s . \"T t\""), .create(name: "i", table: "t"),
        .drop(name: "s.i"), nil, nil,
      ]
    )
  }
}
