import EventLoop
import Postgres

extension Identities {
  /// Links the address and the password of a registration to the caller.
  ///
  /// Deletes the user that the registration made, who has never signed in. The address and password
  /// become the caller's, verified if they were. Nothing changes if they are the caller's already. The
  /// session of the caller stays.
  /// - Throws: `.wrongCredentials` when no user has them, `.identityTaken` when their user has signed
  ///   in, `.identityExists` when the caller has an address, `.emailUnverified`, `.wayBackOpen`,
  ///   `.tooManyAttempts`, `.wayInClosed`, `.unauthenticated`, `.overloaded`, `.unavailable`.
  package static func linkRegistered(
    _ credentials: Credentials,
    to user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try await context.requireSession(of: user)
    let right = try await Users.compare(credentials, context)
    try await right.guarding.takeBack()
    let (account, address) = (right.account, right.address)
    if account.user == user { return }
    try account.requireUsable(context)
    // The token that was mailed before belongs to the user that goes.
    let mail =
      account.isVerified
      ? nil : try await Users.verification(of: user, account.email, address, context)
    do throws(Failure) {
      try await context.transaction { transaction async throws(Failure) in
        // In the order of ids, so that two links at once do not deadlock.
        for user in [user, account.user].sorted(by: { $0.text < $1.text }) {
          _ = try await transaction.run(IdentitiesQueries.lock, user)
        }
        guard
          try await !transaction.run(PrincipalQueries.live, user, context.principal).isEmpty
        else { throw context.gone }
        if let end = try await wayBack(to: user, in: transaction) {
          throw .wayBackOpen(until: end)
        }
        // While the password was compared, a reset may have set another one.
        let now = try await transaction.run(AccountQueries.find, context.app.id, address.key).first
        guard let now, now.user == account.user else { throw .identityTaken }
        guard now.hash == account.hash, !now.isBlocked else { throw .wrongCredentials }
        let gone = try await transaction.run(
          BeginningQueries.takeOver,
          account.user,
          context.app.id
        )
        guard !gone.isEmpty else { throw .identityTaken }
        _ = try await transaction.run(BeginningQueries.forget, account.user)
        try await revokeGuestCredentials(of: user, in: transaction, context)
        try await link(
          address,
          account.email,
          right.renewed ?? right.hash,
          to: user,
          in: transaction,
          context
        )
        if now.isVerified {
          try await Accounts.markVerified(
            address,
            of: user,
            byReader: now.isVerifiedByReader,
            in: transaction,
            context
          )
        }
        try await mail?.queue(in: transaction)
        try await WayInChange.linked("password").record(of: user, in: transaction, context)
      }
    } catch .identityTaken {
      // Another link of the same at the same moment may have made it the caller's.
      let now = try await Accounts.findLatest(address, context)
      guard now?.user == user else { throw .identityTaken }
    }
  }
}
