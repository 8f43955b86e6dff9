import Runtime
import EventLoop
package import Postgres

package enum UsersQueries {
  /// - Parameter 3: whether it is anonymous.
  /// - Parameter 4: members of the profile.
  /// - Parameter 5: the address; null without one.
  static let create = Statement<NoRow, UserID, AppID, Bool, TextBytes, String?>(
    "users.create",
    """
    insert into users (user_id, app_id, anonymous, email, name, given_name, family_name, nickname,
      phone, locale, zone)
    values ($1, $2, $3, $5, $4::jsonb ->> 'name', $4::jsonb ->> 'given_name',
      $4::jsonb ->> 'family_name', $4::jsonb ->> 'nickname', $4::jsonb ->> 'phone',
      $4::jsonb ->> 'locale', $4::jsonb ->> 'zone')
    """)

  /// Replaces the hash of the same password, unless the password has changed meanwhile.
  static let renewHash = Statement<NoRow, UserID, String, String>(
    "users.renew_hash",
    """
    with linked as (
      update identities set password_hash = $3 where user_id = $1 and password_hash = $2
    )
    update passwords set hash = $3 where user_id = $1 and hash = $2
    """)

  package static let all: [any PreparedStatement] = [create, renewHash]
}
