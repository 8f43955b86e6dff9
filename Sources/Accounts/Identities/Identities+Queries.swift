package import Runtime
package import Postgres

/// An identity of a user: an address, a subject at an issuer, or an API key.
package struct IdentityInfo: RowDecodable {
  package let id: IdentityID
  package let provider: String
  package let subject: String
  /// Whether the address is verified; true for an identity of another kind.
  package let isVerified: Bool
  package let createdAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    provider = try row.text(1)
    subject = try row.text(2)
    isVerified = try row.bool(3)
    createdAt = try row.time(4)
  }
}

/// The user of an identity.
struct IdentityHolder: RowDecodable {
  package let user: UserID
  let isBlocked: Bool

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    isBlocked = try row.bool(1)
  }
}

/// An identity to be unlinked.
struct IdentityToUnlink: RowDecodable {
  package let provider: String
  /// The number of other credentials of the user.
  let others: Int

  init(from row: Row) throws(DatabaseError) {
    provider = try row.text(0)
    others = try row.int(1)
  }
}

package enum IdentitiesQueries {
  /// Returns at least one row if the session is live.
  static let list = Statement<Found<IdentityInfo>, UserID, Principal>(
    "identities.list",
    """
    select i.identity_id, i.provider, i.subject,
      i.provider not in ('password', 'email') or c.email_verified, i.created_at
    from users c left join identities i on i.user_id = $1
    where \(.isAuthorized)
    order by i.created_at, i.identity_id
    """
  )

  static let holder = Statement<IdentityHolder, AppID, String, String>(
    "identities.holder",
    """
    select u.user_id, u.blocked_at is not null
    from identity_subjects i join users u on u.user_id = i.user_id
    where i.app_id = $1 and i.provider = $2 and i.subject = $3
    """
  )

  /// Returns one row if the session is live: whether the user signs in by an address.
  static let hasAddress = Statement<Bool, UserID, Principal>(
    "identities.has_address",
    """
    select exists (
      select 1 from identities where user_id = $1 and provider in ('password', 'email'))
    from users c where \(.isAuthorized)
    """
  )

  /// Gives up the address of a user, unless it is this one.
  static let release = Statement<NoRow, UserID, String>(
    "identities.release",
    """
    delete from identity_subjects
    where user_id = $1 and provider = 'email' and subject <> $2 and reserved_until is null
    """
  )

  /// Sets the address of a user; the same address stays verified if it was.
  ///
  /// - Parameter 3: the key of the address.
  static let setAddress = Statement<NoRow, UserID, String, String>(
    "identities.set_address",
    """
    update users set email = btrim($2),
      email_verified = email_verified and email_key(email) is not distinct from $3
    where user_id = $1
    """
  )

  /// Returns until when a user can restore an address; no row if it cannot.
  ///
  /// - Parameter 2: whether the restore counts although the user has another address.
  static let wayBack = Statement<Timestamp, UserID, Bool>(
    "identities.way_back",
    """
    select max(t.expires_at) from mail_tokens t
    where t.user_id = $1 and t.purpose = 'restore' and t.expires_at > now()
      and ($2::boolean or not exists (
        select 1 from identities i
        where i.user_id = $1 and i.provider in ('password', 'email')))
    having count(*) > 0
    """
  )

  /// Returns one row if the user has more than what a guest can have.
  static let isNoGuest = Statement<String, UserID>(
    "identities.is_no_guest",
    """
    select identity_id from identities
    where user_id = $1 and provider not in ('anonymous', 'api-key') limit 1
    """
  )

  /// Makes the session of an API key that was revoked a session of a guest.
  static let forgetKey = Statement<NoRow, UserID, SessionID?>(
    "identities.forget_key",
    """
    update sessions set provider = 'anonymous', key_id = null
    where user_id = $1 and session_id = $2 and provider = 'api-key'
    """
  )

  /// Returns the number of other credentials of the user; no row if it has no such identity.
  static let others = Statement<IdentityToUnlink, UserID, IdentityID>(
    "identities.others",
    """
    select i.provider, (select count(*) from identities o
      where o.user_id = $1 and o.identity_id <> i.identity_id and o.provider <> 'anonymous')
    from identities i where i.user_id = $1 and i.identity_id = $2
    """
  )

  /// Deletes an identity with its credential.
  static let unlink = Statement<NoRow, UserID, IdentityID>(
    "identities.unlink",
    """
    with gone as (
      delete from identities where user_id = $1 and identity_id = $2 returning user_id, provider
    ), reserved as (
      update identity_subjects s set reserved_until = now() + interval '7 days'
      from users u where s.user_id = $1 and s.identity_id = $2 and s.provider = 'email'
        and s.reserved_until is null and u.user_id = $1 and u.email_verified
    ), subject as (
      delete from identity_subjects s using users u
      where s.user_id = $1 and s.identity_id = $2 and s.reserved_until is null
        and u.user_id = $1 and not (s.provider = 'email' and u.email_verified)
    ), key as (delete from api_keys where user_id = $1 and key_id = $2), password as (
      delete from passwords p using gone g where p.user_id = g.user_id and g.provider = 'password'
    ), mail as (
      delete from mail_tokens m using gone g
      where m.user_id = g.user_id and g.provider in ('password', 'email')
        and m.purpose <> 'restore'
    )
    update users u set version = u.version + 1, updated_at = now(),
      email = case when o.is_address then null else u.email end,
      email_verified = u.email_verified and not o.is_address
    from gone g, lateral (
      select g.provider in ('password', 'email') or exists (
        select 1 from identity_subjects s
        where s.user_id = $1 and s.identity_id = $2 and s.provider = 'email') as is_address) o
    where u.user_id = g.user_id
    """
  )

  package static let all: [any PreparedStatement] = [
    list, holder, hasAddress, release, setAddress, wayBack, isNoGuest, forgetKey, others,
    unlink,
  ]
}
