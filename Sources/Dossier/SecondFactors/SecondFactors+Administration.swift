import EventLoop
import JSON
import Postgres

extension SecondFactors {
  /// Removes all second factors of a user who has lost them, with the recovery codes.
  ///
  /// Sessions stay. A mail reports it to the user.
  /// - Throws: `.notFound` also for a user without a second factor, `.unavailable`.
  package static func removeAll(
    of user: UserID,
    in app: AppID,
    by administrator: Administrator
  ) async throws(Failure) {
    // The command line has not read the apps yet, and this mail leaves from there, too.
    let store = administrator.store
    let known = try await store.apps.app(app)
    try await Users.change(user, of: app, administrator) {
      (transaction, _) async throws(Failure) in
      let removed = try await transaction.run(SecondFactorQueries.removeAll, user)
      let count = removed.count { $0 }
      guard count > 0 else { throw .notFound }
      _ = try await transaction.run(SecondFactorQueries.removeRecoveryCodes, user)
      try await administrator.record(
        "second_factor_remove",
        of: user,
        app: app,
        detail: ["count": .number(JSONNumber(count))],
        in: transaction
      )
      try await WayInChange.secondFactorsRemoved
        .notice(of: user, in: transaction, known, store)
        .queue(in: transaction)
    }
  }
}
