import EventLoop
import Postgres

/// A token from a mail, as somebody shows it.
struct ShownToken {
  let user: UserID
  let claim: MailedClaim
  private let purpose: MailedToken.Purpose
  private let hash: BinaryBytes
  /// How long it must be good for still.
  private let left: Duration

  /// Finds what it was mailed for, and leaves it good.
  ///
  /// - Parameters:
  ///   - text: as it is shown.
  ///   - purposes: that it may have been mailed for.
  ///   - lifetime: since it was mailed; nil for that of its purpose.
  ///   - context: of the request.
  /// - Throws: `.invalidMailToken`, `.unavailable`.
  @EventLoop init(
    _ text: String,
    for purposes: [MailedToken.Purpose],
    within lifetime: Duration? = nil,
    _ context: Context
  ) async throws(Failure) {
    let master = context.store.keys.master
    for purpose in purposes {
      guard let token = Credential(purpose.kind, text, master) else { continue }
      self.purpose = purpose
      user = token.owner()
      hash = token.hash(master)
      left = purpose.lifetime - (lifetime ?? purpose.lifetime)
      let found = try await context.store.read(
        MailTokenQueries.look,
        user,
        purpose.rawValue,
        hash,
        context.app.id,
        left
      )
      guard let claim = found.first else { break }
      self.claim = claim
      return
    }
    throw .invalidMailToken
  }

  /// Uses it up, makes its address the user's, and does `body` in the same transaction, which is
  /// told whether it is the first time that the user has proved the address.
  ///
  /// - Parameters:
  ///   - isAlone: whether nobody else may claim the address.
  ///   - context: of the request.
  ///   - body: what is done with it.
  /// - Throws: `.invalidMailToken` when another was first, `.claimantUnproved` when others claim the
  ///   address who may not, `.emailTaken`, `.unavailable`.
  @EventLoop func take(
    alone isAlone: Bool = false,
    _ context: Context,
    _ body: @EventLoop (Bool, Transaction) async throws(DatabaseError) -> Void
  ) async throws(Failure) {
    try await use(alone: isAlone, context) { (email, transaction) async throws(DatabaseError) in
      let isFirst = try await Emails.prove(
        email,
        of: user,
        in: context.app.id,
        by: "anyone",
        transaction
      )
      guard let isFirst else { return false }
      if isFirst {
        try await WayInChange.emailConfirmed.record(ofReader: user, in: transaction, context)
      }
      try await body(isFirst, transaction)
      return true
    }
  }

  /// Uses it up, and does `body` with its address in the same transaction, which says whether it was
  /// of use; then forgets the failures of the address.
  ///
  /// - Throws: `.invalidMailToken` when another was first, or `body` is false; `.claimantUnproved` when
  ///   others claim the address who may not; `.emailTaken` when another user has it; `.unavailable`.
  @EventLoop func use(
    alone isAlone: Bool = false,
    _ context: Context,
    _ body: @EventLoop (String, Transaction) async throws(DatabaseError) -> Bool
  ) async throws(Failure) {
    let isTaken: Bool
    var isContested = false
    do throws(Failure) {
      isTaken = try await context.store.transaction { transaction async throws(DatabaseError) in
        try await EmailAddress(key: claim.key).lock(in: context.app.id, context.store, transaction)
        if isAlone {
          let claimants = try await transaction.run(
            EmailQueries.claimants,
            context.app.id,
            claim.key
          )
          isContested = claimants.contains { $0 != user.text }
        }
        guard !isContested else { return false }
        // Logins and changes that are under way come before, or find what this has ended.
        _ = try await transaction.run(IdentitiesQueries.lock, user)
        let taken = try await transaction.run(
          MailTokenQueries.take,
          user,
          purpose.rawValue,
          hash,
          context.app.id,
          left
        )
        guard let email = taken.first, try await body(email, transaction) else { return false }
        try await Attempts.sendForget(of: claim.key, context, in: transaction)()
        return true
      }
    } catch .identityTaken {
      throw .emailTaken
    }
    guard !isContested else { throw .claimantUnproved }
    guard isTaken else { throw .invalidMailToken }
  }
}
