import Runtime
import Postgres

/// The statements that write a batch: each takes a list of all rows for its table.
extension ImportQueries {
  /// Creates users.
  ///
  /// If an id is reused, the events of the deleted user move to the app, unseen by the new user.
  static let create = Statement<NoRow, AppID, TextBytes>(
    "imports.create",
    """
    with r as (
      select user_id, foreign_id, anonymous, email, email_verified, picture_url, blocked,
        created_at, last_login_at, login_count, profile
      from jsonb_to_recordset($2::jsonb) as r (user_id text, foreign_id text, anonymous boolean,
        email text, email_verified boolean, picture_url text, blocked boolean,
        created_at timestamptz, last_login_at timestamptz, login_count bigint, profile jsonb)
    ), former as (
      delete from audit a using r where a.user_id = r.user_id
      returning a.user_id, a.event_id, a.app_id, a.at, a.action, a.actor, a.session_id,
        a.device_id, a.address, a.agent, a.detail
    ), kept as (
      insert into audit (user_id, event_id, app_id, at, action, actor, session_id, device_id,
        address, agent, detail)
      select app_id, event_id, app_id, at, action, actor, session_id, device_id, address, agent,
        detail || jsonb_build_object('former_user', user_id)
      from former
    )
    insert into users (user_id, app_id, foreign_id, anonymous, email, email_verified, name,
      given_name, family_name, nickname, phone, locale, zone, picture_url, blocked_at, created_at,
      last_login_at, login_count)
    select r.user_id, $1, r.foreign_id, r.anonymous, btrim(r.email), coalesce(r.email_verified, false),
      p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale, p.zone, r.picture_url,
      case when r.blocked then now() end,
      coalesce(r.created_at, now()), r.last_login_at, coalesce(r.login_count, 0)
    from r, lateral jsonb_to_record(coalesce(r.profile, '{}')) as p (name text, given_name text,
      family_name text, nickname text, phone text, locale text, zone text)
    """
  )

  /// Updates the given members of users, who keep a foreign id that they have.
  static let update = Statement<NoRow, AppID, TextBytes>(
    "imports.update",
    """
    with r as (
      select user_id, foreign_id, email, email_verified, picture_url, blocked, profile
      from jsonb_to_recordset($2::jsonb) as r (user_id text, foreign_id text, email text,
        email_verified boolean, picture_url text, blocked boolean, profile jsonb)
    )
    update users u set
      foreign_id = coalesce(u.foreign_id, r.foreign_id),
      email = coalesce(btrim(r.email), u.email),
      email_verified = coalesce(r.email_verified, u.email_verified),
      name = patched(r.profile, 'name', u.name),
      given_name = patched(r.profile, 'given_name', u.given_name),
      family_name = patched(r.profile, 'family_name', u.family_name),
      nickname = patched(r.profile, 'nickname', u.nickname),
      phone = patched(r.profile, 'phone', u.phone),
      locale = patched(r.profile, 'locale', u.locale),
      zone = patched(r.profile, 'zone', u.zone),
      picture_url = coalesce(r.picture_url, u.picture_url),
      blocked_at = case when r.blocked is null then u.blocked_at
        when r.blocked then coalesce(u.blocked_at, now()) end,
      version = u.version + 1, updated_at = now()
    from r where u.user_id = r.user_id and u.app_id = $1
    """
  )

  /// Removes the addresses of users who get new ones, with the mails and flows that belong to them.
  ///
  /// A restore mail stays valid. Otherwise a nightly import would take it from the owner.
  static let release = Statement<NoRow, AppID, TextBytes>(
    "imports.release",
    """
    with r as (
      select r.user_id, email_key(u.email) as key
      from jsonb_to_recordset($2::jsonb) as r (user_id text, email text)
      join users u on u.user_id = r.user_id and u.app_id = $1
      where u.email is null or email_key(u.email) <> email_key(r.email)
    ), subjects as (
      delete from identity_subjects s using r
      where s.app_id = $1 and s.provider = 'email' and s.subject = r.key
        and s.user_id = r.user_id and s.reserved_until is null
    ), mails as (
      delete from mail_tokens m using r where m.user_id = r.user_id and m.purpose <> 'restore'
    )
    delete from authentication_flows f using r
    where f.place = r.user_id and f.purpose = 'change_email'
    """
  )

  /// Changes the subjects of identities to the new addresses.
  ///
  /// An identity for mailed codes becomes one for a password if the user has a password now.
  static let readdress = Statement<NoRow, AppID, TextBytes>(
    "imports.readdress",
    """
    update identities i set subject = email_key(r.email),
      provider = case when exists (select 1 from passwords p where p.user_id = i.user_id)
        then 'password' else i.provider end,
      verified_via_mail_only = i.verified_via_mail_only and i.subject = email_key(r.email)
    from jsonb_to_recordset($2::jsonb) as r (user_id text, email text)
    where i.user_id = r.user_id and i.app_id = $1 and i.provider in ('password', 'email')
    """
  )

  /// Sets passwords; `*` stands for an unknown hash, and replaces no existing one.
  ///
  /// A user who logs in by mailed codes needs none.
  static let passwords = Statement<NoRow, AppID, TextBytes>(
    "imports.passwords",
    """
    insert into passwords as p (user_id, hash)
    select user_id, hash from jsonb_to_recordset($2::jsonb) as r (user_id text, hash text)
    where $1::text is not null and (hash <> '*' or not exists (
      select 1 from identities i where i.user_id = r.user_id and i.provider = 'email'))
    on conflict (user_id) do update set hash = excluded.hash, changed_at = excluded.changed_at
    where excluded.hash <> '*' and p.hash <> excluded.hash
    """
  )

  /// Adds the identities of addresses, in the order of the row.
  static let addressIdentities = Statement<NoRow, AppID, TextBytes>(
    "imports.address_identities",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject, profile, created_at)
    select r.user_id, r.identity_id, $1, r.provider, email_key(r.email), r.profile,
      now() + r.place * interval '1 microsecond'
    from jsonb_to_recordset($2::jsonb) as r (user_id text, identity_id text, email text,
      provider text, profile jsonb, place bigint)
    where r.provider is not null and not exists (
      select 1 from identities i
      where i.user_id = r.user_id and i.provider in ('password', 'email'))
    """
  )

  /// Returns the users whose unverified addresses the rows verify, for `Takeover`.
  static let unverified = Statement<UserID, AppID, TextBytes>(
    "imports.unverified",
    """
    select u.user_id from jsonb_to_recordset($2::jsonb) as r (user_id text)
    join users u on u.user_id = r.user_id and u.app_id = $1
    where u.email is not null and (not u.email_verified or exists (
      select 1 from identities i where i.user_id = u.user_id and i.verified_via_mail_only))
    """
  )

  /// Returns the guests, whose credentials are revoked before the rows add theirs: another person may
  /// be the guest.
  static let guests = Statement<UserID, AppID, TextBytes>(
    "imports.guests",
    """
    select u.user_id from jsonb_to_recordset($2::jsonb) as r (user_id text)
    join users u on u.user_id = r.user_id and u.app_id = $1
    where not exists (select 1 from identities i
      where i.user_id = u.user_id and i.provider not in ('anonymous', 'api-key'))
    """
  )

  /// Assigns addresses to users; undoes the transaction if another user has one of them.
  ///
  /// A former address can return to its user, or go to others if it is no longer reserved. An address
  /// that its user has registered does not become an assigned one. The
  /// order of the keys prevents deadlocks between imports.
  static let emails = Statement<NoRow, AppID, TextBytes>(
    "imports.emails",
    """
    with r as (
      select r.user_id, email_key(r.email) as key, (
        select i.identity_id from identities i where i.user_id = r.user_id
        order by i.provider not in ('password', 'email'), i.created_at, i.identity_id limit 1
      ) as identity_id
      from jsonb_to_recordset($2::jsonb) as r (user_id text, email text)
    ), written as (
      insert into identity_subjects as s (
        app_id, provider, subject, user_id, identity_id, assigned)
      select $1, 'email', key, user_id, identity_id, true from r order by key
      on conflict (app_id, provider, subject) do update
      set user_id = excluded.user_id, identity_id = excluded.identity_id, reserved_until = null,
        assigned = s.assigned or s.user_id <> excluded.user_id or s.reserved_until is not null
      where s.user_id = excluded.user_id or s.reserved_until < now()
      returning 1
    )
    select require((select count(*) from written) = (select count(*) from r))
    """
  )

  /// Adds identities in the order of the row, and skips those that the user already has.
  static let identities = Statement<NoRow, AppID, TextBytes>(
    "imports.identities",
    """
    with r as (
      select user_id, identity_id, provider, subject, profile, place
      from jsonb_to_recordset($2::jsonb) as r (user_id text, identity_id text, provider text,
        subject text, profile jsonb, place bigint)
      where not exists (
        select 1 from identity_subjects s where s.app_id = $1 and s.provider = r.provider
          and s.subject = r.subject and s.user_id = r.user_id)
    ), identity as (
      insert into identities (
        user_id, identity_id, app_id, provider, subject, profile, created_at)
      select user_id, identity_id, $1, provider, subject, profile,
        now() + place * interval '1 microsecond'
      from r
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select $1, provider, subject, user_id, identity_id from r where provider <> 'anonymous'
    order by provider, subject
    """
  )

  /// Makes anonymous users with a login method non-anonymous.
  static let settle = Statement<NoRow, AppID, TextBytes>(
    "imports.settle",
    """
    with r as (
      select r.user_id from jsonb_to_recordset($2::jsonb) as r (user_id text)
      join users u on u.user_id = r.user_id and u.app_id = $1 and u.anonymous
      where exists (
        select 1 from identities i where i.user_id = r.user_id and i.provider <> 'anonymous')
    ), guest as (
      delete from identities i using r where i.user_id = r.user_id and i.provider = 'anonymous'
    )
    update users u set anonymous = false from r where u.user_id = r.user_id
    """
  )
}
