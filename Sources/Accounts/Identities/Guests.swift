import Delivery
package import EventLoop
import IdentitySubjects
import JSON
import Postgres
package import Runtime
package import Sessions
package import Tenancy

/// Links the first credential of an anonymous user, who keeps id and data.
@EventLoop package enum Guests {
  /// Signs in by a new identity of an issuer, which a guest gets.
  ///
  /// The guest gets the proved address too, and the names that it lacks.
  /// - Parameters:
  ///   - external: the identity, which no user has.
  ///   - guest: the guest; nil for none.
  ///   - methods: as in `TokenLogin.signIn`.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the session; nil if a new user has to get the identity.
  /// - Throws: `.signUpClosed`, `.emailTaken`, `.identityTaken`; as `TokenLogin.signIn`.
  package static func signIn(
    _ external: ExternalTokens.Identity, linkingTo guest: Principal?, secondFactor methods: String,
    as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    try await link(guest, context) { user async throws(Failure) in
      let subject = try await NewSubject(external, of: user, context)
      return try await SignIn.complete(
        subject.credential, secondFactor: methods, as: style, context
      ) { transaction async throws(Failure) in
        try await subject.link(external, in: transaction)
        return { () async throws(Failure) in }
      }
    }
  }

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

extension NewSubject {
  /// Gives the identity to a guest, who is the user of the request.
  ///
  /// It ends all sessions of the guest, as the link of an address does.
  /// - Throws: `.identityTaken`, `.emailTaken` if another user has a proved address, `.sessionEnded` if
  ///   the user is no guest any more, `.emailRestorePending`.
  fileprivate func link(
    _ external: ExternalTokens.Identity, in transaction: Transaction
  ) async throws(Failure) {
    let (user, app, identity) = (credential.user, context.app.id, IdentityID())
    let (provider, subject) = (external.provider, external.subject)
    try await Identities.link(provider, to: user, in: transaction) {
      transaction async throws(Failure) -> (Void, isNew: Bool) in
      let guest = try await transaction.run(ProfileQueries.read, user, context.principal).first
      guard let guest, guest.isAnonymous else { throw .sessionEnded }
      let claimed = transaction.send(SubjectQueries.claim, app, provider, subject, user, identity)
      _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, subject)
      try await claimed.rows(undone: .identityTaken)
      if let address, provesEmail {
        try await give(address, by: identity, to: user, in: transaction)
      }
      try await external.refreshNames(of: user, in: transaction)
      try external.keep(of: user, in: transaction)
      try await Sessions.end(.all, of: user, "link", in: transaction)
      return ((), isNew: true)
    }
  }

  /// Gives the proved address to a guest.
  private func give(
    _ address: EmailAddress, by identity: IdentityID, to user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let own = try await transaction.run(EmailChangeQueries.own, user, transaction.principal).first
    if let asserted = own?.address {
      Subjects.release([Subject(email: asserted)], of: user, in: transaction)
    }
    let taken = try await transaction.run(
      SubjectQueries.takeFreeAddress, context.app.id, address.key, user, identity, ServerTime())
    guard !taken.isEmpty else { throw .emailTaken }
    let stored = profile["email"]?.string ?? ""
    _ = transaction.send(IdentitiesQueries.setAddress, user, stored, address.key)
    try await transaction.send(AccountQueries.verify, user).rows()
  }
}
