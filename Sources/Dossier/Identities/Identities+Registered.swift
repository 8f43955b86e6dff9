import EventLoop
import Postgres

extension Identities {
  /// Links the address and the password of a registration to the caller.
  ///
  /// The user that the registration made, who has never logged in, goes: its address and password
  /// become the caller's, confirmed if they were. Nothing changes when they are the caller's already.
  /// - Throws: `.wrongCredentials` when they are nobody's, `.identityTaken` when their user has logged
  ///   in, `.identityExists` when the caller has a password, `.emailUnconfirmed` where addresses must
  ///   be confirmed first, `.wayBackOpen`, `.tooManyAttempts`, `.wayInClosed`, `.unauthenticated`,
  ///   `.overloaded`, `.unavailable`.
  package static func linkRegistered(
    _ credentials: Credentials,
    to caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try await context.requireSession(of: caller)
    let address = try await EmailAddress(credentials.email, context)
    let match = try await Users.match(credentials.password, address, context)
    guard let found = match.found, !found.isBlocked else {
      throw try await Users.refused(match.found?.user ?? match.holder, context)
    }
    try await match.guarding?.takeBack()
    if found.user == caller.user { return }
    if context.app.settings.requiresEmailConfirmation, !found.isConfirmed {
      throw .emailUnconfirmed
    }
    let email = address.stored(credentials.email)
    let outcome = try await context.store.transaction { transaction async throws(DatabaseError) in
      try await address.lock(in: context.app.id, context.store, transaction)
      // Always in one order, whoever is linked to whom at the same moment.
      for user in [caller.user, found.user].sorted(by: { $0.text < $1.text }) {
        _ = try await transaction.run(IdentitiesQueries.lock, user)
      }
      let live = try await transaction.run(CallerQueries.live, caller.user, caller.authority)
      guard !live.isEmpty else { return TakeOver.sessionEnded }
      if let end = try await wayBack(to: caller, in: transaction) { return .wayBack(until: end) }
      let gone = try await transaction.run(BeginningQueries.takeOver, found.user, context.app.id)
      guard !gone.isEmpty else {
        // Another link of the same at the same moment may have made it the caller's.
        let now = try await match.anew(context, in: transaction)
        return now.found?.user == caller.user ? .isCallers : .taken
      }
      _ = try await transaction.run(BeginningQueries.forget, found.user)
      try await endUnproved(of: caller, in: transaction, context)
      _ = try await transaction.run(
        IdentitiesQueries.linkPassword,
        caller.user,
        caller.authority,
        IdentityID(),
        email,
        address.key,
        match.renewed ?? found.hash
      )
      if found.isConfirmed {
        _ = try await Emails.prove(
          email,
          of: caller.user,
          in: context.app.id,
          by: caller.actor,
          transaction
        )
      }
      try await WayInChange.linked("password").record(
        by: caller,
        in: transaction,
        context
      )
      return .done
    }
    switch outcome {
    case .done:
      // What was mailed before was for the user that is gone.
      if !found.isConfirmed { Emails.mail(.confirm, to: address, claimedBy: caller.user, context) }
    case .isCallers: return
    case .sessionEnded: throw caller.gone
    case .taken: throw .identityTaken
    case .wayBack(let end): throw .wayBackOpen(until: end)
    }
  }

  private enum TakeOver {
    case done, isCallers, sessionEnded, taken
    case wayBack(until: Timestamp)
  }
}
