package import EventLoop
import JSON
import Postgres

/// The identities by which a user is known: linked to it, listed, taken away.
@EventLoop package enum Identities {
  /// The caller's identities, the oldest first.
  ///
  /// - Throws: `.unauthenticated`, `.unavailable`.
  package static func list(
    of caller: Caller,
    in store: Store
  ) async throws(Failure) -> [IdentityInfo] {
    let found = try await store.list(IdentitiesQueries.list, caller.user, caller.authority)
    guard let found else { throw caller.gone }
    return found
  }

  /// Attaches an email address and a password to the caller, and mails what confirms the address.
  ///
  /// An address that another user has proved is answered alike, and the mail tells that one.
  /// - Throws: `.invalid`, `.emailTaken` in an app that reveals it, `.identityExists` when the caller
  ///   has a password already, `.wayBackOpen`, `.tooManyAttempts` also when the address has all the
  ///   claims it may, `.wayInClosed`, `.unauthenticated`, `.overloaded`, `.unavailable`.
  package static func linkPassword(
    _ credentials: Credentials,
    to caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try credentials.checkForRegistration(context.app)
    try await context.requireSession(of: caller)
    let address = try await EmailAddress(credentials.email, context)
    try await RequestGuard.registration(of: address.key, context)
    if context.app.settings.revealsTakenEmails {
      let holder = try await context.store.read(
        IdentitiesQueries.holder,
        context.app.id,
        "email",
        address.key
      )
      if let holder = holder.first, holder.user != caller.user { throw .emailTaken }
    }
    let hash = try await context.store.passwords.hash(
      credentials.password,
      address.passwordSalt(context),
      for: context.store.owner
    )
    let limit = ClaimLimit(address.key, context)
    let outcome = try await context.store.transaction { transaction async throws(DatabaseError) in
      try await address.lock(in: context.app.id, context.store, transaction)
      guard try await lock(caller, in: transaction) else { return LinkOutcome.sessionEnded }
      if let end = try await wayBack(to: caller, in: transaction) { return .wayBack(until: end) }
      guard try await limit.makeRoom(in: transaction) else { return .crowded }
      try await endUnproved(of: caller, in: transaction, context)
      let linked = try await transaction.run(
        IdentitiesQueries.linkPassword,
        caller.user,
        caller.authority,
        IdentityID(),
        address.stored(credentials.email),
        address.key,
        hash
      )
      guard !linked.isEmpty else { return .sessionEnded }
      try await WayInChange.linked("password").record(
        by: caller,
        in: transaction,
        context
      )
      return .linked
    }
    switch outcome {
    case .linked:
      Emails.mail(.confirm, to: address, claimedBy: caller.user, context)
    case .sessionEnded: throw caller.gone
    case .crowded: throw limit.failure
    case .wayBack(let end): throw .wayBackOpen(until: end)
    }
  }

  private enum LinkOutcome {
    case linked, sessionEnded, crowded
    case wayBack(until: Timestamp)
  }

  /// Until when an address that was taken away from the caller can be given back; nil when nothing
  /// can, or the caller has another address by then.
  ///
  /// Asked of every link of credentials, which waits for it. Whoever gives the address back gets the
  /// user with all that is stored, and may be another than who logs in by what is linked now: somebody
  /// could link the address of a person who then comes to it by a mail, and take what that person has
  /// stored. To end the way back instead would let a thief end the owner's. An address in place of
  /// another is proved by its reader in a session of the user, and so waits for nothing.
  static func wayBack(
    to caller: Caller,
    in transaction: Transaction
  ) async throws(DatabaseError) -> Timestamp? {
    try await transaction.run(IdentitiesQueries.wayBack, caller.user).first
  }

  /// Attaches what an issuer's token says to the caller; nothing changes when it is the caller's.
  ///
  /// - Throws: `.identityTaken` when it is another user's, `.wayBackOpen`, `.invalidExternalToken`,
  ///   `.wayInClosed`, `.unauthenticated`, `.unavailable`.
  package static func linkToken(
    _ token: String,
    accepting isAccepted: (String) -> Bool = { _ in true },
    to caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    try context.requireOpen(.jwt)
    try await context.requireSession(of: caller)
    let external = try await TokenLogin.identity(
      of: token,
      accepting: isAccepted,
      shownBy: caller.user,
      context
    )
    let outcome = try await context.store.transaction { transaction async throws(DatabaseError) in
      guard try await lock(caller, in: transaction) else { return LinkOutcome.sessionEnded }
      let holder = try await transaction.run(
        IdentitiesQueries.holder,
        context.app.id,
        external.provider,
        external.subject
      )
      // Of two links at once the second finds what the first has written.
      if holder.first?.user == caller.user { return .linked }
      if let end = try await wayBack(to: caller, in: transaction) { return .wayBack(until: end) }
      try await endUnproved(of: caller, in: transaction, context)
      let linked = try await transaction.run(
        IdentitiesQueries.linkSubject,
        caller.user,
        caller.authority,
        IdentityID(),
        external.provider,
        external.subject
      )
      guard !linked.isEmpty else { return .sessionEnded }
      try await WayInChange.linked(external.provider).record(
        by: caller,
        in: transaction,
        context
      )
      return .linked
    }
    switch outcome {
    case .linked: return
    case .wayBack(let end): throw .wayBackOpen(until: end)
    case .sessionEnded, .crowded: throw caller.gone
    }
  }

  /// Ends what was made while nobody had shown who the user is: API keys, and all sessions and places
  /// on devices but the caller's own.
  ///
  /// Every link of credentials does so first, and so does a row of an import. Somebody else may have
  /// begun as an anonymous user, in the same browser, what the owner then goes on with, and made a key
  /// there to come back by.
  static func endUnproved(
    of caller: Caller,
    in transaction: Transaction,
    _ context: Context
  ) async throws(DatabaseError) {
    _ = try await transaction.run(
      IdentitiesQueries.endUnproved,
      caller.user,
      context.app.id,
      caller.actor,
      context.origin.address,
      context.origin.agent,
      caller.session,
      caller.device
    )
  }

  /// Takes an identity away from the caller; who began as an anonymous user is one again without its
  /// last API key.
  ///
  /// - Throws: `.notFound`, `.lastIdentity` when there is no other to log in with,
  ///   `.unauthenticated`, `.unavailable`.
  package static func unlink(
    _ identity: IdentityID,
    from caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    let outcome = try await context.store.transaction { transaction async throws(DatabaseError) in
      // Two at once must not each leave the other's.
      guard try await lock(caller, in: transaction) else { return UnlinkOutcome.sessionEnded }
      let found = try await transaction.run(IdentitiesQueries.others, caller.user, identity)
      guard let found = found.first else { return .notFound }
      if found.others == 0 {
        // Who made a key in place of credentials has what it had before: its session.
        guard found.provider == "api-key",
          try await !transaction.run(BeginningQueries.comeBack, caller.user).isEmpty
        else { return .last }
      }
      try await WayInChange.unlinked(found.provider).record(
        by: caller,
        in: transaction,
        context
      )
      _ = try await transaction.run(IdentitiesQueries.unlink, caller.user, identity)
      if found.provider == "api-key" {
        try await Sessions.end(
          .opened(by: APIKeyID(trusted: identity.text)),
          of: caller.user,
          "api_key_delete",
          by: caller.actor,
          from: context.origin,
          in: transaction
        )
      }
      return .unlinked
    }
    switch outcome {
    case .unlinked: return
    case .sessionEnded: throw caller.gone
    case .notFound: throw .notFound
    case .last: throw .lastIdentity
    }
  }

  private enum UnlinkOutcome { case unlinked, sessionEnded, notFound, last }

  /// Keeps what the caller can log in with from changing, other than by this transaction.
  ///
  /// - Returns: whether its session is live, looked at when the lock is there: what held it may have
  ///   ended the session, as a reset of the password does.
  static func lock(
    _ caller: Caller,
    in transaction: Transaction
  ) async throws(DatabaseError) -> Bool {
    _ = try await transaction.run(IdentitiesQueries.lock, caller.user)
    return try await !transaction.run(CallerQueries.live, caller.user, caller.authority).isEmpty
  }
}
