import IdentitySubjects
import RateLimiting
package import Runtime
package import Sessions
import EventLoop
import JSON
import Postgres

/// Sign-in by address and password.
extension Users {
  /// Signs in by address and password.
  ///
  /// The response to a wrong password is that to an unknown address, and takes as long.
  /// - Parameters:
  ///   - credentials: the address and the password.
  ///   - style: the style of the wire's sessions.
  ///   - reportsBlock: whether a blocked user with the right password gets `.userBlocked`.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: `.wrongCredentials` also for a blocked user, `.userBlocked`, `.emailUnverified`,
  ///   `.additionalFactorRequired`, `.tooManyAttempts`, `.loginMethodDisabled`, `.deviceUnknown`,
  ///   `.deviceFull`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func signIn(
    _ credentials: Credentials, as style: SessionStyle = .native, reportsBlock: Bool = false,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpen(.password)
    while true {
      let right = try await compare(credentials, reportsBlock: reportsBlock, context)
      guard right.account.isUsable(context) else {
        try await right.limiter.takeBack()
        throw .emailUnverified
      }
      do throws(Failure) {
        return try await SignIn.complete(
          VerifiedCredential(of: right.account.user, .password(hash: right.renewed ?? right.hash)),
          countedBy: right.limiter, as: style, context, right.sendRenewal
        )
      } catch .wrongCredentials where right.renewed != nil {
        // Another sign-in has stored a new hash of the same password meanwhile.
      }
    }
  }

  /// Compares a password with that of the user of an address; counts the attempt.
  ///
  /// - Returns: the account and its hash if the password is right, and the limiter that counted.
  /// - Throws: `.wrongCredentials` for a wrong one and for a blocked user, which is recorded;
  ///   `.userBlocked` in its place with `reportsBlock`; `.tooManyAttempts`, `.overloaded`,
  ///   `.databaseUnavailable`.
  @EventLoop static func compare(
    _ credentials: Credentials, reportsBlock: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> RightPassword {
    let address = try await EmailAddress(credentials.email, context)
    let strangers = FailureLimiter(.login, on: address.key, context)
    let familiar =
      context.device == nil
      ? strangers : FailureLimiter(.login, on: address.key, isFamiliar: true, context)
    // Independent reads take one round trip.
    var batch = ReadBatch()
    let find = batch.add(SubjectQueries.signer, context.app.id, address.key)
    let device = Devices.addRead(to: &batch, context)
    let ofStrangers = batch.add(strangers.calls)
    let ofFamiliar = context.device == nil ? 0..<0 : batch.add(familiar.calls)
    let results = try await context.read(batch)
    let holder: UserID? = try results.first(find)
    if let device { context.deviceRecord = .some(try results.first(device)) }
    let isListed = context.deviceRecord??.lists(holder) ?? false
    var limiter = isListed ? familiar : strangers
    var used: [Int] = []
    for place in isListed ? ofFamiliar : ofStrangers {
      used.append(try results.first(place) ?? 0)
    }
    var assurance: Sent<Int>?
    let account = try await limiter.count(knowing: used) { transaction in
      if isListed { assurance = Devices.sendAssurance(of: holder, in: transaction) }
      // An address without a user takes as long.
      return transaction.send(AccountQueries.readSigner, holder ?? UserID(), address.key)
    }.first
    if let assurance, try await assurance.rows().first ?? 0 < Assurance.credential.rawValue {
      // The user has left the device, whose list is older.
      try await limiter.takeBack()
      limiter = strangers
      try await limiter.count()
    }
    do throws(Failure) {
      let check = try await context.passwords.check(
        credentials.password, against: account?.hash, for: context.owner
      )
      guard let account, let hash = account.hash, check.isRight, !account.isBlocked else {
        try await recordFailure(of: account?.user, context)
        let isBlocked = account?.isBlocked == true && check.isRight
        throw isBlocked && reportsBlock ? .userBlocked : .wrongCredentials
      }
      return RightPassword(
        account: account, address: address, hash: hash, renewed: check.renewed, limiter: limiter
      )
    } catch {
      try await limiter.giveBack(unlessWrong: error)
      throw error
    }
  }

  @EventLoop static func recordFailure(
    of user: UserID?, _ context: RequestContext
  ) async throws(Failure) {
    try await Event(loginFailureBy: "password", of: user).record(by: .anyone, context)
  }
}

/// An account whose password was right.
struct RightPassword {
  let account: Account
  let address: EmailAddress
  let hash: String
  /// The hash that replaces the stored one, if that was made at another cost.
  let renewed: String?
  let limiter: FailureLimiter

  /// Sends the new hash, if there is one, and returns a function that waits.
  @EventLoop func sendRenewal(in transaction: Transaction) -> Completion {
    let renewal = renewed.map { transaction.send(UsersQueries.renewHash, account.user, hash, $0) }
    return { () async throws(Failure) in try await renewal?.rows() }
  }
}

extension Account {
  /// Returns whether the address is verified, or the app accepts users with any address.
  @EventLoop func isUsable(_ context: RequestContext) -> Bool {
    isVerified || context.app.accountSettings.signUp != .verifyFirst
  }
}
