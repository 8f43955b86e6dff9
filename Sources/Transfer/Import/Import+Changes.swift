import Documents
import Postgres
import Runtime

/// The statements that change one user.
extension ImportQueries {
  /// Moves the events of a deleted user to the app, where a new user with the id does not see them.
  ///
  /// Our role may not delete events itself.
  static let moveEvents = Statement<NoRow, UserID>("imports.move_events", "select move_events($1)")

  /// Updates the given members of a user, who keeps a foreign id that it has.
  ///
  /// - Parameter 3: the members.
  /// - Parameter 4: the time of the transaction.
  static let update = Statement<NoRow, UserID, AppID, TextBytes, ServerTime>(
    "imports.update",
    """
    update users set
      foreign_id = coalesce(foreign_id, $3::jsonb ->> 'foreign_id'),
      email = coalesce(btrim($3::jsonb ->> 'email'), email),
      email_verified = coalesce(($3::jsonb ->> 'email_verified')::boolean, email_verified),
      name = patched($3::jsonb, 'name', name),
      given_name = patched($3::jsonb, 'given_name', given_name),
      family_name = patched($3::jsonb, 'family_name', family_name),
      nickname = patched($3::jsonb, 'nickname', nickname),
      phone = patched($3::jsonb, 'phone', phone),
      locale = patched($3::jsonb, 'locale', locale),
      zone = patched($3::jsonb, 'zone', zone),
      picture_url = coalesce($3::jsonb ->> 'picture_url', picture_url),
      blocked_at = case when ($3::jsonb ->> 'blocked')::boolean is null then blocked_at
        when ($3::jsonb ->> 'blocked')::boolean then coalesce(blocked_at, $4::timestamptz) end,
      version = version + 1, updated_at = now()
    where user_id = $1 and app_id = $2
    """)

  /// Removes the mails and flows that belong to the former address of a user.
  ///
  /// A restore mail stays valid. Otherwise a nightly import would take it from the owner.
  static let removeMails = Statement<NoRow, UserID>(
    "imports.remove_mails",
    """
    with mails as (delete from mail_tokens where user_id = $1 and purpose <> 'restore')
    delete from authentication_flows where place = $1 and purpose = 'change_email'
    """)

  /// Changes the subject of the identity with which a user signs in by its address.
  ///
  /// An identity for mailed codes becomes one for a password if the user has a password now.
  /// - Parameter 2: the key of the new address.
  static let readdress = Statement<NoRow, UserID, String>(
    "imports.readdress",
    """
    update identities set subject = $2,
      provider = case when exists (select 1 from passwords p where p.user_id = $1)
        then 'password' else provider end,
      verified_via_mail_only = verified_via_mail_only and subject = $2
    where user_id = $1 and provider in ('password', 'email')
    """)

  /// Keeps a foreign id of a user who has an older one, so that both name the user.
  ///
  /// The row of the user names the oldest one.
  static let addForeignID = Statement<NoRow, UserID, String>(
    "imports.add_foreign_id",
    """
    insert into additional_subjects (user_id, provider, subject)
    select u.user_id, 'auth0', $2 from users u where u.user_id = $1 and u.foreign_id <> $2
    on conflict (user_id, provider, subject) do nothing
    """)

  /// Adds authenticator apps to a user who has none.
  ///
  /// - Parameter 2: the authenticator apps.
  /// - Parameter 3: the time of the transaction.
  static let authenticators = Statement<NoRow, UserID, TextBytes, ServerTime>(
    "imports.authenticators",
    """
    insert into second_factors (user_id, factor_id, secret, confirmed_at)
    select u.user_id, r.factor_id, decode(r.secret, 'hex'), $3::timestamptz
    from users u cross join jsonb_to_recordset($2::jsonb) as r (factor_id text, secret text)
    where u.user_id = $1 and not exists (
      select 1 from second_factors f where f.user_id = $1 and f.confirmed_at is not null)
    """)
}

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

  /// Adds passkeys; bytes are in hexadecimal.
  static let passkeys = Statement<NoRow, TextBytes>(
    "imports.passkeys",
    """
    insert into passkeys (user_id, passkey_id, credential, public_key, user_handle, aaguid, rp_id,
      transports, sign_count, backup_eligible, backed_up, name, created_at, last_used_at)
    select r.user_id, r.passkey_id, decode(r.credential, 'hex'), decode(r.public_key, 'hex'),
      decode(r.user_handle, 'hex'), decode(r.aaguid, 'hex'), r.rp_id, r.transports, r.sign_count,
      r.backup_eligible, r.backed_up, r.name, coalesce(r.created_at, now()), r.last_used_at
    from jsonb_to_recordset($1::jsonb) as r (user_id text, passkey_id text, credential text,
      public_key text, user_handle text, aaguid text, rp_id text, transports text,
      sign_count bigint, backup_eligible boolean, backed_up boolean, name text,
      created_at timestamptz, last_used_at timestamptz)
    """)

  /// Gives subjects to users; returns no row for one that another user has.
  ///
  /// A former address can return to its user. An address that its user has registered does not
  /// become an assigned one. `SubjectQueries.takeAddress` has the same rule for one user.
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
