import Tenancy
import Delivery
package import Runtime
package import Sessions
package import EventLoop
import JSON
import Postgres

/// Lists, links and unlinks the identities of users.
@EventLoop package enum Identities {
  /// Returns the user's identities, oldest first.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> [IdentityInfo] {
    let found = try await context.list(IdentitiesQueries.list, user, context.principal)
    guard let found else { throw context.gone }
    return found
  }

  /// Links credentials to the user of the session, and replaces the session by a new one.
  ///
  /// An attacker may have copied the tokens of the old one.
  /// - Returns: the tokens of the new session.
  static func link(
    _ provider: String,
    to user: UserID,
    as style: SessionStyle,
    _ context: RequestContext,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (VerifiedCredential, isNew: Bool)
  ) async throws(Failure) -> Sessions.TokenSet {
    let live = try await context.transaction { transaction async throws(Failure) in
      let credential = try await link(provider, to: user, in: transaction, context, write)
      return try await Sessions.renew(
        user,
        by: credential,
        as: style,
        "link",
        in: transaction,
        context
      )
    }
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// Links credentials to the user of the session: the part that all links share.
  ///
  /// The first link of a guest revokes the guest's credentials. `write` writes the credential, and
  /// returns whether it is new.
  private static func link(
    _ provider: String,
    to user: UserID,
    in transaction: Transaction,
    _ context: RequestContext,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (VerifiedCredential, isNew: Bool)
  ) async throws(Failure) -> VerifiedCredential {
    try await Sessions.lockUser(user, in: transaction, context)
    if let end = try await wayBack(to: user, in: transaction) {
      throw .emailRestorePending(until: end)
    }
    try await revokeGuestCredentials(of: user, in: transaction, context)
    let (credential, isNew) = try await write(transaction)
    if isNew {
      try await SecurityNotice.linked(provider).record(of: user, in: transaction, context)
    }
    return credential
  }

  /// Returns until when a removed address of the user can be restored.
  ///
  /// The result is nil if none can, or if the user has another address. Until then, no credential
  /// can be linked. A restore hands over the user with all stored data. Otherwise an attacker could
  /// link the address of another person, wait until that person stores data, and restore. The
  /// restore link cannot be revoked instead: a thief would revoke the owner's. A change of address
  /// needs no wait, because the code verifies the new address.
  package static func wayBack(
    to user: UserID,
    in transaction: Transaction
  ) async throws(Failure) -> Timestamp? {
    try await transaction.run(IdentitiesQueries.wayBack, user).first
  }

  /// Links the identity of an issuer's token to the user, unless the user already has it.
  ///
  /// - Parameters:
  ///   - token: the token.
  ///   - isAccepted: whether the route accepts identities of a provider.
  ///   - user: the user.
  ///   - style: the protocol of the new session; nil if the client cannot accept one, which keeps
  ///     its session.
  ///   - context: the context of the request.
  /// - Returns: the tokens of the new session.
  /// - Throws: `.identityTaken` if another user has the identity, `.emailRestorePending`,
  ///   `.invalidExternalToken`, `.loginMethodDisabled`, `.sessionEnded`, `.databaseUnavailable`.
  @discardableResult
  package static func linkToken(
    _ token: String,
    accepting isAccepted: (String) -> Bool = { _ in true },
    to user: UserID,
    as style: SessionStyle?,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet? {
    try context.requireOpen(.jwt)
    try await context.requireSession(of: user)
    let external = try await TokenLogin.identity(
      of: token,
      accepting: isAccepted,
      shownBy: user,
      context
    )
    @EventLoop func write(
      _ transaction: Transaction
    ) async throws(Failure) -> (VerifiedCredential, isNew: Bool) {
      let holder = try await transaction.run(
        IdentitiesQueries.holder,
        context.app.id,
        external.provider,
        external.subject
      )
      // A concurrent link of the same identity has finished by now, so its row is found.
      let credential = VerifiedCredential(
        of: user,
        .token(provider: external.provider, subject: external.subject),
        at: external.authenticatedAt
      )
      if holder.first?.user == user { return (credential, isNew: false) }
      guard try await !transaction.run(PrincipalQueries.live, user, context.principal).isEmpty
      else {
        throw context.gone
      }
      let (app, identity) = (context.app.id, IdentityID())
      let (provider, subject) = (external.provider, external.subject)
      let claimed = transaction.send(
        CredentialRowQueries.claim,
        app,
        provider,
        subject,
        user,
        identity
      )
      _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, subject)
      _ = transaction.send(CredentialRowQueries.settle, user)
      try await claimed.rows(undone: .identityTaken)
      return (credential, isNew: true)
    }
    guard let style else {
      try await context.transaction { transaction async throws(Failure) in
        _ = try await link(external.provider, to: user, in: transaction, context, write)
      }
      return nil
    }
    return try await link(external.provider, to: user, as: style, context, write)
  }

  /// Revokes what a guest had before the first link: API keys, other sessions, and other devices.
  ///
  /// The session of the request and its device stay. Another person may have used the guest before,
  /// in the same browser, and created an API key.
  static func revokeGuestCredentials(
    of user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    guard try await transaction.run(IdentitiesQueries.isNoGuest, user).isEmpty else { return }
    let (session, device) = (context.principal.session, context.principal.device)
    try await Takeover.revokeCredentials(of: user, sparing: device, in: transaction, context)
    try await Sessions.end(.others(than: session), of: user, "link", in: transaction, context)
  }

  /// Unlinks an identity of the user.
  ///
  /// A user who began as a guest becomes one again without its last API key.
  /// - Throws: `.notFound`, `.lastIdentity` if the user has no other login method,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  package static func unlink(
    _ identity: IdentityID,
    from user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      // Two concurrent requests must not remove the last two identities.
      try await Sessions.lockUser(user, in: transaction, context)
      let found = try await transaction.run(IdentitiesQueries.others, user, identity)
      guard let found = found.first else { throw .notFound }
      if found.others == 0 {
        // A guest whose only credential was an API key still has its session.
        guard found.provider == "api-key",
          let app = try await transaction.run(UserOriginQueries.comeBack, user).first
        else { throw .lastIdentity }
        _ = transaction.send(
          CredentialRowQueries.addIdentity,
          user,
          IdentityID(),
          app,
          "anonymous",
          user.text
        )
      }
      try await SecurityNotice.unlinked(found.provider).record(of: user, in: transaction, context)
      _ = try await transaction.run(IdentitiesQueries.unlink, user, identity)
      if found.provider == "api-key" {
        try await Sessions.end(
          .opened(by: APIKeyID(trusted: identity.text)),
          of: user,
          "api_key_delete",
          in: transaction,
          context
        )
      }
    }
  }
}
