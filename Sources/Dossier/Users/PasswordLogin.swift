import EventLoop
import JSON
import Postgres

/// Ways in by email address and password.
///
/// An address has at most one holder, who has proved it, and any number of users who claim it, each
/// with a password of its own. Nothing that is answered here tells one from another, or whether
/// there is any: what differs is mailed to the address, and the time is that of one hash.
extension Users {
  /// Proves whose address and password they are; without such a user makes one, and mails the
  /// address what confirms it, or that there is an account already.
  ///
  /// It is a guess at the passwords that come with the address, and counted as one.
  /// - Returns: nil where addresses must be confirmed first: then all is done.
  /// - Throws: `.invalid`, `.emailTaken` in an app that reveals it, `.wrongCredentials` for a blocked
  ///   user, `.tooManyAttempts` also when the address has all the claims it may, `.wayInClosed`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.unavailable`.
  @EventLoop package static func register(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) -> Proof? {
    try await register(credentials, isLogin: true, context)
  }

  /// Registers without a login: until there is one, whoever shows the password may link the address
  /// to another user.
  ///
  /// Where the app reveals who has an account and lets users in before they confirm, an address that
  /// anybody logs in by is taken: who registers again is told so, and gets no second account.
  /// - Throws: as `register`.
  @EventLoop package static func registerOnly(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) {
    guard let proof = try await register(credentials, isLogin: false, context) else { return }
    if let make = proof.preparation, try await !context.store.transaction(make) {
      throw proof.refusal ?? .overloaded(retryAfter: .seconds(1))
    }
    proof.aftermath?()
  }

  @EventLoop private static func register(
    _ credentials: Credentials,
    isLogin: Bool,
    _ context: Context
  ) async throws(Failure) -> Proof? {
    try context.requireOpen(.password)
    try credentials.checkForRegistration(context.app)
    let address = try await EmailAddress(credentials.email, context)
    try await address.limitMail(context)
    let match = try await match(credentials.password, address, context)
    let isRequired = context.app.settings.requiresEmailConfirmation
    if let found = match.found {
      try await requireUnblocked(found, context)
      if isRequired {
        Emails.mail(.confirm, to: address, claimedBy: found.user, context)
        return nil
      }
      let proof = try await proof(of: found, match, context)
      if !found.isConfirmed {
        proof.aftermath = { Emails.mail(.confirm, to: address, claimedBy: found.user, context) }
      }
      return proof
    }
    // A registration is a guess, too. It is recorded also where nobody has the address: the time that
    // a commit takes would tell.
    try await recordFailure(of: match.holder, context)
    if context.app.settings.revealsTakenEmails {
      if match.holder != nil { throw .emailTaken }
      if !isLogin, !isRequired, try await ClaimLimit(address.key, context).isInUse() {
        throw .emailTaken
      }
    }
    let user = UserID()
    let proof = Proof(of: user, by: "password", on: try await Devices.admit(user, context))
    let limit = ClaimLimit(address.key, context)
    let make: Proof.Preparation = { (transaction) async throws(DatabaseError) in
      guard try await limit.makeRoom(in: transaction) else { return false }
      _ = try await transaction.run(
        UsersQueries.createWithPassword,
        user,
        context.app.id,
        IdentityID(),
        address.stored(credentials.email),
        address.key,
        match.hash
      )
      if !isLogin { _ = try await transaction.run(BeginningQueries.register, user) }
      return true
    }
    if isRequired {
      guard try await context.store.transaction(make) else { throw limit.failure }
      Emails.mail(.confirm, to: address, claimedBy: user, context)
      return nil
    }
    proof.preparation = make
    proof.refusal = limit.failure
    proof.aftermath = { Emails.mail(.confirm, to: address, claimedBy: user, context) }
    return proof
  }

  /// Proves who somebody is by email address and password.
  ///
  /// Of several who have the password, it is the one who has proved the address, else the one who
  /// claimed it first.
  /// - Throws: `.wrongCredentials`, `.emailUnconfirmed`, `.tooManyAttempts`, `.wayInClosed`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.unavailable`.
  @EventLoop package static func prove(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) -> Proof {
    try context.requireOpen(.password)
    let address = try await EmailAddress(credentials.email, context)
    let match = try await match(credentials.password, address, context)
    guard let found = match.found else {
      throw try await refused(match.holder, context)
    }
    try await requireUnblocked(found, context)
    return try await proof(of: found, match, context)
  }

  /// Of who has shown its password and is not blocked.
  @EventLoop private static func proof(
    of found: StoredPassword,
    _ match: Match,
    _ context: Context
  ) async throws(Failure) -> Proof {
    if context.app.settings.requiresEmailConfirmation, !found.isConfirmed {
      throw .emailUnconfirmed
    }
    let device = try await Devices.admit(found.user, context)
    let proof = Proof(of: found.user, by: "password", showing: found.hash, on: device)
    proof.conclusion = { transaction in
      let renewal = match.renewed.map { renewed in
        transaction.send(UsersQueries.renewHash, found.user, renewed)
      }
      let success = match.guarding.sendSuccess(in: transaction)
      return { () async throws(DatabaseError) in
        _ = try await renewal?.rows()
        try await success()
      }
    }
    return proof
  }

  @EventLoop private static func requireUnblocked(
    _ found: StoredPassword,
    _ context: Context
  ) async throws(Failure) {
    if found.isBlocked { throw try await refused(found.user, context) }
  }

  @EventLoop static func refused(
    _ user: UserID?,
    _ context: Context
  ) async throws(Failure) -> Failure {
    try await recordFailure(of: user, context)
    return .wrongCredentials
  }

  @EventLoop private static func recordFailure(
    of user: UserID?,
    _ context: Context
  ) async throws(Failure) {
    try await AuditEvent(
      "login_failure",
      of: user,
      by: "anyone",
      detail: ["provider": "password"]
    ).record(context)
  }

  struct Match {
    /// Whose password it is.
    let found: StoredPassword?
    /// Takes the place of the stored hash, which was made otherwise.
    let renewed: String?
    /// The hash of the password, for a new user.
    let hash: String
    /// Who has proved the address, and whose failure it is when it is nobody's password: who only
    /// claims it would see from its trail that nobody came before, and from where others come.
    let holder: UserID?
    /// What counted the attempt.
    let guarding: FailureGuard
  }

  /// Finds whose password it is, of all who come with the address; counts the attempt first.
  @EventLoop static func match(
    _ password: String,
    _ address: EmailAddress,
    _ context: Context
  ) async throws(Failure) -> Match {
    let candidates = try await context.store.read(
      UsersQueries.passwords,
      context.app.id,
      address.key
    )
    // A device is familiar by who has proved the address alone: a claim can be made by anybody, on
    // any device, and would tell whether there are others.
    let holder = candidates.first.flatMap { $0.isConfirmed ? $0.user : nil }
    let guarding = FailureGuard(
      .login,
      on: address.key,
      isFamiliar: try await Devices.know(holder.map { [$0] } ?? [], context),
      context
    )
    try await guarding.attempt()
    let match = try await context.store.passwords.match(
      password,
      address.passwordSalt(context),
      among: candidates.map(\.hash)
    )
    return Match(
      found: match.index.map { candidates[$0] },
      renewed: match.isOutdated ? match.hash : nil,
      hash: match.hash,
      holder: holder,
      guarding: guarding
    )
  }
}
