import Documents
import Postgres
import Runtime

/// The statements that insert the rows of a batch: each takes the rows of one table.
extension ImportQueries {
  /// Creates users; returns no row for an id that another transaction has taken.
  static let create = Statement<NoRow, AppID, TextBytes>(
    "imports.create",
    """
    insert into users (user_id, app_id, foreign_id, anonymous, email, email_verified, name,
      given_name, family_name, nickname, phone, locale, zone, picture_url, blocked_at, created_at,
      last_login_at, login_count)
    select r.user_id, $1, r.foreign_id, r.anonymous, btrim(r.email),
      coalesce(r.email_verified, false), r.name, r.given_name, r.family_name, r.nickname, r.phone,
      r.locale, r.zone, r.picture_url, case when r.blocked then now() end,
      coalesce(r.created_at, now()), r.last_login_at, coalesce(r.login_count, 0)
    from jsonb_to_recordset($2::jsonb) as r (user_id text, foreign_id text, anonymous boolean,
      email text, email_verified boolean, name text, given_name text, family_name text,
      nickname text, phone text, locale text, zone text, picture_url text, blocked boolean,
      created_at timestamptz, last_login_at timestamptz, login_count bigint)
    order by r.user_id
    on conflict (user_id) do nothing returning 1
    """)

  /// Sets passwords; `*` stands for an unknown hash, and replaces no existing one.
  ///
  /// That of a new user counts as old as the user.
  static let passwords = Statement<NoRow, TextBytes>(
    "imports.passwords",
    """
    insert into passwords as p (user_id, hash, changed_at)
    select r.user_id, r.hash, coalesce(r.changed_at, now())
    from jsonb_to_recordset($1::jsonb) as r (user_id text, hash text, changed_at timestamptz)
    on conflict (user_id) do update set hash = excluded.hash, changed_at = excluded.changed_at
    where excluded.hash <> '*' and p.hash <> excluded.hash
    """)

  /// Adds identities; those of a user are in the order of their places.
  static let identities = Statement<NoRow, AppID, TextBytes>(
    "imports.identities",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject, profile, created_at)
    select r.user_id, r.identity_id, $1, r.provider, r.subject, r.profile,
      now() + r.place * interval '1 microsecond'
    from jsonb_to_recordset($2::jsonb) as r (user_id text, identity_id text, provider text,
      subject text, profile jsonb, place bigint)
    """)

  /// Gives subjects to users; returns no row for one that another user has.
  ///
  /// A former address can return to its user. An address that its user has registered does not
  /// become an assigned one. `CredentialRowQueries.takeAddress` has the same rule for one user.
  static let claims = Statement<NoRow, AppID, TextBytes>(
    "imports.claims",
    """
    insert into identity_subjects as s (
      provider, subject, app_id, user_id, identity_id, assigned)
    select r.provider, r.subject, $1, r.user_id, r.identity_id, r.provider = 'email'
    from jsonb_to_recordset($2::jsonb) as r (provider text, subject text, user_id text,
      identity_id text)
    on conflict (app_id, provider, subject) do update
    set identity_id = excluded.identity_id, reserved_until = null,
      assigned = excluded.assigned and (s.assigned or s.reserved_until is not null)
    where s.user_id = excluded.user_id and s.reserved_until is distinct from 'infinity'
    returning 1
    """)

  /// Adds roles that the app still has.
  static let roles = Statement<NoRow, AppID, TextBytes>(
    "imports.roles",
    """
    insert into user_roles (user_id, role_id)
    select r.user_id, r.role_id
    from jsonb_to_recordset($2::jsonb) as r (user_id text, role_id text)
    where exists (select 1 from roles o where o.app_id = $1 and o.role_id = r.role_id)
    on conflict (user_id, role_id) do nothing
    """)

  /// Writes documents, and returns those that have changed.
  static let documents = Statement<ImportedDocument, TextBytes>(
    "imports.documents",
    """
    insert into documents as d (user_id, kind, body, version)
    select r.user_id, r.kind, r.body, 1
    from jsonb_to_recordset($1::jsonb) as r (user_id text, kind text, body jsonb)
    on conflict (user_id, kind) do update
    set body = excluded.body, version = d.version + 1, updated_at = excluded.updated_at,
      deleted_at = null
    where d.body <> excluded.body or d.deleted_at is not null
    returning d.user_id, d.kind, d.version
    """)
}

/// A document that an import has changed.
struct ImportedDocument: RowDecodable {
  let user: UserID
  let kind: DocumentKind
  let version: Int

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    kind = try row.documentKind(1)
    version = try row.int(2)
  }
}
