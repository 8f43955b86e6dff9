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

  /// Whose an address is: the one who has confirmed it; without one those who claim it by a
  /// password, or whom an issuer calls so, at most 10.
  @EventLoop package static func holders(
    of email: String,
    in app: AppID,
    for administrator: Administrator
  ) async throws(Failure) -> [UserID] {
    let rows = try await administrator.store.read(UsersAdministrationQueries.holders, app, email)
    return rows.map(UserID.init(trusted:))
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
      (transaction, found) async throws(DatabaseError) in
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
    try await change(user, of: app, administrator) { (transaction, _) async throws(DatabaseError) in
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
    var picture: String?
    try await change(user, of: app, if: condition, administrator) {
      (transaction, _) async throws(DatabaseError) in
      try await administrator.queueNotice(of: .deleted, to: user, in: app, transaction)
      picture = try await transaction.run(UsersAdministrationQueries.delete, user).first?.name
      try await administrator.record("user_delete", of: user, app: app, in: transaction)
    }
    await administrator.store.pictures.shelf.forget(picture)
  }

  /// Takes the address of a user's password for proved, as if the user had confirmed it outside of a
  /// session: what else could log in ends, for somebody else may have claimed the address first.
  ///
  /// - Throws: `.notFound` also for a user without such an address, `.emailTaken` when another has
  ///   confirmed it, `.unavailable`.
  @EventLoop package static func confirmEmail(
    of user: UserID,
    in app: AppID,
    by administrator: Administrator
  ) async throws(Failure) {
    let profile = try await Profiles.read(
      of: administrator.caller(on: user, of: app),
      in: administrator.store
    )
    guard let email = profile.email else { throw .notFound }
    let address = try await EmailAddress(email, administrator.store)
    var confirmation = Confirmation.noAddress
    do throws(Failure) {
      try await change(user, of: app, locking: address, administrator) {
        (transaction, found) async throws(DatabaseError) in
        guard found.email?.hasSameBytes(as: email) == true else {
          confirmation = .otherAddress
          return
        }
        confirmation = try await confirm(email, of: user, in: app, by: administrator, transaction)
      }
    } catch .identityTaken {
      throw .emailTaken
    }
    switch confirmation {
    case .done: return
    case .noAddress: throw .notFound
    case .otherAddress: try await confirmEmail(of: user, in: app, by: administrator)
    }
  }

  private enum Confirmation { case done, noAddress, otherAddress }

  @EventLoop private static func confirm(
    _ email: String,
    of user: UserID,
    in app: AppID,
    by administrator: Administrator,
    _ transaction: Transaction
  ) async throws(DatabaseError) -> Confirmation {
    let actor = administrator.actor.text
    let isNew = try await Emails.prove(email, of: user, in: app, by: actor, transaction)
    guard let isNew else { return .noAddress }
    guard isNew else { return .done }
    try await endSessions(of: user, "email_confirm", administrator, in: transaction)
    try await Emails.endOtherWaysIn(
      of: user,
      app,
      by: actor,
      administrator.origin,
      in: transaction
    )
    try await administrator.record("email_confirm", of: user, app: app, in: transaction)
    try await administrator.queueNotice(of: .emailConfirmed, to: user, in: app, transaction)
    return .done
  }

  @EventLoop static func endSessions(
    of user: UserID,
    _ reason: String,
    _ administrator: Administrator,
    in transaction: Transaction
  ) async throws(DatabaseError) {
    try await Sessions.end(
      .all,
      of: user,
      reason,
      by: administrator.actor.text,
      from: administrator.origin,
      in: transaction
    )
  }

  /// Does `body` on a user that is there, in the version asked for, with its row locked, and before it
  /// the address that `body` is about.
  @EventLoop static func change(
    _ user: UserID,
    of app: AppID,
    if condition: VersionCondition = VersionCondition(),
    locking address: EmailAddress? = nil,
    _ administrator: Administrator,
    _ body: @EventLoop (Transaction, LockedUser) async throws(DatabaseError) -> Void
  ) async throws(Failure) {
    let outcome = try await administrator.transaction { transaction async throws(DatabaseError) in
      try await address?.lock(in: app, administrator.store, transaction)
      let rows = try await transaction.run(UsersAdministrationQueries.lock, user, app)
      guard let found = rows.first else { return LockedUser?.none }
      if condition.allows(found.version) { try await body(transaction, found) }
      return found
    }
    guard let found = outcome else { throw .notFound }
    guard condition.allows(found.version) else {
      throw .versionMoved(current: found.version)
    }
  }
}
