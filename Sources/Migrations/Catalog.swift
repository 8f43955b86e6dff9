import Distribution
package import EventLoop
import Postgres

/// The definitions of a schema, as the server's catalogs describe them.
///
/// The server prints expressions, views and functions from their stored form. Releases print them
/// differently. So two catalogs are compared only if the same server printed both.
package struct Catalog: Equatable, Sendable {
  /// A definition for each object, column, constraint, index and privilege.
  package let facts: [String: String]

  package init(facts: [String: String]) { self.facts = facts }

  /// Reads the catalog of the first schema in the search path.
  ///
  /// The ledger and objects of extensions are left out.
  /// - Parameters:
  ///   - session: a session with only this schema in its search path.
  ///   - role: the server's role. Its privileges are read, and those of the owner and `public`.
  /// - Throws: `.statementFailed` if the server rejects a statement, `.connectionLost`.
  @EventLoop package init(
    _ session: MigratorSession, role: String? = nil
  ) async throws(MigrationError) {
    let rows = try await session.query(Catalog.query, [role]).rows
    facts = Dictionary(
      rows.map { ($0[0] ?? "", $0[1] ?? "") }, uniquingKeysWith: { "\($0)\n\($1)" }
    )
  }

  /// Returns the lines in which `live` differs, or nil if it does not.
  ///
  /// - Parameters:
  ///   - live: the catalog to compare.
  ///   - restored: this catalog after a restore from a dump; a match with either is accepted.
  ///   - limit: the maximum number of lines; one more line counts the rest.
  /// - Returns: lines that begin with `-` for missing parts, and with `+` for unexpected parts.
  package func difference(_ live: Catalog, restored: Catalog? = nil, limit: Int = 60) -> String? {
    var lines: [String] = []
    for name in Set(facts.keys).union(live.facts.keys).sorted() {
      let (expected, found) = (facts[name], live.facts[name])
      guard expected != found, found == nil || restored?.facts[name] != found else { continue }
      if let expected, let found, (expected + found).contains("\n") {
        lines.append("  \(name):")
        lines += Catalog.changedLines(expected, found)
      } else {
        if let expected { lines.append("- \(name): \(expected)") }
        if let found { lines.append("+ \(name): \(found)") }
      }
    }
    guard !lines.isEmpty else { return nil }
    let rest = lines.count > limit ? ["and \(lines.count - limit) more lines"] : []
    return (lines.prefix(limit) + rest).joined(separator: "\n")
  }

  private static func changedLines(_ old: String, _ new: String) -> [String] {
    new.lines.difference(from: old.lines).map { change in
      switch change {
      case .remove(let offset, let line, _): (offset: offset, text: "  - \(line)")
      case .insert(let offset, let line, _): (offset: offset, text: "  + \(line)")
      }
    }.sorted { $0.offset < $1.offset }.map(\.text)
  }
}

extension Catalog {
  /// Returns a title and a definition for each part of the current schema; `$1` is the server's
  /// role.
  ///
  /// Every name is printed relative to the search path, so schemas with two names compare equal.
  /// The position of a column counts only in types and views, since programs name the columns of a
  /// table. Left out are:
  /// - options and statistics targets of columns, which belong to the operator. PostgreSQL 15.20
  ///   stores a number of its own among them.
  /// - the constraints in which version 18 also stores `not null`. Each column has it already.
  package static let query = """
    with place as (select oid from pg_namespace where nspname = current_schema()),
      ledger (name) as (values ('schema_migrations'), ('schema_migration_progress')),
      people (oid, name) as (
        select coalesce((select relowner from pg_class where oid = to_regclass('schema_migrations')),
          current_user::regrole), 'the owner'
        union all select 0, 'everybody'
        union all select oid, 'the server' from pg_roles where rolname = $1::text),
      member (class, oid) as (
        select classid, objid from pg_depend
        where refclassid = 'pg_extension'::regclass and deptype = 'e'),
      relation as (
        select c.*, quote_ident(relname) as quoted,
          case relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
            when 'm' then 'materialized view' when 'S' then 'sequence' when 'f' then 'foreign table'
            else 'type' end || ' ' || quote_ident(relname) as title
        from pg_class c, place
        where relnamespace = place.oid and relkind in ('r', 'p', 'v', 'm', 'S', 'f', 'c')
          and ('pg_class'::regclass, c.oid) not in (table member)),
      kept as (select * from relation where relname not in (table ledger)),
      routine as (
        select p.*, 'function ' || quote_ident(proname)
          || '(' || pg_get_function_identity_arguments(p.oid) || ')' as title
        from pg_proc p, place
        where pronamespace = place.oid and ('pg_proc'::regclass, p.oid) not in (table member)),
      kind as (
        select t.*, case typtype when 'd' then 'domain ' else 'type ' end || quote_ident(typname) as title
        from pg_type t, place
        where typnamespace = place.oid and typtype not in ('c', 'p') and typelem = 0
          and ('pg_type'::regclass, t.oid) not in (table member)),
      access (title, is_ledger, acl) as (
        select title, relname in (table ledger), coalesce(relacl,
          acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
        from relation where relkind <> 'c'
        union all
        select title || ', column ' || quote_ident(attname), false, attacl
        from relation r join pg_attribute on attrelid = r.oid
        union all
        select title, false, coalesce(proacl, acldefault('f', proowner)) from routine
        union all
        select title, false, coalesce(typacl, acldefault('T', typowner)) from kind),
      fact (title, definition) as (
        select title, concat_ws(' ', concat('persistence ', relpersistence),
          concat('replica identity ', relreplident), reloptions::text,
          case when relrowsecurity then 'row security' end,
          case when relforcerowsecurity then 'forced row security' end,
          pg_get_viewdef(case when relkind in ('v', 'm') then oid end),
          (select concat_ws(' ', format_type(seqtypid, null), seqstart, seqincrement, seqmin, seqmax,
            seqcache, seqcycle) from pg_sequence where seqrelid = kept.oid))
        from kept
        union all
        select title || ', column ' || quote_ident(attname), concat_ws(' ',
          case when relkind not in ('r', 'p', 'f') then attnum end, format_type(atttypid, atttypmod),
          case when attcollation <> typcollation then 'collate ' || attcollation::regcollation end,
          case when attnotnull then 'not null' end,
          case attidentity when 'a' then 'identity always' when 'd' then 'identity by default' end,
          case attgenerated when '' then 'default' else 'generated' end || ' '
            || pg_get_expr(adbin, adrelid),
          case when attstorage <> typstorage then concat('storage ', attstorage) end,
          case when attcompression <> '' then concat('compression ', attcompression) end)
        from kept k join pg_attribute on attrelid = k.oid join pg_type t on t.oid = atttypid
          left join pg_attrdef on adrelid = k.oid and adnum = attnum
        where attnum > 0 and not attisdropped and relkind <> 'S'
        union all
        select coalesce(k.title, t.title) || ', constraint ' || quote_ident(conname),
          concat_ws(' ', pg_get_constraintdef(c.oid), case when exists (
            select from pg_trigger where tgconstraint = c.oid and tgenabled <> 'O') then 'disabled' end)
        from pg_constraint c left join kept k on k.oid = conrelid left join kind t on t.oid = contypid
        where contype <> 'n' and (k.oid is not null or t.oid is not null)
        union all
        select title || ', index ' || quote_ident(i.relname), concat_ws(' ',
          pg_get_indexdef(i.oid, 0, true), i.reloptions::text,
          case when not indisvalid then 'invalid' end, case when indisclustered then 'clustered' end,
          case when indisreplident then 'replica identity' end)
        from kept k join pg_index on indrelid = k.oid join pg_class i on i.oid = indexrelid
        union all
        select title || ', trigger ' || quote_ident(tgname),
          concat_ws(' ', pg_get_triggerdef(t.oid, true), tgenabled)
        from kept k join pg_trigger t on tgrelid = k.oid where not tgisinternal
        union all
        select title || ', rule ' || quote_ident(rulename),
          concat_ws(' ', pg_get_ruledef(r.oid, true), ev_enabled)
        from kept k join pg_rewrite r on ev_class = k.oid where rulename <> '_RETURN'
        union all
        select title || ', policy ' || quote_ident(polname), concat_ws(' ', polcmd, polpermissive,
          polroles::regrole[]::text, pg_get_expr(polqual, polrelid),
          pg_get_expr(polwithcheck, polrelid))
        from kept k join pg_policy on polrelid = k.oid
        union all
        select title, concat_ws(' ', concat('kind ', prokind),
          '(' || pg_get_function_arguments(r.oid) || ')', 'returns ' || pg_get_function_result(r.oid),
          'language ' || lanname, concat('volatility ', provolatile),
          concat('parallel ', proparallel), case when proisstrict then 'strict' end,
          case when prosecdef then 'security definer' end, case when proleakproof then 'leakproof' end,
          'cost ' || procost, 'rows ' || prorows, 'support ' || nullif(prosupport, 0)::text,
          replace(proconfig::text, quote_ident(current_schema()) || ',', 'its own,')) || chr(10) || coalesce(pg_get_function_sqlbody(r.oid), prosrc)
        from routine r join pg_language l on l.oid = prolang
        union all
        select title, concat_ws(' ', concat('kind ', typtype),
          format_type(nullif(typbasetype, 0), typtypmod),
          case when typcollation <> 0 then 'collate ' || typcollation::regcollation end,
          case when typnotnull then 'not null' end, 'default ' || typdefault,
          (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder)
            from pg_enum where enumtypid = kind.oid))
        from kind
        union all
        select pg_describe_object(classid, objid, 0), ''
        from pg_depend, place
        where refclassid = 'pg_namespace'::regclass and refobjid = place.oid and deptype = 'n'
          and classid not in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass,
            'pg_constraint'::regclass, 'pg_default_acl'::regclass)
          and (classid, objid) not in (table member)
        union all
        select title || ', privileges of ' || name, string_agg(privilege_type
          || case when is_grantable then ' with grant option' else '' end, ', ' order by privilege_type)
        from access, aclexplode(acl) join people on people.oid = grantee
        where not is_ledger or name = 'the server'
        group by title, name
        union all
        select 'schema, privileges of ' || name,
          string_agg(privilege_type, ', ' order by privilege_type)
        from place join pg_namespace n using (oid), aclexplode(nspacl) join people on people.oid = grantee
        where name = 'the server'
        group by name
        union all
        select concat('later objects of kind ', defaclobjtype, ', privileges of ', name),
          string_agg(privilege_type, ', ' order by privilege_type)
        from place join pg_default_acl on defaclnamespace = place.oid, aclexplode(defaclacl)
          join people on people.oid = grantee
        group by defaclobjtype, name)
    select title, definition from fact order by title collate "C", definition collate "C"
    """
}

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
