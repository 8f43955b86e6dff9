import EventLoop
import JSON
import Postgres

/// Users: how they come in, and how they go.
package enum Users {
  /// Somebody without credentials: a user that nobody else can log in as, who is made when the
  /// session is opened.
  ///
  /// - Throws: `.wayInClosed`, `.deviceUnknown`, `.deviceFull`, `.tooManyAttempts`, `.overloaded`,
  ///   `.unavailable`.
  @EventLoop package static func proveNothing(_ context: Context) async throws(Failure) -> Proof {
    try context.requireOpen(.anonymous)
    let user = UserID()
    let device = try await Devices.admit(user, context)
    let proof = Proof(of: user, by: "anonymous", on: device)
    proof.allowances = try await RequestGuard.anonymous(context)
    proof.preparation = { (transaction) async throws(DatabaseError) in
      make(
        user,
        by: "anonymous",
        user.text,
        isAnonymous: true,
        JSONObject(),
        context,
        transaction
      )
    }
    return proof
  }

  /// Sends what makes a user who has one identity: what a provider knows by that subject.
  ///
  /// Always true, as what prepares a session answers when the session may be opened.
  @EventLoop static func make(
    _ user: UserID,
    by provider: String,
    _ subject: String,
    isAnonymous: Bool,
    _ profile: JSONObject,
    _ context: Context,
    _ transaction: Transaction
  ) -> Bool {
    _ = transaction.send(
      UsersQueries.create,
      user,
      context.app.id,
      IdentityID(),
      provider,
      subject,
      isAnonymous,
      TextBytes(JSON.object(profile).serialized())
    )
    return true
  }

  /// Deletes the caller, with all that is stored of it; the audit trail keeps that it was.
  ///
  /// - Throws: `.versionMoved`, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func delete(
    _ caller: Caller,
    if condition: VersionCondition,
    _ context: Context
  ) async throws(Failure) {
    let deleted = try await context.store.transaction { transaction async throws(DatabaseError) in
      let notice = try await WayInChange.deleted.notice(
        of: caller.user,
        in: transaction,
        context.app,
        context.store
      )
      let deleted = try await transaction.run(
        UsersQueries.delete,
        caller.user,
        caller.authority,
        context.origin.address,
        context.origin.agent,
        condition.allowed.map(VersionList.init)
      ).first
      if deleted?.isDeleted == true { try await notice.queue(in: transaction) }
      return deleted
    }
    guard let row = deleted else { throw caller.gone }
    guard row.isDeleted else {
      throw .versionMoved(current: try await Profiles.read(of: caller, in: context.store).version)
    }
    await context.store.pictures.shelf.forget(row.picture)
  }
}

extension Context {
  /// - Throws: `.wayInClosed` when the app does not let users come that way.
  func requireOpen(_ way: WayIn) throws(Failure) {
    guard app.settings.isOpen(way) else { throw .wayInClosed(way.rawValue) }
  }
}
