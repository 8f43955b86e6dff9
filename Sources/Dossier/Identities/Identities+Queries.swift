package import Postgres

/// By what a user is known: an address, an issuer's subject, an API key.
package struct IdentityInfo: RowDecodable {
  package let id: IdentityID
  package let provider: String
  package let subject: String
  /// Whether it is proved to be the user's.
  package let isConfirmed: Bool
  package let createdAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    provider = try row.text(1)
    subject = try row.text(2)
    isConfirmed = try row.bool(3)
    createdAt = try row.time(4)
  }
}

/// Whose an identity is.
struct IdentityHolder: RowDecodable {
  let user: UserID
  let isBlocked: Bool

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    isBlocked = try row.bool(1)
  }
}

/// What is about to be unlinked.
struct IdentityToUnlink: RowDecodable {
  let provider: String
  /// How many others there are to log in with.
  let others: Int

  init(from row: Row) throws(DatabaseError) {
    provider = try row.text(0)
    others = try row.int(1)
  }
}

package enum IdentitiesQueries {
  /// One row at least when the session is live.
  static let list = Statement<Found<IdentityInfo>, UserID, Authority>(
    "identities.list",
    """
    select i.identity_id, i.provider, i.subject, i.provider <> 'password' or c.email_verified,
      i.created_at
    from caller($1, $2) c left join identities i on i.user_id = c.user_id
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

  /// One row when the session is live.
  ///
  /// Fails by `passwords_pkey` when the user has a password.
  /// - Parameter 5: the key of the address.
  static let linkPassword = Statement<
    String, UserID, Authority, IdentityID, String, String, String
  >(
    "identities.link_password",
    """
    with c as (select user_id, app_id from caller($1, $2)), password as (
      insert into passwords (user_id, hash) select user_id, $6 from c
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      select user_id, $3, app_id, 'password', $5 from c
    ), claim as (
      insert into unconfirmed_emails (app_id, email_key, user_id) select app_id, $5, user_id from c
    )
    update users u set anonymous = false, email = btrim($4), email_verified = false,
      version = u.version + 1, updated_at = now()
    from c where u.user_id = c.user_id
    returning u.user_id, drop_anonymous_identity(u.user_id)
    """
  )

  /// One row when the session is live.
  ///
  /// Fails by `identity_subjects_taken` when it is another's.
  static let linkSubject = Statement<String, UserID, Authority, IdentityID, String, String>(
    "identities.link_subject",
    """
    with c as (select user_id, app_id from caller($1, $2)), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      select user_id, $3, app_id, $4, $5 from c
    ), claimed as (
      insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
      select app_id, $4, $5, user_id, $3 from c
    )
    update users u set anonymous = false, version = u.version + 1, updated_at = now()
    from c where u.user_id = c.user_id
    returning u.user_id, drop_anonymous_identity(u.user_id)
    """
  )

  /// Locks a user, as everything does first that changes or uses what it can log in with.
  static let lock = Statement<String, UserID>(
    "identities.lock",
    "select user_id from users where user_id = $1 for no key update"
  )

  /// Until when a user without an address can be given one back; no row when it cannot.
  static let wayBack = Statement<Timestamp, UserID>(
    "identities.way_back",
    """
    select max(t.expires_at) from mail_tokens t
    where t.user_id = $1 and t.purpose = 'restore' and t.expires_at > now()
      and not exists (
        select from identities i where i.user_id = t.user_id and i.provider = 'password')
    having count(*) > 0
    """
  )

  /// Ends what was made while nobody had shown who a user is.
  ///
  /// - Parameters:
  ///   - 6: a session that is spared; null for none.
  ///   - 7: its device.
  static let endUnproved = Statement<
    NoRow, UserID, AppID, String, String?, String?, SessionID?, DeviceID?
  >(
    "identities.end_unproved",
    "select end_unproved($1, $2, $3, $4::inet, $5, $6, $7)"
  )

  /// How many others there are to log in with; no row when there is no such identity.
  static let others = Statement<IdentityToUnlink, UserID, IdentityID>(
    "identities.others",
    """
    select i.provider, (select count(*) from identities o
      where o.user_id = i.user_id and o.identity_id <> i.identity_id and o.provider <> 'anonymous')
    from identities i where i.user_id = $1 and i.identity_id = $2
    """
  )

  /// Removes an identity, with what makes it one.
  static let unlink = Statement<NoRow, UserID, IdentityID>(
    "identities.unlink",
    """
    with gone as (
      delete from identities where user_id = $1 and identity_id = $2 returning user_id, provider
    ), subject as (
      delete from identity_subjects where user_id = $1 and identity_id = $2
    ), key as (
      delete from api_keys where user_id = $1 and key_id = $2
    ), password as (
      delete from passwords p using gone g where p.user_id = g.user_id and g.provider = 'password'
    ), claim as (
      delete from unconfirmed_emails e using gone g
      where e.user_id = g.user_id and g.provider = 'password'
    ), mail as (
      delete from mail_tokens m using gone g
      where m.user_id = g.user_id and g.provider = 'password' and m.purpose <> 'restore'
    )
    update users u set version = u.version + 1, updated_at = now(),
      email = case when g.provider = 'password' then null else u.email end,
      email_verified = u.email_verified and g.provider <> 'password'
    from gone g where u.user_id = g.user_id
    """
  )

  package static let all: [any PreparedStatement] = [
    list, holder, linkPassword, linkSubject, lock, wayBack, endUnproved, others, unlink,
  ]
}
