package import Tenancy
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
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [IdentityInfo] {
    try await context.list(IdentitiesQueries.list, user, context.principal).orGone(context)
  }

  /// Adds the same read to a batch; it throws as `list` does.
  package static func addList(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<[IdentityInfo]> {
    let place = batch.add(IdentitiesQueries.list, user, context.principal)
    return { (results) throws(Failure) in
      try Found<IdentityInfo>.items(results.rows(place)).orGone(context)
    }
  }

  /// Links credentials to the user of the session, and replaces the session by a new one.
  ///
  /// An attacker may have copied the tokens of the old one. A guest has passed no second factor: if
  /// the app requires one, the link ends the session, and begins the second step of a sign-in.
  ///
  /// `write` writes the credential. It returns the credential, or nil if the new session keeps that
  /// of the old one, and whether it is new.
  /// - Returns: the tokens of the new session.
  /// - Throws: `.additionalFactorRequired` (the identity is linked), errors of `write` and of `renew`.
  static func link(
    _ provider: IdentityProvider, to user: UserID, as style: SessionStyle,
    _ context: RequestContext,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (VerifiedCredential?, isNew: Bool)
  ) async throws(Failure) -> Sessions.TokenSet {
    try await RateLimits.countChange(of: user, context)
    let live = try await context.transaction {
      transaction async throws(Failure) -> Result<LiveSession, Failure> in
      let credential = try await link(provider, to: user, in: transaction, write)
      if context.app.sessionSettings.mfa != .off,
        let credential,
        try await Sessions.ofCaller(user, in: transaction).provider == .anonymous,
        let enrolled = SecondFactorFlow.sendIsEnrolled(after: credential, in: transaction),
        let secondStep = try await SecondFactorFlow.begin(
          after: credential, enrolled, in: transaction
        )
      {
        try await Sessions.end(.all, of: user, "link", in: transaction)
        return .failure(secondStep)
      }
      return .success(
        try await Sessions.renew(user, by: credential, as: style, "link", in: transaction)
      )
    }.get()
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// Links credentials to the user of the session: the part that all links share.
  ///
  /// The first link of a guest revokes the guest's credentials. `write` writes the credential, and
  /// returns a value and whether the credential is new.
  static func link<Value>(
    _ provider: IdentityProvider, to user: UserID, in transaction: Transaction,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (Value, isNew: Bool)
  ) async throws(Failure) -> Value {
    try await Sessions.lockUser(user, in: transaction)
    try await requireNoRestore(of: user, in: transaction)
    try await revokeGuestCredentials(of: user, in: transaction)
    let (value, isNew) = try await write(transaction)
    if isNew { try await finish(provider, of: user, in: transaction) }
    return value
  }

  /// Makes a guest who has got an identity a permanent user, and records and mails the identity.
  static func finish(
    _ provider: IdentityProvider, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    _ = transaction.send(CredentialRowQueries.settle, user)
    try await SecurityNotice.linked(provider).record(of: user, in: transaction)
  }

  /// Checks that no removed address of a user without another can be restored.
  ///
  /// Until then, no credential can be linked. A restore hands over the user with all stored data.
  /// Otherwise an attacker could link the address of another person, wait until that person stores
  /// data, and restore. The restore link cannot be revoked instead: a thief would revoke the owner's.
  /// A change of address needs no wait, because the code verifies the new address.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - isRemoved: whether the transaction deletes the user, and with it the restore of a user who
  ///     has another address.
  ///   - transaction: the transaction that has locked the user.
  /// - Throws: `.emailRestorePending`, `.databaseUnavailable`.
  package static func requireNoRestore(
    of user: UserID, removed isRemoved: Bool = false, in transaction: Transaction
  ) async throws(Failure) {
    if let end = try await transaction.run(IdentitiesQueries.restoreEnd, user, isRemoved).first {
      throw .emailRestorePending(until: end)
    }
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
  ///   `.invalidExternalToken`, `.additionalFactorRequired`, `.loginMethodDisabled`,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  @discardableResult
  package static func linkToken(
    _ token: String, accepting isAccepted: (IdentityProvider) -> Bool = { _ in true },
    to user: UserID, as style: SessionStyle?, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet? {
    try context.requireOpen(.jwt)
    try await context.requireSession(of: user)
    let external = try await TokenLogin.identity(
      of: token, accepting: isAccepted, shownBy: user, context
    )
    @EventLoop func write(
      _ transaction: Transaction
    ) async throws(Failure) -> (VerifiedCredential?, isNew: Bool) {
      let (app, identity) = (context.app.id, IdentityID())
      let (provider, subject) = (external.provider, external.subject)
      let holder = try await transaction.run(SubjectQueries.holder, app, provider, subject)
      // A concurrent link of the same identity has finished by now, so its row is found.
      let credential = VerifiedCredential(
        of: user, .token(provider: provider, subject: subject), at: external.signedInAt
      )
      if holder.first == user {
        external.keepClaims(of: user, in: transaction)
        // Not a first sign-in but a reauthentication, which only `auth_time` proves.
        return (external.authenticatedAt == nil ? nil : credential, isNew: false)
      }
      let claim = CredentialRowQueries.claim
      let claimed = transaction.send(claim, app, provider, subject, user, identity)
      _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, subject)
      external.keepClaims(of: user, in: transaction)
      try await claimed.rows(undone: .identityTaken)
      return (credential, isNew: true)
    }
    guard let style else {
      try await context.transaction { transaction async throws(Failure) in
        _ = try await link(external.provider, to: user, in: transaction, write)
      }
      return nil
    }
    return try await link(external.provider, to: user, as: style, context, write)
  }

  /// Revokes what a guest had before the first link: API keys, other sessions, and other devices.
  ///
  /// The session of the request and its device stay. Another person may have used the guest before,
  /// in the same browser, and created an API key. A session of such a key becomes one of the guest.
  static func revokeGuestCredentials(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    guard try await transaction.run(IdentitiesQueries.isNoGuest, user).isEmpty else { return }
    let session = transaction.principal.session
    try await Sessions.revokeCredentials(of: user, in: transaction)
    _ = transaction.send(IdentitiesQueries.forgetKey, user, session)
    try await Sessions.end(.others(than: session), of: user, "link", in: transaction)
  }

  /// Unlinks an identity of the user, and ends the other sessions that it signed in.
  ///
  /// A user who began as a guest becomes one again without its last API key.
  /// - Throws: `.notFound`, `.lastIdentity` if the user has no other login method,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  package static func unlink(
    _ identity: IdentityID, from user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      // Two concurrent requests must not remove the last two identities.
      try await Sessions.lockUser(user, in: transaction)
      let found = try await transaction.run(IdentitiesQueries.others, user, identity)
      guard let found = found.first else { throw .notFound }
      if found.others == 0 {
        // A guest whose only credential was an API key still has its session.
        guard found.provider == .apiKey,
          let app = try await transaction.run(UserOriginQueries.comeBack, user).first
        else { throw .lastIdentity }
        _ = transaction.send(
          CredentialRowQueries.addIdentity, user, IdentityID(), app, .anonymous, user.text
        )
      }
      // The identity of an issuer can have the address of the user too.
      let isAddress =
        if found.provider.isAddress { true } else {
          try await Subjects.names(found.address, identity, of: user, in: transaction)
        }
      try await SecurityNotice.unlinked(found.provider)
        .record(of: user, removesAddress: isAddress, in: transaction)
      if let subject = found.subject, !found.provider.isAddress {
        Subjects.release([subject], of: user, in: transaction)
      }
      if isAddress, let address = found.address {
        let isReserved = found.isVerified
        Subjects.release(email: address, reserved: isReserved, of: user, in: transaction)
      }
      _ = transaction.send(IdentitiesQueries.unlink, user, identity, isAddress)
      if isAddress { _ = transaction.send(IdentitiesQueries.removePassword, user) }
      let isKey = found.provider == .apiKey
      try await Sessions.end(
        isKey
          ? .opened(by: APIKeyID(trusted: identity.text))
          : .signedIn(by: found.provider, sparing: context.principal.session),
        of: user,
        isKey ? "api_key_delete" : "unlink",
        in: transaction
      )
    }
  }
}
