import EventLoop
import Postgres

extension Users {
  /// Authenticates the user of an address and password, or makes a new user.
  ///
  /// For a new user, it mails a confirmation to the address, or reports there that an account
  /// exists. A registration is counted separately, and not as a guess at the passwords of the
  /// address. So strangers who register or guess cannot keep the owner from registering.
  /// - Returns: the user to log in; nil if addresses must be confirmed first, with nothing left to
  ///   do.
  /// - Throws: `.invalid`, `.emailTaken` in an app that reveals it, `.wrongCredentials` for a blocked
  ///   user, `.tooManyAttempts` also when the address has all the claims it may, `.wayInClosed`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.unavailable`.
  @EventLoop package static func register(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) -> Proof? {
    try await Registration(credentials, isLogin: true, context).begin()
  }

  /// Registers without a login: until there is one, whoever shows the password may link the address
  /// to another user.
  ///
  /// Where the app reveals who has an account, who registers an address that somebody has proved is
  /// told that it is taken, by whatever password; and where it lets users in before they confirm, so
  /// is an address that anybody logs in by. A blocked user hears what everybody hears.
  /// - Throws: `.invalid`, `.emailTaken`, `.tooManyAttempts`, `.wayInClosed`, `.overloaded`,
  ///   `.unavailable`.
  @EventLoop package static func registerOnly(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) {
    _ = try await Registration(credentials, isLogin: false, context).begin()
  }
}

/// An address and a password that become a user's: one user's, however often they come at once.
@EventLoop private struct Registration {
  private let credentials: Credentials
  /// Whether a session is opened for it.
  private let isLogin: Bool
  private let context: Context

  init(_ credentials: Credentials, isLogin: Bool, _ context: Context) {
    self.credentials = credentials
    self.isLogin = isLogin
    self.context = context
  }

  private var settings: AppSettings { context.app.settings }

  func begin() async throws(Failure) -> Proof? {
    try context.requireOpen(.password)
    try credentials.checkForRegistration(context.app)
    let address = try await EmailAddress(credentials.email, context)
    try await RequestGuard.registration(of: address.key, context)
    if settings.requiresEmailConfirmation { try await requireMailLeft(to: address) }
    let mayCompare = try await RequestGuard.mayCompare(registering: address.key, context)
    let match = try await Users.matchOfRegistration(
      credentials.password,
      address,
      comparing: mayCompare,
      context
    )
    // This is recorded for an address of no user too: the time of a commit would reveal it.
    if match.found == nil { try await Users.recordFailure(of: match.holder, context) }
    return try await proceed(match)
  }

  /// Where an address must be confirmed first, a registration without a mail is of no use.
  private func requireMailLeft(to address: EmailAddress) async throws(Failure) {
    guard context.store.mailer.isConfigured else { return }
    let reader = try await Emails.reader(of: address.key, context)
    try await RequestGuard.requireMailLeft(to: address.key, for: reader, context)
  }

  private func proceed(_ match: Users.Match) async throws(Failure) -> Proof? {
    if settings.revealsTakenEmails { try await requireFree(match) }
    guard let found = match.found else { return try await make(match) }
    if found.isBlocked {
      let refusal = try await Users.refused(found.user, context)
      guard isLogin else { return nil }
      throw refusal
    }
    let isRequired = settings.requiresEmailConfirmation
    let mail = { @EventLoop in
      guard isRequired || !found.isConfirmed else { return }
      Emails.mail(.confirm, to: match.address, claimedBy: found.user, context)
    }
    guard isLogin, !isRequired else {
      mail()
      return nil
    }
    let proof = try await Users.proof(of: found, match, context)
    proof.aftermath = mail
    return proof
  }

  /// - Throws: `.emailTaken`, in an app that reveals it, unless it is a login by the right password.
  private func requireFree(_ match: Users.Match) async throws(Failure) {
    if isLogin, match.found != nil { return }
    if match.holder != nil { throw .emailTaken }
    guard !isLogin, !settings.requiresEmailConfirmation else { return }
    if try await ClaimLimit(match.address.key, context).isInUse() { throw .emailTaken }
  }

  private func make(_ match: Users.Match) async throws(Failure) -> Proof? {
    let user = UserID()
    let limit = ClaimLimit(match.address.key, context)
    let write: Proof.Preparation = { (transaction) async throws(DatabaseError) in
      try await match.address.lock(in: context.app.id, context.store, transaction)
      let now = try await match.anew(context, in: transaction)
      let isKnown = now.found != nil || now.hasStranger
      if isKnown || settings.revealsTakenEmails && now.holder != nil {
        throw .overtaken
      }
      guard try await limit.makeRoom(in: transaction) else { return false }
      _ = try await transaction.run(
        UsersQueries.createWithPassword,
        user,
        context.app.id,
        IdentityID(),
        match.address.stored(credentials.email),
        match.address.key,
        match.hash
      )
      if !isLogin { _ = try await transaction.run(BeginningQueries.register, user) }
      return true
    }
    let again: @EventLoop () async throws(Failure) -> Proof? = { () async throws(Failure) in
      try await proceed(match.anew(context))
    }
    let mail = { @EventLoop in
      Emails.mail(.confirm, to: match.address, claimedBy: user, context)
    }
    guard isLogin, !settings.requiresEmailConfirmation else {
      do throws(Failure) {
        guard try await context.store.transaction(write) else { throw limit.failure }
      } catch .identityTaken {
        return try await again()
      }
      mail()
      return nil
    }
    let proof = Proof(of: user, by: "password", on: try await Devices.admit(user, context))
    proof.preparation = write
    proof.refusal = limit.failure
    proof.again = again
    proof.aftermath = mail
    return proof
  }
}
