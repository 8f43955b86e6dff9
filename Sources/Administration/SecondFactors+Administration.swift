import Accounts
import Delivery
package import Runtime
package import Sessions
import EventLoop
import JSON
import Postgres

extension SecondFactors {
  /// Removes all second factors of a user who has lost them, with the recovery codes.
  ///
  /// Sessions stay. A mail reports it to the user.
  /// - Throws: `.notFound` also for a user without a second factor, `.databaseUnavailable`.
  package static func removeAll(of user: UserID, _ context: RequestContext) async throws(Failure) {
    try await Users.change(user, context) {
      (transaction, _) async throws(Failure) in
      let removed = try await transaction.run(SecondFactorQueries.removeAll, user)
      let count = removed.count { $0 }
      guard count > 0 else { throw .notFound }
      _ = transaction.send(SecondFactorQueries.removeRecoveryCodes, user)
      Event(
        "second_factor_remove", of: user, detail: ["count": .number(JSONNumber(count))]
      ).record(in: transaction)
      try await SecurityNotice.secondFactorsRemoved
        .notice(of: user, in: transaction)
        .queue(in: transaction)
    }
  }
}
