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
