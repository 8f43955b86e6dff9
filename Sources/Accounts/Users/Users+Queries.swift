import Runtime
import EventLoop
package import Postgres

package enum UsersQueries {
  /// Creates a user with one identity; a duplicate is an identity of another user.
  ///
  /// The subject of an anonymous user is its own id, which is unique. An address of another user is
  /// omitted.
  /// - Parameter 7: members of the profile.
  /// - Parameter 8: the key of its address; null without one.
  static let create = Statement<
    NoRow, UserID, AppID, IdentityID, String, String, Bool, TextBytes, String?
  >(
    "users.create",
    """
    with address as (
      insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
      select $2, 'email', $8, $1, $3 where $8::text is not null
      on conflict (app_id, provider, subject) do update
        set user_id = excluded.user_id, identity_id = excluded.identity_id, reserved_until = null
        where s.reserved_until < now()
      returning 1
    ), created as (
      insert into users (user_id, app_id, anonymous, email, name, given_name, family_name, nickname,
        phone, locale, zone)
      select $1, $2, $6, case when exists (select 1 from address) then $7::jsonb ->> 'email' end,
        p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale, p.zone
      from jsonb_to_record($7::jsonb) as p (name text, given_name text, family_name text,
        nickname text, phone text, locale text, zone text)
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, $4, $5)
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($2, $4, $5, $1, $3)
    """
  )

  /// Replaces the hash of the same password, unless the password has changed meanwhile.
  static let renewHash = Statement<NoRow, UserID, String, String>(
    "users.renew_hash",
    "update passwords set hash = $3 where user_id = $1 and hash = $2"
  )

  package static let all: [any PreparedStatement] = [
    create, renewHash,
  ]
}
