package import Tenancy
package import Runtime
import Sessions
package import JSON
package import Postgres

/// An identity of a user: an address, a subject at an issuer, or an API key.
package struct IdentityInfo: RowDecodable {
  package let id: IdentityID
  package let provider: IdentityProvider
  package let subject: String
  /// Whether the address is verified; true for an identity of another kind.
  package let isVerified: Bool
  package let createdAt: Timestamp
  /// The claims of the last token of its issuer, as texts; see `IdentityClaims`.
  package let claims: JSONObject

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    provider = IdentityProvider(try row.text(1))
    subject = try row.text(2)
    isVerified = try row.bool(3)
    createdAt = try row.time(4)
    claims = row.isNull(5) ? JSONObject() : try row.json(5).object ?? JSONObject()
  }
}

/// An identity to be unlinked.
struct IdentityToUnlink: RowDecodable {
  let provider: IdentityProvider
  /// Nil for an API key.
  let subject: Subject?
  /// The number of other credentials of the user.
  let others: Int
  /// The key of the address of the user; nil without one.
  let address: String?
  let isVerified: Bool

  init(from row: Row) throws(DatabaseError) {
    provider = IdentityProvider(try row.text(0))
    subject = Subject(ofIdentityAt: provider, try row.text(1))
    others = try row.int(2)
    address = row.text(ifAny: 3)
    isVerified = try row.bool(4)
  }
}

package enum IdentitiesQueries {
  /// Returns at least one row if the session is live.
  static let list = Statement<Found<IdentityInfo>, UserID, Principal>(
    "identities.list",
    """
    select i.identity_id, i.provider, i.subject,
      i.provider not in ('password', 'email') or c.email_verified, i.created_at,
      i.profile -> 'claims'
    from users c left join identities i on i.user_id = $1
    where \(.isAuthorized)
    order by i.created_at, i.identity_id
    """)

  /// Keeps the claims of a token with its identity, and removes those whose value is null.
  ///
  /// Others stay, such as the address that an import stored.
  static let keepClaims = Statement<NoRow, UserID, IdentityProvider, String, TextBytes>(
    "identities.keep_claims",
    """
    update identities set profile = jsonb_set(profile, '{claims}',
      jsonb_strip_nulls(coalesce(profile -> 'claims', '{}') || $4::jsonb))
    where user_id = $1 and provider = $2 and subject = $3
      and jsonb_strip_nulls(coalesce(profile -> 'claims', '{}') || $4::jsonb)
        <> coalesce(profile -> 'claims', '{}')
    """)

  /// Sets the address of a user; the same address stays verified if it was.
  ///
  /// - Parameter 3: the key of the address.
  static let setAddress = Statement<NoRow, UserID, String, String>(
    "identities.set_address",
    """
    update users set email = btrim($2),
      email_verified = email_verified and email_key(email) is not distinct from $3
    where user_id = $1
    """)

  /// Returns until when a user can restore an address; no row if it cannot.
  ///
  /// - Parameter 2: whether the restore counts although the user has another address.
  static let restoreEnd = Statement<Timestamp, UserID, Bool>(
    "identities.restore_end",
    """
    select max(t.expires_at) from mail_tokens t
    where t.user_id = $1 and t.purpose = 'restore' and t.expires_at > now()
      and ($2::boolean or not exists (
        select 1 from identities i
        where i.user_id = $1 and i.provider in ('password', 'email')))
    having count(*) > 0
    """)

  /// Returns one row if the user has more than what a guest can have.
  static let isNoGuest = Statement<String, UserID>(
    "identities.is_no_guest",
    """
    select identity_id from identities
    where user_id = $1 and provider not in ('anonymous', 'api-key') limit 1
    """)

  /// Makes the session of an API key that was revoked a session of a guest.
  static let forgetKey = Statement<NoRow, UserID, SessionID?>(
    "identities.forget_key",
    """
    update sessions set provider = 'anonymous', key_id = null
    where user_id = $1 and session_id = $2 and provider = 'api-key'
    """)

  /// Returns the number of other credentials of the user; no row if it has no such identity.
  static let others = Statement<IdentityToUnlink, UserID, IdentityID>(
    "identities.others",
    """
    select i.provider, i.subject, (select count(*) from identities o
      where o.user_id = $1 and o.identity_id <> i.identity_id and o.provider <> 'anonymous'),
      email_key(u.email), u.email_verified
    from identities i join users u on u.user_id = $1
    where i.user_id = $1 and i.identity_id = $2
    """)

  /// Deletes an identity with its credential.
  ///
  /// - Parameter 3: whether the address of the user goes with it.
  package static let unlink = Statement<NoRow, UserID, IdentityID, Bool>(
    "identities.unlink",
    """
    with gone as (
      delete from identities where user_id = $1 and identity_id = $2
    ), key as (
      delete from api_keys where user_id = $1 and key_id = $2
    )
    update users set version = version + 1, updated_at = now(),
      email = case when not $3::boolean then email end,
      email_verified = email_verified and not $3::boolean
    where user_id = $1
    """)

  /// Deletes the password and the mailed tokens of a user without an address.
  ///
  /// Former addresses can still be restored.
  package static let removePassword = Statement<NoRow, UserID>(
    "identities.remove_password",
    """
    with password as (delete from passwords where user_id = $1)
    delete from mail_tokens where user_id = $1 and purpose <> 'restore'
    """)

  package static let all: [any PreparedStatement] = [
    list, keepClaims, setAddress, restoreEnd, isNoGuest, forgetKey, others, unlink, removePassword,
  ]
}
