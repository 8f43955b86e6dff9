import Runtime
import Postgres

/// The statements that write the documents and properties of a batch, its foreign ids, authenticator
/// apps and roles.
extension ImportQueries {
  /// Adds foreign ids, and skips those that the user already has.
  ///
  /// A user keeps an older one too, so that both name the user. A foreign id belongs to no identity:
  /// the id of the user stands in its place. The row of the user names the oldest one.
  static let foreignIDs = Statement<NoRow, AppID, TextBytes>(
    "imports.foreign_ids",
    """
    with further as (
      insert into additional_subjects (user_id, provider, subject)
      select r.user_id, 'auth0', r.foreign_id
      from jsonb_to_recordset($2::jsonb) as r (user_id text, foreign_id text)
      join users u on u.user_id = r.user_id and u.app_id = $1 and u.foreign_id <> r.foreign_id
      on conflict (user_id, provider, subject) do nothing
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select $1, 'auth0', r.foreign_id, r.user_id, r.user_id
    from jsonb_to_recordset($2::jsonb) as r (user_id text, foreign_id text)
    where not exists (
      select 1 from identity_subjects s where s.app_id = $1 and s.provider = 'auth0'
        and s.subject = r.foreign_id and s.user_id = r.user_id)
    order by r.foreign_id
    """
  )

  /// Adds authenticator apps to users who have none.
  static let authenticators = Statement<NoRow, AppID, TextBytes>(
    "imports.authenticators",
    """
    insert into second_factors (user_id, factor_id, secret, confirmed_at)
    select r.user_id, r.factor_id, decode(r.secret, 'hex'), now()
    from jsonb_to_recordset($2::jsonb) as r (user_id text, factor_id text, secret text)
    where $1::text is not null and not exists (
      select 1 from second_factors f where f.user_id = r.user_id and f.confirmed_at is not null)
    """
  )

  /// Adds roles that the app still has.
  static let roles = Statement<NoRow, AppID, TextBytes>(
    "imports.roles",
    """
    insert into user_roles (user_id, role_id)
    select r.user_id, r.role_id
    from jsonb_to_recordset($2::jsonb) as r (user_id text, role_id text)
    where exists (select 1 from roles o where o.app_id = $1 and o.role_id = r.role_id)
    on conflict (user_id, role_id) do nothing
    """
  )

  /// Writes documents, and returns those that have changed.
  static let documents = Statement<ImportedDocument, AppID, TextBytes>(
    "imports.documents",
    """
    insert into documents as d (user_id, kind, body, version)
    select user_id, kind, body, 1
    from jsonb_to_recordset($2::jsonb) as r (user_id text, kind text, body jsonb)
    where $1::text is not null
    on conflict (user_id, kind) do update
    set body = excluded.body, version = d.version + 1, updated_at = excluded.updated_at,
      deleted_at = null
    where d.body <> excluded.body or d.deleted_at is not null
    returning d.user_id, d.kind, d.version
    """
  )

  /// Deletes properties that a row with properties does not contain.
  static let clearProperties = Statement<NoRow, AppID, TextBytes>(
    "imports.clear_properties",
    """
    with given as (
      select t.users, t.rows from jsonb_to_recordset($2::jsonb) as t (users jsonb, rows jsonb)
      where $1::text is not null
    ), gone as (
      delete from properties p using given, jsonb_array_elements_text(given.users) as o (user_id)
      where p.user_id = o.user_id and not exists (
        select 1 from jsonb_to_recordset(given.rows) as r (user_id text, key text)
        where r.user_id = p.user_id and r.key = p.key)
      returning p.user_id, p.version
    )
    update users u set property_version_floor = greatest(u.property_version_floor, g.version)
    from (select user_id, max(version) as version from gone group by user_id) g
    where u.user_id = g.user_id
    """
  )

  static let properties = Statement<NoRow, AppID, TextBytes>(
    "imports.properties",
    """
    insert into properties as p (user_id, key, value, version)
    select r.user_id, r.key, r.value, u.property_version_floor + 1
    from jsonb_to_recordset($2::jsonb) as r (user_id text, key text, value text)
    join users u on u.user_id = r.user_id and u.app_id = $1
    on conflict (user_id, key) do update
    set value = excluded.value, version = p.version + 1, updated_at = excluded.updated_at
    where p.value <> excluded.value
    """
  )
}
