import Tenancy
import Delivery
package import Runtime
import Sessions
import EventLoop
import Postgres

extension Identities {
  /// Links the address and password of a registration to the user of the session.
  ///
  /// It deletes the user that the registration created, who has never logged in. The address and
  /// password move to the user of the session, and stay verified or unverified. Nothing changes if
  /// they already belong to that user. The session stays.
  /// - Throws: `.wrongCredentials` if no user has them, `.identityTaken` if their user has logged
  ///   in, `.identityExists` if the user of the session has an address, `.emailUnverified`,
  ///   `.emailRestorePending`, `.tooManyAttempts`, `.loginMethodDisabled`, `.sessionEnded`,
  ///   `.overloaded`, `.databaseUnavailable`.
  package static func linkRegistered(
    _ credentials: Credentials, to user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try await context.requireSession(of: user)
    let right = try await Users.compare(credentials, context)
    try await right.limiter.takeBack()
    let (account, address) = (right.account, right.address)
    if account.user == user { return }
    guard account.isUsable(context) else { throw .emailUnverified }
    // The earlier mailed token belongs to the registered user, who is deleted here.
    let mail =
      account.isVerified
      ? nil : try await AccountMail.verification(of: user, account.email, address, context)
    do throws(Failure) {
      try await context.transaction { transaction async throws(Failure) in
        // In the order of ids, so that two concurrent links do not deadlock.
        for user in [user, account.user].sorted(by: { $0.text < $1.text }) {
          _ = transaction.send(SessionsQueries.lockUser, user)
        }
        try await transaction.requireSession(of: user)
        try await requireNoRestore(of: user, in: transaction)
        // A reset may have changed the password during the comparison.
        let now = try await Accounts.find(address, of: account.user, in: transaction)
        guard let now else { throw .identityTaken }
        guard now.hash == account.hash, !now.isBlocked else { throw .wrongCredentials }
        let bare = try await transaction.run(UserOriginQueries.isBare, account.user)
        guard !bare.isEmpty else { throw .identityTaken }
        try await Users.remove(account.user, linkedTo: user, in: transaction)
        try await revokeGuestCredentials(of: user, in: transaction)
        try await link(
          address, account.email, right.renewed ?? right.hash, to: user, in: transaction
        )
        if now.isVerified {
          try await Accounts.markVerified(
            address, of: user, byReader: now.isVerifiedByReader, in: transaction
          )
        }
        mail?.queue(in: transaction)
        try await finish(.password, of: user, in: transaction)
      }
    } catch .identityTaken {
      // A concurrent link may already have moved the identity to this user.
      let holder = try await Accounts.latestHolder(of: address, context)
      guard holder == user else { throw .identityTaken }
    }
  }
}
