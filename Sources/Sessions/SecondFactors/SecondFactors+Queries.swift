package import Runtime
package import Postgres

/// A confirmed factor, as its user sees it.
package struct SecondFactor: Sendable {
  package let id: FactorID
  package let createdAt: Timestamp
  /// When a code of it was last used to sign in.
  package let lastUsedAt: Timestamp?
}

/// A row of the list of a user's factors.
struct ListedFactor: RowDecodable {
  let recoveryCodesLeft: Int
  /// Nil if the user has none.
  let factor: SecondFactor?

  init(from row: Row) throws(DatabaseError) {
    recoveryCodesLeft = try row.int(0)
    guard let id: FactorID = row.id(ifAny: 1) else {
      factor = nil
      return
    }
    factor = SecondFactor(id: id, createdAt: try row.time(2), lastUsedAt: try row.time(ifAny: 3))
  }
}

/// A factor with its secret.
package struct StoredFactor: RowDecodable {
  package let id: FactorID
  package let sealed: [UInt8]
  package let isConfirmed: Bool
  /// The time step of the last code that was accepted.
  let lastStep: Int

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    sealed = try row.binary(1)
    isConfirmed = try row.bool(2)
    lastStep = try row.int(3)
  }
}

package enum SecondFactorQueries {
  static let removeUnconfirmed = Statement<NoRow, UserID>(
    "second_factors.remove_unconfirmed",
    "delete from second_factors where user_id = $1 and confirmed_at is null"
  )

  /// Adds a factor that is not confirmed.
  ///
  /// Returns no row if the user has as many as allowed. The user must be locked.
  /// - Parameter 4: how many are allowed.
  static let add = Statement<String, UserID, FactorID, BinaryBytes, Int>(
    "second_factors.add",
    """
    insert into second_factors as n (user_id, factor_id, secret)
    select u.user_id, $2, $3
    from users u
    where u.user_id = $1
      and (select count(*) from second_factors where user_id = $1) < $4::bigint
    returning n.factor_id
    """)

  /// Returns the name of the account in an authenticator app.
  static let account = Statement<String, UserID>(
    "second_factors.account", "select coalesce(email, user_id) from users where user_id = $1"
  )

  package static let factors = Statement<StoredFactor, UserID>(
    "second_factors.factors",
    """
    select factor_id, secret, confirmed_at is not null, last_step from second_factors
    where user_id = $1 order by factor_id
    """)

  /// Returns whether the user has a confirmed factor.
  package static let isEnrolled = Statement<Bool, UserID>(
    "second_factors.is_enrolled",
    """
    select exists (select 1 from second_factors where user_id = $1 and confirmed_at is not null)
    """)

  /// Undoes the transaction if the user has a confirmed factor.
  package static let requireNone = Statement<NoRow, UserID>(
    "second_factors.require_none",
    """
    select require(not exists (
      select 1 from second_factors where user_id = $1 and confirmed_at is not null))
    """)

  /// Returns whether the session has passed a second factor, or the user has none.
  ///
  /// - Parameter 3: whether the app uses second factors.
  package static let isMet = Statement<Bool, UserID, Principal, Bool>(
    "second_factors.is_met",
    """
    select not $3::boolean or not exists (
        select 1 from second_factors f where f.user_id = $1 and f.confirmed_at is not null)
      or exists (
        select 1 from sessions s
        where s.user_id = $1 and s.session_id = $2 and has_second_factor(s.amr))
    from users c where \(.isAuthorized)
    """)

  /// - Parameter 3: the time step of the code.
  static let confirm = Statement<NoRow, UserID, FactorID, Int>(
    "second_factors.confirm",
    """
    update second_factors set confirmed_at = now(), last_step = $3::bigint
    where user_id = $1 and factor_id = $2 and confirmed_at is null
    """)

  /// Uses the code of a time step; returns no row if it, or a later one, was used before.
  static let use = Statement<String, UserID, FactorID, Int>(
    "second_factors.use",
    """
    update second_factors set last_step = $3::bigint, last_used_at = now()
    where user_id = $1 and factor_id = $2 and confirmed_at is not null and last_step < $3::bigint
    returning factor_id
    """)

  /// Returns one row at least if the session is live.
  static let list = Statement<ListedFactor, UserID, Principal>(
    "second_factors.list",
    """
    select (select count(*) from recovery_codes r where r.user_id = $1), f.factor_id,
      f.created_at, f.last_used_at
    from users c
    left join second_factors f on f.user_id = $1 and f.confirmed_at is not null
    where \(.isAuthorized)
    order by f.created_at, f.factor_id
    """)

  /// Returns whether the factor was confirmed; no row if the user has no such factor.
  static let remove = Statement<Bool, UserID, FactorID>(
    "second_factors.remove",
    """
    delete from second_factors where user_id = $1 and factor_id = $2
    returning confirmed_at is not null
    """)

  /// Returns for each factor that was removed whether it was confirmed.
  package static let removeAll = Statement<Bool, UserID>(
    "second_factors.remove_all",
    "delete from second_factors where user_id = $1 returning confirmed_at is not null"
  )

  package static let removeRecoveryCodes = Statement<NoRow, UserID>(
    "recovery_codes.remove", "delete from recovery_codes where user_id = $1"
  )

  /// Removes the recovery codes of a user who has no factor, whose sessions count as without one.
  static let removeStrandedCodes = Statement<NoRow, UserID>(
    "recovery_codes.remove_stranded",
    """
    with sessions as (
      update sessions set amr = btrim(replace(amr, 'mfa otp', ''))
      where user_id = $1 and ended_at is null and has_second_factor(amr) and not exists (
        select 1 from second_factors where user_id = $1 and confirmed_at is not null)
    )
    delete from recovery_codes where user_id = $1 and not exists (
      select 1 from second_factors where user_id = $1 and confirmed_at is not null)
    """)

  /// - Parameter 2: hashes in hexadecimal, with spaces between them.
  static let addRecoveryCodes = Statement<NoRow, UserID, String>(
    "recovery_codes.add",
    """
    insert into recovery_codes (user_id, code_hash)
    select u.user_id, decode(s, 'hex')
    from users u cross join unnest(string_to_array($2, ' ')) s where u.user_id = $1
    """)

  /// Uses a recovery code; returns no row if the user has no such code.
  static let useRecoveryCode = Statement<String, UserID, BinaryBytes>(
    "recovery_codes.use",
    "delete from recovery_codes where user_id = $1 and code_hash = $2 returning user_id"
  )

  package static let all: [any PreparedStatement] = [
    removeUnconfirmed, add, account, factors, isEnrolled, requireNone, isMet, confirm, use, list,
    remove,
    removeAll,
    removeRecoveryCodes, removeStrandedCodes, addRecoveryCodes, useRecoveryCode,
  ]
}
