import Delivery
package import EventLoop
import JSON
package import Postgres
import RateLimiting
package import Runtime
import Tenancy

/// The second factors of users: authenticator apps, and recovery codes for when one is lost.
///
/// A factor counts once a code of it was entered. From then on, every sign-in of a person asks for a
/// code. API keys and guests need none.
@EventLoop package enum SecondFactors {
  /// How many confirmed factors a user may have.
  package nonisolated static let limit = 5

  /// A factor that waits for its first code.
  ///
  /// Its secret is shown this once.
  package struct Enrollment: Sendable {
    package let id: FactorID
    /// The secret in base32, to be typed.
    package let secret: String
    /// The content of the QR code for an authenticator app.
    package let uri: String
  }

  /// Begins to enroll an authenticator app, in place of one that was not confirmed.
  ///
  /// Throws `.mfaDisabled`, `.tooManyFactors`, `.reauthenticationRequired` in a session of an API
  /// key or a guest, or of a user with a factor whose session had none; `.sessionEnded`,
  /// `.databaseUnavailable`.
  package static func enroll(
    _ user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Enrollment {
    try requireOffered(context)
    try await RateLimits.countChange(of: user, context)
    return try await context.transaction { transaction async throws(Failure) in
      try await lock(user, in: transaction)
      return try await begin(of: user, in: transaction)
    }
  }

  /// Confirms a factor by its first code, and ends the user's sessions.
  ///
  /// A new session replaces that of the request, whose tokens an attacker may have copied before. A
  /// mail reports it.
  /// - Parameters:
  ///   - code: a code of the factor.
  ///   - factor: the factor.
  ///   - user: the user.
  ///   - style: the style of the new session.
  ///   - replaces: whether it takes the place of all others.
  ///   - context: the context of the request.
  /// - Returns: the new session, and new recovery codes in place of those from before.
  /// - Throws: `.invalidCode`, `.notFound` if the factor is confirmed already, and as `enroll`.
  package static func confirm(
    _ code: String, of factor: FactorID, by user: UserID, as style: SessionStyle = .native,
    replacing replaces: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> (session: OpenSession, recoveryCodes: [String]) {
    try requireOffered(context)
    let (live, codes) = try await context.transaction {
      transaction async throws(Failure) -> (LiveSession, [String]) in
      try await lock(user, in: transaction)
      let factors = try await transaction.run(SecondFactorQueries.factors, user)
      guard let found = factors.first(where: { $0.id == factor && !$0.isConfirmed }) else {
        throw .notFound
      }
      let codes = try await confirm(found, by: code, of: user, in: transaction)
      let others = replaces ? factors.filter(\.isConfirmed) : []
      for other in others {
        _ = try await transaction.run(SecondFactorQueries.remove, user, other.id)
        try await SecurityNotice.factorRemoved.record(of: user, in: transaction)
      }
      let live = try await Sessions.renew(
        user, by: nil, secondFactor: methods, as: style, "second_factor_add", in: transaction
      )
      return (live, codes)
    }
    return (OpenSession(live, of: user, as: style, context), codes)
  }

  /// Returns the caller's confirmed factors, the oldest first, and how many recovery codes are left.
  ///
  /// Throws `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> (factors: [SecondFactor], recoveryCodesLeft: Int) {
    let rows = try await context.read(SecondFactorQueries.list, user, context.principal)
    guard let first = rows.first else { throw context.gone }
    return (rows.compactMap(\.factor), first.recoveryCodesLeft)
  }

  /// Removes a factor.
  ///
  /// The last one takes the recovery codes with it. A mail reports it.
  /// Throws `.notFound`, `.reauthenticationRequired` as `enroll`, `.sessionEnded`,
  /// `.databaseUnavailable`.
  package static func remove(
    _ factor: FactorID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      try await lock(user, in: transaction)
      let removed = try await transaction.run(SecondFactorQueries.remove, user, factor)
      guard let wasConfirmed = removed.first else { throw .notFound }
      guard wasConfirmed else { return }
      _ = transaction.send(SecondFactorQueries.removeStrandedCodes, user)
      try await SecurityNotice.factorRemoved.record(of: user, in: transaction)
    }
  }

  /// Makes new recovery codes, in place of those from before.
  ///
  /// Throws `.mfaDisabled`, `.notFound` if the user has no factor, `.reauthenticationRequired` as
  /// `enroll`, `.sessionEnded`, `.databaseUnavailable`.
  package static func makeRecoveryCodes(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [String] {
    try requireOffered(context)
    try await RateLimits.countChange(of: user, context)
    return try await context.transaction { transaction async throws(Failure) in
      try await lock(user, in: transaction)
      let isEnrolled = try await transaction.run(SecondFactorQueries.isEnrolled, user).first
      guard isEnrolled == true else { throw .notFound }
      let codes = replaceRecoveryCodes(of: user, in: transaction)
      try await SecurityNotice.recoveryCodesMade.record(of: user, in: transaction)
      return codes
    }
  }

  /// Checks that the session of the request has passed a second factor, if the user has one.
  ///
  /// - Throws: `.reauthenticationRequired`, `.sessionEnded`, `.databaseUnavailable`.
  package static func requirePassed(
    by user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let (isMet, isOn) = (SecondFactorQueries.isMet, context.app.sessionSettings.mfa != .off)
    try require(await context.read(isMet, user, context.principal, isOn), context)
  }

  /// Checks the same in a transaction that has locked the user.
  ///
  /// - Throws: `.reauthenticationRequired`, `.sessionEnded`, `.databaseUnavailable`.
  package static func requirePassed(
    by user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let (isMet, isOn) = (SecondFactorQueries.isMet, transaction.app.sessionSettings.mfa != .off)
    let context = transaction.context
    try require(await transaction.run(isMet, user, context.principal, isOn), context)
  }

  private static func require(_ found: [Bool], _ context: RequestContext) throws(Failure) {
    guard try found.first.orGone(context) else {
      throw context.reauthenticationRequired
    }
  }

  /// Locks the user, and checks that the caller's session may change factors.
  ///
  /// The session of a user with a factor must have had one itself. Otherwise a person with an API
  /// key, which signs in without a factor, could remove the factor. A guest has no credential yet that a
  /// factor could be the second of.
  private static func lock(_ user: UserID, in transaction: Transaction) async throws(Failure) {
    try await Sessions.lockUser(user, in: transaction)
    try await requirePassed(by: user, in: transaction)
    let session = try await Sessions.ofCaller(user, in: transaction)
    guard !session.provider.isOfGuests else {
      throw transaction.context.reauthenticationRequired
    }
  }
}

package typealias FactorID = ID<SecondFactors>

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

/// The proofs that a user has for a second step.
package struct EnrolledFactors: RowDecodable {
  package let hasApp: Bool
  package let hasPasskey: Bool

  package init(from row: Row) throws(DatabaseError) {
    hasApp = try row.bool(0)
    hasPasskey = try row.bool(1)
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

  /// Returns whether the user has a confirmed authenticator app, and whether a passkey.
  package static let enrolled = Statement<EnrolledFactors, UserID>(
    "second_factors.enrolled",
    """
    select exists (select 1 from second_factors where user_id = $1 and confirmed_at is not null),
      exists (select 1 from passkeys where user_id = $1)
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
}

extension Failure {
  package static let mfaDisabled = Failure("mfa_disabled", .forbidden)
    .titled("The app does not use second factors.")
    .remedied("Set mfa to optional or required.")
  package static let tooManyFactors = Failure("second_factor_limit", .conflict)
    .titled("The user has the maximum number of second factors.")
    .remedied("Remove an unused second factor.")

  /// Returns the error for a login that one of `methods` completes in `flow`.
  package static func additionalFactorRequired(
    flow: String, methods: [String], lifetime: Duration
  ) -> Failure {
    .additionalFactorRequired(
      members: [
        ("flow", .string(flow)), ("methods", .array(methods.map(JSON.string))),
        ("expires_in", .number(JSONNumber(lifetime.wholeSeconds))),
      ]
    )
  }
}
