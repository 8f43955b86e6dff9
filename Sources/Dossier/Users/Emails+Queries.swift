package import Postgres

/// To whom the mail of an address goes.
struct MailReader: RowDecodable {
  let user: UserID
  /// As it is stored of the user.
  let email: String
  /// Whether the user has proved the address.
  let isHolder: Bool
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    email = try row.text(1)
    isHolder = try row.bool(2)
    language = row.text(ifAny: 3)
  }
}

package enum EmailQueries {
  /// Who has proved the address; else of those who claim it the one that is told, or one who is
  /// known on the device, or the first.
  ///
  /// - Parameters:
  ///   - 2: the key of the address.
  ///   - 3: the claimant; null for the one to be found.
  ///   - 4: the device that asks, with the hash of its secret; null without one.
  static let reader = Statement<
    MailReader, AppID, String, UserID?, DeviceID?, BinaryBytes?
  >(
    "emails.reader",
    """
    with holder as (
      select user_id from identity_subjects
      where app_id = $1 and provider = 'email' and subject = $2
    ), claimant as (
      select e.user_id from unconfirmed_emails e
      where e.app_id = $1 and e.email_key = $2 and ($3::text is null or e.user_id = $3)
        and not exists (select from holder)
      order by exists (
          select from proved_device($4, $1, $5) d join device_users p on p.device_id = d.device_id
          where p.user_id = e.user_id
        ) desc, e.created_at, e.user_id
      limit 1
    ), reader as (
      select user_id, true as is_holder from holder union all select user_id, false from claimant
    )
    select u.user_id, u.email, r.is_holder, u.locale from reader r join users u on u.user_id = r.user_id
    where u.email is not null
    """
  )

  /// Who claims an address, for a transaction that has locked it.
  static let claimants = Statement<String, AppID, String>(
    "emails.claimants",
    "select user_id from unconfirmed_emails where app_id = $1 and email_key = $2"
  )

  /// Makes an address the user's; whether it was not before.
  ///
  /// No row when the user has no password with that address any more: it took it away, and may have
  /// linked another, which the token of a mail that was under way does not prove.
  /// Fails by `identity_subjects_taken` when another has it.
  static let confirm = Statement<Bool, UserID, AppID, String>(
    "emails.confirm",
    """
    with own as (
      select identity_id from identities
      where user_id = $1 and provider = 'password' and subject = email_key($3)
    ), before as (
      select user_id from identity_subjects
      where app_id = $2 and provider = 'email' and subject = email_key($3) and user_id = $1
    ), claimed as (
      insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
      select $2, 'email', email_key($3), $1, identity_id from own
      where not exists (select from before)
    ), claim as (
      delete from unconfirmed_emails
      where app_id = $2 and email_key = email_key($3) and user_id = $1
        and exists (select from own)
    ), mails as (
      delete from mail_tokens
      where user_id = $1 and purpose = 'confirm' and exists (select from own)
    ), changed as (
      update users set email = $3, email_verified = true, version = version + 1, updated_at = now()
      where user_id = $1 and exists (select from own) and not exists (select from before)
    )
    select not exists (select from before) from own
    """
  )

  /// Takes an address away from all who claim it but one; how many they were.
  static let supersede = Statement<Int, AppID, String, UserID, String>(
    "emails.supersede",
    "select supersede_claims($1, $2, $3, $4)"
  )

  /// Ends what could log in besides the password: API keys, linked identities, places on devices.
  static let endOtherWaysIn = Statement<NoRow, UserID, AppID, String, String?, String?>(
    "emails.end_other_ways_in",
    "select end_other_ways_in($1, $2, $3, $4::inet, $5)"
  )

  /// Notes that the address of the user's password was proved by its reader alone.
  static let markReader = Statement<NoRow, UserID>(
    "emails.mark_reader",
    "update identities set proved_by_reader = true where user_id = $1 and provider = 'password'"
  )

  /// One row when it was noted, and is no more.
  static let unmarkReader = Statement<String, UserID>(
    "emails.unmark_reader",
    """
    update identities set proved_by_reader = false
    where user_id = $1 and provider = 'password' and proved_by_reader returning identity_id
    """
  )

  /// Ends what was made while nobody had shown who the user is: API keys that are older than all that
  /// it logs in by besides, with their sessions, and sessions that nothing was shown for.
  ///
  /// - Parameter 3: the address of the client, as in the audit trail.
  static let endUnproved = Statement<NoRow, UserID, AppID, String?, String?>(
    "emails.end_unproved",
    """
    with proof as (
      select min(created_at) as at from identities
      where user_id = $1 and provider not in ('anonymous', 'api-key')
    ), gone as (
      delete from identities i using proof p
      where i.user_id = $1 and i.provider = 'api-key' and i.created_at < p.at
      returning i.subject
    ), keys as (
      delete from api_keys k using gone g where k.user_id = $1 and k.key_id::text = g.subject
    ), ended as (
      update sessions s set ended_at = now(), end_reason = 'email_confirm'
      where s.user_id = $1 and s.ended_at is null and (
        s.provider = 'anonymous'
        or s.provider = 'api-key'
          and exists (select from gone g where coalesce(s.key_id::text, g.subject) = g.subject))
      returning s.session_id, s.device_id
    ), changed as (
      update users set version = version + 1, updated_at = now()
      where user_id = $1 and exists (select from gone)
    )
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
    select $1, new_object_id(), $2, 'unlink', 'anyone', null, null, $3::inet, $4,
      '{"provider": "api-key"}'::jsonb
    from gone
    union all
    select $1, new_object_id(), $2, 'session_end', 'anyone', session_id, device_id, $3::inet, $4,
      '{"reason": "email_confirm"}'
    from ended
    """
  )

  package static let all: [any PreparedStatement] = [
    reader, claimants, confirm, supersede, endOtherWaysIn, endUnproved, markReader,
    unmarkReader,
  ]
}
