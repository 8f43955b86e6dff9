import EventLoop
import JSON
import Postgres

/// What others than the user do with it.
extension Users {
  /// How many users a page has at most.
  package static let pageSize = 100

  /// Users of an app as their profiles, the oldest first.
  ///
  /// - Parameters:
  ///   - app: whose users.
  ///   - cursor: the `next` of the page before; nil for the first page.
  ///   - count: from 1 to `pageSize`.
  ///   - administrator: who asks.
  /// - Returns: the profiles.
  /// - Throws: `.unavailable`.
  @EventLoop package static func page(
    of app: AppID,
    after cursor: UserID? = nil,
    count: Int = pageSize,
    for administrator: Administrator
  ) async throws(Failure) -> Page<Profile> {
    let count = min(max(count, 1), pageSize)
    let profiles = try await administrator.store.read(
      UsersAdministrationQueries.page,
      app,
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
    in app: AppID,
    for administrator: Administrator
  ) async throws(Failure) -> UserDetails {
    let (caller, store) = (administrator.caller(on: user, of: app), administrator.store)
    let logins = try await store.read(UsersAdministrationQueries.logins, user, app)
    guard let logins = logins.first else { throw .notFound }
    var sessions: [SessionInfo] = []
    var page = try await Sessions.page(of: caller, in: store)
    sessions += page.items
    while let next = page.next {
      page = try await Sessions.page(of: caller, before: next, in: store)
      sessions += page.items
    }
    return UserDetails(
      profile: try await Profiles.read(of: caller, in: store),
      lastLoginAt: logins.last,
      loginCount: logins.count,
      identities: try await Identities.list(of: caller, in: store),
      sessions: sessions
    )
  }

  /// Returns the user of an address, verified or not; nil for an address of no user.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop package static func holder(
    of email: String,
    in app: AppID,
    for administrator: Administrator
  ) async throws(Failure) -> UserID? {
    let rows = try await administrator.store.read(UsersAdministrationQueries.holder, app, email)
    return rows.first.map(UserID.init(trusted:))
  }

  /// Blocks a user, whose sessions end, or unblocks it; nothing happens where it is so already.
  ///
  /// - Returns: the profile.
  /// - Throws: `.notFound`, `.versionMoved`, `.unavailable`.
  @EventLoop package static func setBlocked(
    _ isBlocked: Bool,
    _ user: UserID,
    of app: AppID,
    if condition: VersionCondition = VersionCondition(),
    by administrator: Administrator
  ) async throws(Failure) -> Profile {
    let action = isBlocked ? "user_block" : "user_unblock"
    try await change(user, of: app, if: condition, administrator) {
      (transaction, found) async throws(Failure) in
      guard found.isBlocked != isBlocked else { return }
      _ = try await transaction.run(UsersAdministrationQueries.setBlocked, user, isBlocked)
      if isBlocked { try await endSessions(of: user, "blocked", administrator, in: transaction) }
      try await administrator.record(action, of: user, app: app, in: transaction)
    }
    return try await Profiles.read(
      of: administrator.caller(on: user, of: app),
      in: administrator.store
    )
  }

  /// Ends all sessions of a user.
  ///
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func logout(
    _ user: UserID,
    of app: AppID,
    by administrator: Administrator
  ) async throws(Failure) {
    try await change(user, of: app, administrator) { (transaction, _) async throws(Failure) in
      try await endSessions(of: user, "ended", administrator, in: transaction)
      try await administrator.record("user_logout", of: user, app: app, in: transaction)
    }
  }

  /// Deletes a user with all that is stored of it; the audit trail keeps that it was.
  ///
  /// - Throws: `.notFound`, `.versionMoved`, `.unavailable`.
  @EventLoop package static func delete(
    _ user: UserID,
    of app: AppID,
    if condition: VersionCondition = VersionCondition(),
    by administrator: Administrator
  ) async throws(Failure) {
    let picture = try await change(user, of: app, if: condition, administrator) {
      (transaction, _) async throws(Failure) in
      try await administrator.queueNotice(of: .deleted, to: user, in: app, transaction)
      let picture = try await remove(user, in: transaction)
      try await administrator.record("user_delete", of: user, app: app, in: transaction)
      return picture
    }
    await administrator.store.pictures.shelf.forget(picture)
  }

  /// Makes the address of a user verified, on the operator's word.
  ///
  /// It revokes nothing. An attacker may have made the user, so the next mail proof takes the account
  /// over, as when only the reader of a mail has verified the address.
  /// - Throws: `.notFound` also for a user without an address, `.unavailable`.
  @EventLoop package static func verifyEmail(
    of user: UserID,
    in app: AppID,
    by administrator: Administrator
  ) async throws(Failure) {
    try await change(user, of: app, administrator) { (transaction, found) async throws(Failure) in
      guard let address = found.address else { throw .notFound }
      guard !address.isVerified else { return }
      _ = try await transaction.run(
        AccountQueries.verify,
        user,
        app,
        address.key,
        IdentityID(),
        true
      )
      try await administrator.record("email_verify", of: user, app: app, in: transaction)
      try await administrator.queueNotice(of: .emailVerified, to: user, in: app, transaction)
    }
  }

  @EventLoop static func endSessions(
    of user: UserID,
    _ reason: String,
    _ administrator: Administrator,
    in transaction: Transaction
  ) async throws(Failure) {
    try await Sessions.end(
      .all,
      of: user,
      reason,
      by: administrator.actor.text,
      from: administrator.origin,
      in: transaction
    )
  }

  /// Does `body` on a user that is there, in the version asked for, with its row locked.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: `.notFound`, `.versionMoved`, what `body` throws.
  @discardableResult
  @EventLoop static func change<Outcome>(
    _ user: UserID,
    of app: AppID,
    if condition: VersionCondition = VersionCondition(),
    _ administrator: Administrator,
    _ body: @EventLoop (Transaction, AdministeredUser) async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await administrator.transaction { transaction async throws(Failure) in
      let rows = try await transaction.run(UsersAdministrationQueries.lock, user, app)
      guard let found = rows.first else { throw .notFound }
      guard condition.allows(found.version) else { throw .versionMoved(current: found.version) }
      return try await body(transaction, found)
    }
  }
}
