import Runtime
package import Postgres

extension SQL {
  /// The columns of an `ImportProgress`, of the import `i`.
  fileprivate static let importProgress: SQL = """
    i.import_id, i.lines, i.bytes, i.digest, i.created, i.updated, i.skipped, i.failed,
      i.results_before, i.results
    """
}

/// The progress of imports.
package enum ImportQueries {
  static let find = Statement<ImportProgress, AppID, String>(
    "imports.find",
    """
    select \(.importProgress)
    from imports i where i.app_id = $1 and i.source = $2 for update
    """)

  /// Begins an import.
  ///
  /// - Parameter 4: whether it restarts an import that is there; if not, it returns no row for one.
  static let begin = Statement<ImportProgress, AppID, String, ImportID, Bool>(
    "imports.begin",
    """
    insert into imports as i (app_id, source, import_id) values ($1, $2, $3)
    on conflict (app_id, source) do update set import_id = excluded.import_id, lines = 0, bytes = 0,
      digest = '', created = 0, updated = 0, skipped = 0, failed = 0, results_before = 0,
      results = '', changed_at = excluded.changed_at, finished_at = null
    where $4::boolean
    returning \(.importProgress)
    """)

  /// Returns the number of finished lines; no row if another run has restarted the import.
  static let lock = Statement<Int, AppID, ImportID>(
    "imports.lock", "select lines from imports where app_id = $1 and import_id = $2 for update"
  )

  static let advance = Statement<
    ImportProgress, AppID, ImportID, TextBytes, BinaryBytes, TextBytes
  >(
    "imports.advance",
    """
    update imports i set lines = (p.at ->> 'lines')::bigint, bytes = (p.at ->> 'bytes')::bigint,
      digest = $4::bytea, created = (p.tally ->> 'created')::bigint,
      updated = (p.tally ->> 'updated')::bigint, skipped = (p.tally ->> 'skipped')::bigint,
      failed = (p.tally ->> 'failed')::bigint,
      results_before = i.results_before + octet_length(i.results), results = $5,
      changed_at = now(), finished_at = null
    from (select $3::jsonb -> 0, $3::jsonb -> 1) as p (tally, at)
    where i.app_id = $1 and i.import_id = $2
    returning \(.importProgress)
    """)

  /// Returns whether the import was unfinished.
  static let finish = Statement<Bool, AppID, ImportID>(
    "imports.finish",
    """
    update imports set finished_at = now(),
      results_before = results_before + octet_length(results), results = ''
    where app_id = $1 and import_id = $2 and finished_at is null returning true
    """)

  package static let all: [any PreparedStatement] = [
    find, begin, lock, advance, finish, emailKeys, subjects, users, identitiesOfUsers, apps, events,
    done, create, passwords, identities, claims, roles, documents, moveEvents, update,
    removeMails, readdress, addForeignID, authenticators,
  ]
}
