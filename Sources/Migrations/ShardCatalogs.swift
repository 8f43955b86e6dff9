import Distribution
import EventLoop
import Postgres

extension MigratorSession {
  /// Returns the columns, indexes and checks of a table as one text; `%1$s` is the table.
  ///
  /// Names of indexes and constraints are left out, since those of shards have numbers.
  private static let facts = """
    select string_agg(fact, e'\\n' order by fact collate "C") from (
      select 'column ' || quote_ident(attname) || ' ' || format_type(atttypid, atttypmod)
        || case when attnotnull then ' not null' else '' end as fact
      from pg_attribute where attrelid = '%1$s'::regclass and attnum > 0 and not attisdropped
      union all
      select case when indisunique then 'unique ' else '' end || 'index '
        || substr(definition, strpos(definition, ' USING ') + 1)
      from pg_index, pg_get_indexdef(indexrelid) as definition where indrelid = '%1$s'::regclass
      union all
      select 'check ' || pg_get_constraintdef(oid) from pg_constraint
      where conrelid = '%1$s'::regclass and contype = 'c'
    ) as facts
    """

  /// Returns how shards differ from their tables, or nil if none does.
  ///
  /// - Throws: `.statementFailed` if the server rejects a statement, also if a node is away;
  ///   `.connectionLost`.
  package func differenceOfShards() async throws(MigrationError) -> String? {
    var (expected, live): ([String: String], [String: String]) = ([:], [:])
    for (name, placement) in Placement.tables where placement != .coordinator {
      let table = Self.facts.replacing("%1$s", with: name)
      let facts = try await query(table).rows.first?[0] ?? ""
      let shards = try await query(
        """
        select nodename || ':' || nodeport, shardid::text, result
        from run_command_on_placements($1::text::regclass, $2)
        """,
        [name, Self.facts]
      )
      for shard in shards.rows where shard[2] != facts {
        let title = "table \(name), shard \(shard[1] ?? "") on \(shard[0] ?? "")"
        expected[title] = facts
        live[title] = shard[2] ?? ""
      }
    }
    return Catalog(facts: expected).difference(Catalog(facts: live))
  }
}
