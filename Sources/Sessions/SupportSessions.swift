import Delivery
package import EventLoop
import JSON
package import Postgres
import RateLimiting
package import Runtime
import Tenancy

/// Sessions in which support sees the account of a user, by a code that the user has told it.
///
/// Their tokens only read, and have the claim `act`, which names the administrator.
/// - Source: RFC 8693 section 4.1, for the claim.
@EventLoop package enum SupportSessions {
  package nonisolated static let codeLifetime = Duration.seconds(600)
  package nonisolated static let lifetime = Duration.seconds(1_800)
  /// The greatest length of a reason, in characters.
  package nonisolated static let longestReason = 200

  /// Makes a code in place of an earlier one.
  ///
  /// - Returns: the code as people read it, and when it expires.
  /// - Throws: `.sessionEnded`, `.tooManyRequests`, `.databaseUnavailable`.
  package static func makeCode(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> (text: String, expiresAt: Timestamp) {
    try await RateLimits.countChange(of: user, context)
    let code = SupportCode()
    let hash = code.hashes(context.keys.master)[0]
    let expiresAt = try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let made = try await transaction.run(
        SupportSessionQueries.makeCode, user, context.app.id, hash, codeLifetime)
      Event("support_code_make", of: user).record(in: transaction)
      return try made.first.orGone(context)
    }
    return (code.text, expiresAt)
  }

  /// Uses a code up, and opens a session that sees the account of its user.
  ///
  /// An email tells the user. Wrong codes are counted by administrator and network.
  /// - Parameters:
  ///   - code: as people type it; spaces, hyphens and case do not count.
  ///   - reason: why support needs it.
  ///   - context: the context of an operator or an administrator, in the app.
  /// - Returns: the session, and its access token.
  /// - Throws: `.invalidCode` also for a code that has expired or was used, `.tooManyAttempts`,
  ///   `.databaseUnavailable`.
  package static func open(
    by code: String, for reason: String, _ context: RequestContext
  ) async throws(Failure) -> (session: SupportSession, token: String) {
    let limiter = FailureLimiter(.supportCode, on: context.principal.name, context)
    let session = try await limiter.attempt { () async throws(Failure) in
      guard let code = SupportCode(code) else { throw .invalidCode }
      for hash in code.hashes(context.keys.master) {
        let found = try await context.read(
          SupportSessionQueries.find, context.app.id, hash, on: .search)
        if let user = found.first { return try await open(user, hash, reason, context) }
      }
      throw .invalidCode
    }
    try await limiter.takeBack()
    let token = try await context.tokens.token(
      of: session.principal(in: context.app.id), lifetime: lifetime,
      [("act", ["sub": .string(context.principal.name)])])
    return (session, token)
  }

  private static func open(
    _ user: UserID, _ hash: BinaryBytes, _ reason: String, _ context: RequestContext
  ) async throws(Failure) -> SupportSession {
    try await context.transaction { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, user)
      let used = try await transaction.run(SupportSessionQueries.useCode, user, hash)
      guard !used.isEmpty else { throw .invalidCode }
      let opened = try await transaction.run(
        SupportSessionQueries.open, user, SessionID(), DeviceID(), context.app.id,
        BinaryBytes(Credential.salt()), lifetime, context.principal.administrator?.id,
        Scopes.readUser)
      let session = try opened.first.orGone(context)
      Event(
        "support_session", of: user, at: EventPlace(session: session.id, device: session.device),
        detail: ["reason": .string(reason)]
      ).record(in: transaction)
      try await SecurityNotice.supportBegan(reason: reason).notice(of: user, in: transaction)
        .queue(in: transaction)
      return session
    }
  }

  /// Returns a live session of support.
  ///
  /// - Throws: `.notFound` if it has ended, or is another administrator's; `.databaseUnavailable`.
  package static func find(
    _ session: SessionID, _ context: RequestContext
  ) async throws(Failure) -> SupportSession {
    let administrator = context.principal.administrator?.id
    let found = try await context.read(
      SupportSessionQueries.session, context.app.id, session, administrator, on: .search)
    guard let session = found.first else { throw .notFound }
    return session
  }

  /// Ends a session of support.
  ///
  /// - Throws: as `find`.
  package static func end(
    _ session: SessionID, _ context: RequestContext
  ) async throws(Failure) {
    let found = try await find(session, context)
    try await context.transaction { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, found.user)
      try await Sessions.end(.one(found.id), of: found.user, "ended", in: transaction)
    }
  }

  /// Returns the live sessions in which support sees the account of the caller.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [SupportSession] {
    try await context.list(SupportSessionQueries.ofUser, user, context.principal)
      .orGone(context)
  }

  /// Ends the sessions in which support sees the account of the caller, and deletes the code.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func endAll(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      _ = transaction.send(SupportSessionQueries.removeCode, user)
      let ended = try await transaction.run(SupportSessionQueries.endAll, user)
      Sessions.recordEnds(ended, of: user, "ended", in: transaction)
    }
  }
}

/// A live session in which support sees the account of a user.
package struct SupportSession: RowDecodable {
  package let id: SessionID
  package let user: UserID
  let device: DeviceID
  /// Nil for a session of the operator.
  package let administrator: UserID?
  package let createdAt: Timestamp
  package let expiresAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    user = try row.id(1)
    device = try row.id(2)
    administrator = row.id(ifAny: 3)
    createdAt = try row.time(4)
    expiresAt = try row.time(5)
  }

  /// Returns the user of the session, who only reads.
  package func principal(in app: AppID) -> Principal {
    Principal(user, id, device, in: app, scopes: Scopes(Scopes.readUser), isReadOnly: true)
  }
}

/// A code of eight characters, which a user reads aloud.
///
/// It has 40 random bits. It is short, so it expires soon, and wrong codes are limited.
struct SupportCode {
  private static let length = 8

  private let characters: [UInt8]

  init() { characters = SpokenAlphabet.random(Self.length) }

  /// Reads what an administrator typed; returns nil if it does not have the form of a code.
  init?(_ typed: String) {
    guard let characters = SpokenAlphabet.characters(of: typed, count: Self.length) else {
      return nil
    }
    self.characters = characters
  }

  /// The code as the user sees it.
  var text: String { SpokenAlphabet.text(characters, inGroupsOf: 4) }

  /// Returns the hash by each master key; the database stores the first.
  func hashes(_ master: MasterKey) -> [BinaryBytes] {
    let named = Array("support code ".utf8) + characters
    return master.checks.indices.map { BinaryBytes(master.hash(of: named, by: $0)) }
  }
}

package enum SupportSessionQueries {
  /// - Parameter 4: how long the code is valid.
  static let makeCode = Statement<Timestamp, UserID, AppID, BinaryBytes, Duration>(
    "support_sessions.make_code",
    """
    insert into support_codes (user_id, app_id, code_hash, expires_at)
    values ($1, $2, $3, now() + $4::interval)
    on conflict (user_id) do update
      set code_hash = excluded.code_hash, expires_at = excluded.expires_at
    returning expires_at
    """)

  static let removeCode = Statement<NoRow, UserID>(
    "support_sessions.remove_code", "delete from support_codes where user_id = $1"
  )

  /// Returns the user of a valid code, of all shards.
  ///
  /// Served by `support_codes_by_hash`.
  static let find = Statement<UserID, AppID, BinaryBytes>(
    "support_sessions.find",
    """
    select c.user_id from support_codes c
    where c.app_id = $1 and c.code_hash = $2 and c.expires_at > now()
    """)

  /// Deletes a code; returns no row if another request has used it, or the user is blocked.
  static let useCode = Statement<UserID, UserID, BinaryBytes>(
    "support_sessions.use_code",
    """
    delete from support_codes c using users u
    where c.user_id = $1 and c.code_hash = $2 and c.expires_at > now() and u.user_id = $1
      and u.blocked_at is null
    returning c.user_id
    """)

  /// The columns of a `SupportSession`, of the session `s`.
  private static let columns: SQL =
    "s.session_id, s.user_id, s.device_id, s.administrator_id, s.created_at, s.expires_at"

  /// - Parameter 6: how long the session lasts.
  /// - Parameter 7: the administrator; null for the operator.
  /// - Parameter 8: the scope.
  static let open = Statement<
    SupportSession, UserID, SessionID, DeviceID, AppID, BinaryBytes, Duration, UserID?, String
  >(
    "support_sessions.open",
    """
    insert into sessions as s (
      user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at, style,
      administrator_id)
    values ($1, $2, $3, $4, 'support', $8, $5, now() + $6::interval, 'support', $7)
    returning \(columns)
    """)

  /// Returns a live session, of all shards.
  ///
  /// Served by `sessions_by_id`.
  /// - Parameter 3: the administrator whose it must be; null for any.
  static let session = Statement<SupportSession, AppID, SessionID, UserID?>(
    "support_sessions.session",
    """
    select \(columns) from sessions s
    where s.session_id = $2 and s.app_id = $1 and s.style = 'support' and s.ended_at is null
      and s.expires_at > now() and ($3::text is null or s.administrator_id = $3)
    """)

  /// Returns at least one row if the session of the caller is live.
  ///
  /// Served by `sessions_live`.
  static let ofUser = Statement<Found<SupportSession>, UserID, Principal>(
    "support_sessions.of_user",
    """
    select \(columns) from users c
    left join lateral (
      select \(columns) from sessions s
      where s.user_id = $1 and s.style = 'support' and s.ended_at is null
        and s.expires_at > now()
      order by s.session_id desc limit 100
    ) s on true
    where \(.isAuthorized)
    """)

  /// Served by `sessions_live`.
  static let endAll = Statement<StandingSession, UserID>(
    "support_sessions.end_all",
    """
    update sessions s set ended_at = now(), end_reason = 'ended'
    where s.user_id = $1 and s.style = 'support' and s.ended_at is null and s.expires_at > now()
    returning s.session_id, s.device_id
    """)
}
