import EventLoop
import JSON
import Postgres

/// Ways in by email address and password.
///
/// An address has at most one holder, who has proved it, and any number of users who claim it, each
/// with a password of its own. Nothing that is answered here tells one from another, or whether
/// there is any: what differs is mailed to the address, and the time is that of one hash.
extension Users {
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
    do throws(Failure) {
      return try await proof(of: found, match, context)
    } catch {
      // The password was right: what refuses it is no failed guess.
      try await match.guarding?.takeBack()
      throw error
    }
  }

  /// Of who has shown its password and is not blocked.
  @EventLoop static func proof(
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
      let success = match.guarding?.sendSuccess(in: transaction)
      return { () async throws(DatabaseError) in
        _ = try await renewal?.rows()
        try await success?()
      }
    }
    // Since it was found, its address and password may have been linked to another user.
    proof.again = { () async throws(Failure) in
      let now = try await match.anew(context)
      guard let found = now.found else { throw .wrongCredentials }
      try await requireUnblocked(found, context)
      return try await self.proof(of: found, now, context)
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

  @EventLoop static func recordFailure(
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

  /// Finds whose password it is, of all who come with the address; counts the attempt as a guess.
  @EventLoop static func match(
    _ password: String,
    _ address: EmailAddress,
    _ context: Context
  ) async throws(Failure) -> Match {
    let candidates = try await candidates(at: address, context)
    // A device is familiar by who has proved the address alone: a claim can be made by anybody, on
    // any device, and would tell whether there are others.
    let holder = Match.holder(among: candidates)
    let guarding = FailureGuard(
      .login,
      on: address.key,
      isFamiliar: try await Devices.know(holder.map { [$0] } ?? [], context),
      context
    )
    return try await guarding.attempt { () async throws(Failure) in
      try await compare(password, with: candidates, at: address, guarding, context)
    }
  }

  /// Does as `match` for a registration, which is counted separately and is no guess.
  ///
  /// Without a comparison, the password matches no user, and the work of hashing is the same.
  @EventLoop static func matchOfRegistration(
    _ password: String,
    _ address: EmailAddress,
    comparing: Bool,
    _ context: Context
  ) async throws(Failure) -> Match {
    let candidates = try await candidates(at: address, context)
    return try await compare(
      password,
      with: candidates,
      at: address,
      isBlind: !comparing,
      nil,
      context
    )
  }

  @EventLoop private static func candidates(
    at address: EmailAddress,
    _ context: Context
  ) async throws(Failure) -> [StoredPassword] {
    try await context.store.read(UsersQueries.passwords, context.app.id, address.key)
  }

  /// Finds whose password it is, by a comparison with all hashes that there are.
  @EventLoop static func compare(
    _ password: String,
    with candidates: [StoredPassword],
    at address: EmailAddress,
    isBlind: Bool = false,
    _ guarding: FailureGuard?,
    _ context: Context
  ) async throws(Failure) -> Match {
    let match = try await context.store.passwords.match(
      password,
      address.passwordSalt(context),
      among: isBlind ? [] : candidates.map(\.hash),
      for: context.store.owner
    )
    return Match(
      found: match.index.map { candidates[$0] },
      renewed: match.isOutdated ? match.hash : nil,
      hash: match.hash,
      holder: Match.holder(among: candidates),
      address: address,
      guarding: guarding,
      password: password,
      seen: Set(candidates.map { ExactString($0.hash) }),
      isBlind: isBlind
    )
  }
}
