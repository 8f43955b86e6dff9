package import Tenancy
package import Postgres
package import Runtime

/// The rows of which a user's credentials consist, one statement for each table.
package enum CredentialRowQueries {
  /// Gives a subject at a provider to a user; undoes the transaction if another user has it.
  package static let claim = Statement<NoRow, AppID, IdentityProvider, String, UserID, IdentityID>(
    "credential_rows.claim",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
    values ($1, $2, $3, $4, $5)
    on conflict (app_id, provider, subject) do update
    set user_id = case when require(s.user_id = excluded.user_id) then excluded.user_id end,
      identity_id = excluded.identity_id
    """)

  /// Gives a subject at a provider to a user; returns no row if it is taken.
  package static let claimIfFree = Statement<
    String, AppID, IdentityProvider, String, UserID, IdentityID
  >(
    "credential_rows.claim_if_free",
    """
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($1, $2, $3, $4, $5)
    on conflict (app_id, provider, subject) do nothing returning subject
    """)

  /// Gives an address to a user; undoes the transaction if another user has it.
  ///
  /// A former address can return to its user, and goes to others when it is no longer reserved. A
  /// linked address must be unlinked first.
  /// `takeFreeAddress` has the same rule for a new user, and `ImportQueries.claims` for many users.
  /// - Parameter 5: the time of the transaction.
  /// - Parameter 6: whether a back end gives the address. It counts only for a new address: the user
  ///   may have registered the present one.
  package static let takeAddress = Statement<
    NoRow, AppID, String, UserID, IdentityID, ServerTime, Bool
  >(
    "credential_rows.take_address",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id, assigned)
    values ($1, 'email', $2, $3, $4, $6)
    on conflict (app_id, provider, subject) do update
    set user_id = case
        when require(s.user_id = excluded.user_id and s.reserved_until is distinct from 'infinity'
          or s.reserved_until < $5::timestamptz)
        then excluded.user_id end,
      identity_id = excluded.identity_id, reserved_until = null,
      assigned = excluded.assigned and (
        s.assigned or s.user_id <> excluded.user_id or s.reserved_until is not null)
    """)

  /// Gives a linked address to a user, whose own address stays; undoes the transaction if it is
  /// taken.
  ///
  /// It is reserved for ever: nothing but a password finds its user.
  package static let linkAddress = Statement<NoRow, AppID, String, UserID, IdentityID>(
    "credential_rows.link_address",
    """
    insert into identity_subjects as s (
      app_id, provider, subject, user_id, identity_id, reserved_until)
    values ($1, 'email', $2, $3, $4, 'infinity')
    on conflict (app_id, provider, subject) do update
    set user_id = case when require(s.subject <> excluded.subject) then excluded.user_id end
    """)

  /// Gives an address to a new user if it is free; returns no row if another user has it.
  package static let takeFreeAddress = Statement<
    String, AppID, String, UserID, IdentityID, ServerTime
  >(
    "credential_rows.take_free_address",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
    values ($1, 'email', $2, $3, $4)
    on conflict (app_id, provider, subject) do update
    set user_id = excluded.user_id, identity_id = excluded.identity_id, reserved_until = null,
      assigned = false
    where s.reserved_until < $5::timestamptz
    returning subject
    """)

  package static let addIdentity = Statement<
    NoRow, UserID, IdentityID, AppID, IdentityProvider, String
  >(
    "credential_rows.add_identity",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject)
    values ($1, $2, $3, $4, $5)
    """)

  /// Writes the password of a user; returns no row if the user has one.
  package static let addPassword = Statement<String, UserID, String>(
    "credential_rows.add_password",
    """
    insert into passwords (user_id, hash) values ($1, $2)
    on conflict (user_id) do nothing returning user_id
    """)

  /// Makes a user with a new credential no guest, and raises its version.
  package static let settle = Statement<NoRow, UserID>(
    "credential_rows.settle",
    """
    with guest as (delete from identities where user_id = $1 and provider = 'anonymous')
    update users set anonymous = false, version = version + 1, updated_at = now()
    where user_id = $1
    """)

  package static let all: [any PreparedStatement] = [
    claim, claimIfFree, takeAddress, linkAddress, takeFreeAddress, addIdentity, addPassword, settle,
  ]
}
