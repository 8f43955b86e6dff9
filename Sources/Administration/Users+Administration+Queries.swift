import Accounts
import Runtime
package import Postgres

/// A user, locked for an administrative change.
package struct AdministeredUser: RowDecodable {
  package let version: Int
  let isBlocked: Bool
  package let address: Address?

  /// The address of a user.
  package struct Address {
    let text: String
    package let key: String
    /// Whether the address is verified.
    package let isVerified: Bool
    /// Whether the user logs in by it, with a password or by mailed codes.
    let isCredential: Bool
    let language: String?
  }

  package init(from row: Row) throws(DatabaseError) {
    version = try row.int(0)
    isBlocked = try row.bool(1)
    guard let text = row.text(ifAny: 2) else {
      address = nil
      return
    }
    address = Address(
      text: text, key: try row.text(3), isVerified: try row.bool(4), isCredential: try row.bool(5),
      language: row.text(ifAny: 6)
    )
  }
}

package enum UsersAdministrationQueries {
  /// Served by `users_by_app`.
  static let page = Statement<Profile, AppID, UserID?, Int>(
    "users.page",
    """
    select p.id, p.created_at, p.updated_at, p.version, p.anonymous, p.blocked, p.email,
      p.email_verified, p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale,
      p.zone, p.picture
    from profiles p
    where p.app_id = $1 and p.id > coalesce($2, '')
    order by p.id limit $3::bigint
    """)

  static let find = Statement<AdministeredUser, UserID, AppID>(
    "users.administered",
    """
    select u.version, u.blocked_at is not null, u.email, email_key(u.email),
      u.email_verified,
      exists (
        select 1 from identities i
        where i.user_id = $1 and i.provider in ('password', 'email')),
      u.locale
    from users u where u.user_id = $1 and u.app_id = $2
    """)

  /// - Parameter 2: since when the user is blocked; null to unblock it.
  static let setBlocked = Statement<NoRow, UserID, ServerTime?>(
    "users.set_blocked",
    """
    update users set blocked_at = $2::timestamptz, version = version + 1, updated_at = now()
    where user_id = $1
    """)

  package static let all: [any PreparedStatement] = [page, find, setBlocked]
}
