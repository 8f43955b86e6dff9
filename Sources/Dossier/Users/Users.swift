import EventLoop
import JSON
import Postgres

/// Users: how they come in, and how they go.
package enum Users {
  /// Makes a user that nobody else can log in as, and logs it in.
  ///
  /// - Throws: `.wayInClosed`, `.deviceUnknown`, `.deviceFull`, `.tooManyAttempts`, `.overloaded`,
  ///   `.unavailable`.
  @EventLoop package static func loginAnonymously(
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant {
    try context.requireOpen(.anonymous)
    let user = UserID()
    try await Devices.admit(user, context)
    try await RequestGuard.anonymous(context)
    let opening = Opening(of: user, by: "anonymous", context)
    try await context.store.transaction { (transaction) async throws(DatabaseError) in
      _ = try await transaction.run(
        UsersQueries.create,
        user,
        context.app.id,
        IdentityID(),
        "anonymous",
        user.text,
        true,
        TextBytes(Array("{}".utf8))
      )
      try await opening.write(in: transaction)
    }
    return try await opening.grant()
  }

  /// Makes a user with an email address and a password, logs it in, and mails it what confirms the
  /// address.
  ///
  /// - Returns: nil where addresses must be confirmed first; then also for an address that another
  ///   user has confirmed, so that nobody learns who has an account.
  /// - Throws: `.invalid`, `.emailTaken`, `.tooManyAttempts`, `.wayInClosed`, `.deviceUnknown`,
  ///   `.deviceFull`, `.overloaded`, `.unavailable`.
  @EventLoop package static func register(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant? {
    try context.requireOpen(.password)
    try credentials.checkForRegistration(context.app.settings)
    let isRequired = context.app.settings.flag(.emailConfirmationRequired)
    let user = UserID()
    try await Devices.admit(user, context)
    try await EmailAddress(credentials.email, context).limitMail(context)
    let hash = try await context.store.passwords.hash(credentials.password)
    let opening = Opening(of: user, by: "password", context)
    let mail = MailedToken(.confirm, to: credentials.email, of: user, context)
    let isMade = try await context.store.transaction { transaction async throws(DatabaseError) in
      let made = try await transaction.run(
        UsersQueries.createWithPassword,
        user,
        context.app.id,
        IdentityID(),
        credentials.email,
        hash
      )
      guard made.first == true else { return false }
      try await mail.write(in: transaction)
      if !isRequired { try await opening.write(in: transaction) }
      return true
    }
    if isMade { mail.send() }
    if isRequired { return nil }
    guard isMade else { throw .emailTaken }
    return try await opening.grant()
  }

  /// Logs a user in by email address and password.
  ///
  /// Takes as long for an address that nobody has. An address that several users claim and none has
  /// confirmed logs in the one whose password it is.
  /// - Throws: `.wrongCredentials`, `.emailUnconfirmed`, `.tooManyAttempts`, `.wayInClosed`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.unavailable`.
  @EventLoop package static func login(
    _ credentials: Credentials,
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant {
    try context.requireOpen(.password)
    let address = try await EmailAddress(credentials.email, context)
    let candidates = try await context.store.read(
      UsersQueries.passwords,
      context.app.id,
      credentials.email
    )
    // Not by a claim that anybody can make: it would tell whether there are others.
    let isFamiliar =
      candidates.allSatisfy(\.isConfirmed)
      ? try await Devices.know(candidates.map(\.user), context) : false
    let guarding = FailureGuard("login", on: address.key, isFamiliar: isFamiliar, context)
    try await guarding.attempt()
    let (found, renewed) = try await match(credentials.password, candidates, context)
    guard let found, !found.isBlocked else {
      try await AuditEvent(
        "login_failure",
        of: (found ?? candidates.first)?.user,
        by: "anyone",
        detail: ["provider": "password"]
      ).record(context)
      throw .wrongCredentials
    }
    if context.app.settings.flag(.emailConfirmationRequired), !found.isConfirmed {
      throw .emailUnconfirmed
    }
    try await Devices.admit(found.user, context)
    let opening = Opening(of: found.user, by: "password", context)
    try await context.store.transaction { (transaction) async throws(DatabaseError) in
      if let renewed {
        _ = try await transaction.run(UsersQueries.renewHash, found.user, renewed)
      }
      try await guarding.succeed(in: transaction)
      try await opening.write(in: transaction)
    }
    return try await opening.grant()
  }

  /// The candidate whose password it is.
  ///
  /// One that does not exist takes as long as one that does.
  @EventLoop private static func match(
    _ password: String,
    _ candidates: [StoredPassword],
    _ context: Context
  ) async throws(Failure) -> (StoredPassword?, renewed: String?) {
    for candidate in candidates {
      let (isRight, renewed) = try await context.store.passwords.verify(
        password,
        against: candidate.hash
      )
      if isRight { return (candidate, renewed) }
    }
    if candidates.isEmpty { _ = try await context.store.passwords.verify(password, against: nil) }
    return (nil, nil)
  }

  /// Deletes the caller, with all that is stored of it; the audit trail keeps that it was.
  ///
  /// - Throws: `.versionMoved`, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func delete(
    _ caller: Caller,
    if condition: VersionCondition,
    _ context: Context
  ) async throws(Failure) {
    let rows = try await context.store.write(
      UsersQueries.delete,
      caller.user,
      caller.authority,
      context.origin.address,
      context.origin.agent,
      condition.oneOf.map(VersionList.init)
    )
    guard let row = rows.first else { throw caller.gone }
    guard row.isDeleted else {
      throw .versionMoved(current: try await Profile.read(of: caller, in: context.store).version)
    }
    await context.store.pictures.shelf.forget(row.picture)
  }
}

extension Context {
  /// - Throws: `.wayInClosed` when the app does not let users come that way.
  func requireOpen(_ wayIn: AppSetting) throws(Failure) {
    guard app.settings.flag(wayIn) else { throw .wayInClosed(wayIn.rawValue) }
  }
}
