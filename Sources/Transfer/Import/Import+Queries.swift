import Runtime
package import Postgres

/// The progress of imports, and the existing data that their rows match.
package enum ImportQueries {
  static let find = Statement<ImportProgress, AppID, String>(
    "imports.find",
    """
    select import_id, lines, bytes, digest, created, updated, skipped, failed, results_before,
      results
    from imports where app_id = $1 and source = $2 for update
    """
  )

  /// Begins an import.
  ///
  /// - Parameter 4: whether it restarts an import that is there; if not, it returns no row for one.
  static let begin = Statement<ImportProgress, AppID, String, ImportID, Bool>(
    "imports.begin",
    """
    insert into imports (app_id, source, import_id) values ($1, $2, $3)
    on conflict (app_id, source) do update set import_id = excluded.import_id, lines = 0, bytes = 0,
      digest = '', created = 0, updated = 0, skipped = 0, failed = 0, results_before = 0,
      results = '', changed_at = excluded.changed_at, finished_at = null
    where $4::boolean
    returning import_id, lines, bytes, digest, created, updated, skipped, failed, results_before,
      results
    """
  )

  /// Returns the number of finished lines; no row if another run has restarted the import.
  static let lock = Statement<Int, AppID, ImportID>(
    "imports.lock",
    "select lines from imports where app_id = $1 and import_id = $2 for update"
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
    returning i.import_id, i.lines, i.bytes, i.digest, i.created, i.updated, i.skipped, i.failed,
      i.results_before, i.results
    """
  )

  /// Returns whether the import was unfinished.
  static let finish = Statement<Bool, AppID, ImportID>(
    "imports.finish",
    """
    update imports set finished_at = now(),
      results_before = results_before + octet_length(results), results = ''
    where app_id = $1 and import_id = $2 and finished_at is null returning true
    """
  )

  /// Returns one row for each row of the input.
  ///
  /// Ids of current and former apps are rejected like ids of other apps' users: audit events share one
  /// key space. So is the id of a new user that Auth0's clients know another user by. Served by the
  /// primary keys.
  static let examine = Statement<ImportMatch, AppID, TextBytes>(
    "imports.examine",
    """
    select r.index,
      case when r.user_id = repeat('0', 24)
        or exists (select 1 from apps p where p.app_id = r.user_id)
        or exists (select 1 from audit a where a.user_id = r.user_id and a.app_id = r.user_id)
        or u.user_id is null and exists (
          select 1 from identity_subjects f where f.app_id = $1 and f.provider = 'auth0'
            and f.subject = 'auth0|' || r.user_id and f.user_id <> r.user_id)
        then repeat('0', 24) else u.app_id end,
      r.key,
      h.user_id,
      case when h.user_id is null then null
        when h.reserved_until is not null then 'reserved'
        when (select email_verified from users where user_id = h.user_id) and not exists (
          select 1 from identities i where i.user_id = h.user_id and i.verified_via_mail_only)
          then 'verified'
        when h.assigned then 'assigned'
        else 'registered' end,
      (select string_agg(coalesce(s.user_id::text, o.user_id::text, '-'), ' ' order by i.place)
        from jsonb_array_elements(r.identities) with ordinality as i (given, place)
        left join identity_subjects s on s.app_id = $1 and s.provider = i.given ->> 'provider'
          and s.subject = i.given ->> 'subject'
        -- A user without a foreign id is known by its own.
        left join users o on i.given ->> 'provider' = 'auth0' and o.app_id = $1
          and i.given ->> 'subject' = 'auth0|' || o.user_id and o.foreign_id is null
          and o.user_id = substr(i.given ->> 'subject', 7))
    from (
      select index, user_id, email, identities, email_key(email) as key
      from jsonb_to_recordset($2::jsonb)
        as r (index bigint, user_id text, email text, identities jsonb)) r
    left join users u on u.user_id = r.user_id
    left join identity_subjects h on h.app_id = $1 and h.provider = 'email' and h.subject = r.key
      and (h.reserved_until is null or h.reserved_until > now())
    """
  )

  /// Locks several users, as `SessionsQueries.lockUser` locks one.
  static let lockUsers = Statement<NoRow, AppID, TextBytes>(
    "imports.lock_users",
    """
    select 1 from users u join jsonb_array_elements_text($2::jsonb) as r (user_id) using (user_id)
    where u.app_id = $1 order by u.user_id for no key update of u
    """
  )

  /// Returns the rows of users that the import has already changed, by their audit events.
  static let done = Statement<Int, AppID, TextBytes, ImportID>(
    "imports.done",
    """
    select r.index from jsonb_to_recordset($2::jsonb) as r (index bigint, user_id text)
    where exists (
      select 1 from audit a where a.user_id = r.user_id and a.app_id = $1
        and a.action = 'user_import' and a.detail ->> 'import' = $3::text)
    """
  )

  package static let all: [any PreparedStatement] = [
    find, begin, lock, advance, finish, examine, lockUsers, done, create, unverified,
    guests, release, update, readdress, passwords, addressIdentities, identities,
    foreignIDs, authenticators, roles, emails, settle, documents, clearProperties, properties,
  ]
}
