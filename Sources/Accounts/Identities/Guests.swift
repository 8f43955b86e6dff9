import Delivery
import Runtime
import Sessions
import EventLoop
import Postgres

/// Links the first address of an anonymous user, who keeps id and data.
@EventLoop enum Guests {
  /// Runs a link as a guest: an anonymous user in a live session.
  ///
  /// - Returns: the result; nil if the principal is not an anonymous user in a live session, or cannot
  ///   get an address now.
  /// - Throws: errors of the body.
  static func link<Value>(
    _ guest: Principal?, _ context: RequestContext,
    _ body: @EventLoop (UserID) async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    guard let guest, let user = guest.user,
      try await context.read(ProfileQueries.read, user, guest, on: .exclusive).first?.isAnonymous
        == true
    else { return nil }
    let caller = context.principal
    context.principal = guest
    do throws(Failure) {
      return try await body(user)
    } catch {
      context.principal = caller
      switch error {
      case .sessionEnded, .emailRestorePending, .identityExists: return nil
      default: throw error
      }
    }
  }
}

extension NewAccount {
  /// Gives the address and the password to a guest, who is the user of the request.
  ///
  /// It ends all sessions of the guest, since another person may have copied their tokens.
  /// - Returns: a function that has nothing to wait for.
  /// - Throws: `.emailTaken`, `.sessionEnded` if the user is no guest any more,
  ///   `.emailRestorePending`.
  func link(in transaction: Transaction) async throws(Failure) -> Completion {
    try await Identities.link(credential.provider, to: user, in: transaction) {
      transaction async throws(Failure) -> (Void, isNew: Bool) in
      let guest = try await transaction.run(ProfileQueries.read, user, context.principal).first
      guard let guest, guest.isAnonymous else { throw .sessionEnded }
      try await Identities.link(address, email, hash, to: user, in: transaction)
      if let flow {
        try await flow.use(in: transaction)
        try await Accounts.markVerified(address, of: user, in: transaction)
      }
      mail?.queue(in: transaction)
      try await Sessions.end(.all, of: user, "link", in: transaction)
      return ((), isNew: true)
    }
    return { () async throws(Failure) in }
  }
}
