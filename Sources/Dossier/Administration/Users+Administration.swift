import EventLoop
import JSON
import Postgres

/// The management of users.
extension Users {
  /// How many users a page has at most.
  package static let pageSize = 100

  /// Users of an app as their profiles, the oldest first.
  ///
  /// - Parameters:
  ///   - cursor: the `next` of the page before; nil for the first page.
  ///   - count: from 1 to `pageSize`.
  ///   - context: the context of the request.
  /// - Returns: the profiles.
  /// - Throws: `.unavailable`.
  @EventLoop package static func page(
    after cursor: UserID? = nil,
    count: Int = pageSize,
    _ context: RequestContext
  ) async throws(Failure) -> Page<Profile> {
    let count = min(max(count, 1), pageSize)
    let profiles = try await context.read(
      UsersAdministrationQueries.page,
      context.app.id,
      cursor,
      count
    )
    return Page(profiles, of: count)
  }

  /// A user with its logins, identities and sessions.
  ///
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func details(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> UserDetails {
    let logins = try await context.read(UsersAdministrationQueries.logins, user, context.app.id)
    guard let logins = logins.first else { throw .notFound }
    var sessions: [SessionInfo] = []
    var page = try await Sessions.page(of: user, context)
    sessions += page.items
    while let next = page.next {
      page = try await Sessions.page(of: user, before: next, context)
      sessions += page.items
    }
    return UserDetails(
      profile: try await Profiles.read(of: user, context),
      lastLoginAt: logins.last,
      loginCount: logins.count,
      identities: try await Identities.list(of: user, context),
      sessions: sessions
    )
  }

  /// Returns the user of an address, verified or not; nil for an address of no user.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop package static func holder(
    of email: String,
    _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    let rows = try await context.read(UsersAdministrationQueries.holder, context.app.id, email)
    return rows.first.map(UserID.init(trusted:))
  }

  /// Blocks a user, whose sessions end, or unblocks it; nothing happens where it is so already.
  ///
  /// - Returns: the profile.
  /// - Throws: `.notFound`, `.versionMoved`, `.unavailable`.
  @EventLoop package static func setBlocked(
    _ isBlocked: Bool,
    _ user: UserID,
    if condition: VersionCondition = VersionCondition(),
    _ context: RequestContext
  ) async throws(Failure) -> Profile {
    let action = isBlocked ? "user_block" : "user_unblock"
    try await change(user, if: condition, context) {
      (transaction, found) async throws(Failure) in
      guard found.isBlocked != isBlocked else { return }
      _ = try await transaction.run(UsersAdministrationQueries.setBlocked, user, isBlocked)
      if isBlocked { try await endSessions(of: user, "blocked", context, in: transaction) }
      try await Event(action, of: user).record(in: transaction, context)
    }
    return try await Profiles.read(of: user, context)
  }

  /// Ends all sessions of a user.
  ///
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func logout(
    _ user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await change(user, context) { (transaction, _) async throws(Failure) in
      try await endSessions(of: user, "ended", context, in: transaction)
      try await Event("user_logout", of: user).record(in: transaction, context)
    }
  }

  /// Makes the address of a user verified, on the operator's word.
  ///
  /// It revokes nothing. An attacker may have made the user, so the next mail proof takes the account
  /// over, as when only the reader of a mail has verified the address.
  /// - Throws: `.notFound` also for a user without an address, `.unavailable`.
  @EventLoop package static func verifyEmail(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await change(user, context) { (transaction, found) async throws(Failure) in
      guard let address = found.address else { throw .notFound }
      guard !address.isVerified else { return }
      _ = try await transaction.run(
        AccountQueries.verify,
        user,
        context.app.id,
        address.key,
        IdentityID(),
        true
      )
      try await Event("email_verify", of: user).record(in: transaction, context)
      try await WayInChange.emailVerified.notice(of: user, in: transaction, context).queue(
        in: transaction
      )
    }
  }

  @EventLoop static func endSessions(
    of user: UserID,
    _ reason: String,
    _ context: RequestContext,
    in transaction: Transaction
  ) async throws(Failure) {
    try await Sessions.end(.all, of: user, reason, in: transaction, context)
  }

  /// Locks a user and runs `body`, if the user has a version that the condition allows.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: `.notFound`, `.unauthenticated`, `.versionMoved`, what `body` throws.
  @discardableResult
  @EventLoop static func change<Outcome>(
    _ user: UserID,
    if condition: VersionCondition = VersionCondition(),
    _ context: RequestContext,
    _ body: @EventLoop (Transaction, AdministeredUser) async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await context.transaction { transaction async throws(Failure) in
      try await Identities.lock(user, in: transaction, context)
      let rows = try await transaction.run(UsersAdministrationQueries.find, user, context.app.id)
      guard let found = rows.first else { throw context.gone }
      guard condition.allows(found.version) else { throw .versionMoved(current: found.version) }
      return try await body(transaction, found)
    }
  }
}
