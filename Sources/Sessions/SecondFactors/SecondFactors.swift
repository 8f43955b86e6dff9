import Tenancy
import Delivery
package import Runtime
package import EventLoop
import Postgres

/// The second factors of users: authenticator apps, and recovery codes for when one is lost.
///
/// A factor counts once a code of it was entered. From then on, every sign-in of a person asks for a
/// code. API keys and guests need none.
@EventLoop package enum SecondFactors {
  /// How many confirmed factors a user may have.
  package nonisolated static let limit = 5

  /// A factor that waits for its first code.
  ///
  /// Its secret is shown this once.
  package struct Enrollment: Sendable {
    package let id: FactorID
    /// The secret in base32, to be typed.
    package let secret: String
    /// The content of the QR code for an authenticator app.
    package let uri: String
  }

  /// Begins to enroll an authenticator app, in place of one that was not confirmed.
  ///
  /// Throws `.mfaDisabled`, `.tooManyFactors`, `.reauthenticationRequired` in a session of an API
  /// key or a guest, or of a user with a factor whose session had none; `.sessionEnded`,
  /// `.databaseUnavailable`.
  package static func enroll(
    _ user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Enrollment {
    try requireOffered(context)
    try await RateLimits.countChange(of: user, context)
    return try await context.transaction { transaction async throws(Failure) in
      try await lock(user, in: transaction)
      return try await begin(of: user, in: transaction)
    }
  }

  /// Confirms a factor by its first code, and ends the user's sessions.
  ///
  /// A new session replaces that of the request, whose tokens an attacker may have copied before. A
  /// mail reports it.
  /// - Parameters:
  ///   - code: a code of the factor.
  ///   - factor: the factor.
  ///   - user: the user.
  ///   - style: the style of the new session.
  ///   - context: the context of the request.
  /// - Returns: the tokens of the new session, and new recovery codes in place of those from before.
  /// - Throws: `.invalidCode`, `.notFound` if the factor is confirmed already, and as `enroll`.
  package static func confirm(
    _ code: String, of factor: FactorID, by user: UserID, as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> (grant: Sessions.TokenSet, recoveryCodes: [String]) {
    try requireOffered(context)
    let (live, codes) = try await context.transaction {
      transaction async throws(Failure) -> (LiveSession, [String]) in
      try await lock(user, in: transaction)
      let factors = try await transaction.run(SecondFactorQueries.factors, user)
      guard let found = factors.first(where: { $0.id == factor && !$0.isConfirmed }) else {
        throw .notFound
      }
      let codes = try await confirm(found, by: code, of: user, in: transaction)
      let live = try await Sessions.renew(
        user, by: nil, secondFactor: methods, as: style, "second_factor_add", in: transaction
      )
      return (live, codes)
    }
    return (try await Sessions.grant(live, of: user, as: style, context), codes)
  }

  /// Returns the caller's confirmed factors, the oldest first, and how many recovery codes are left.
  ///
  /// Throws `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> (factors: [SecondFactor], recoveryCodesLeft: Int) {
    let rows = try await context.read(SecondFactorQueries.list, user, context.principal)
    guard let first = rows.first else { throw context.gone }
    return (rows.compactMap(\.factor), first.recoveryCodesLeft)
  }

  /// Removes a factor.
  ///
  /// The last one takes the recovery codes with it. A mail reports it.
  /// Throws `.notFound`, `.reauthenticationRequired` as `enroll`, `.sessionEnded`,
  /// `.databaseUnavailable`.
  package static func remove(
    _ factor: FactorID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      try await lock(user, in: transaction)
      let removed = try await transaction.run(SecondFactorQueries.remove, user, factor)
      guard let wasConfirmed = removed.first else { throw .notFound }
      guard wasConfirmed else { return }
      _ = transaction.send(SecondFactorQueries.removeStrandedCodes, user)
      try await SecurityNotice.factorRemoved.record(of: user, in: transaction)
    }
  }

  /// Makes new recovery codes, in place of those from before.
  ///
  /// Throws `.mfaDisabled`, `.notFound` if the user has no factor, `.reauthenticationRequired` as
  /// `enroll`, `.sessionEnded`, `.databaseUnavailable`.
  package static func makeRecoveryCodes(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [String] {
    try requireOffered(context)
    try await RateLimits.countChange(of: user, context)
    return try await context.transaction { transaction async throws(Failure) in
      try await lock(user, in: transaction)
      let isEnrolled = try await transaction.run(SecondFactorQueries.isEnrolled, user).first
      guard isEnrolled == true else { throw .notFound }
      let codes = replaceRecoveryCodes(of: user, in: transaction)
      try await SecurityNotice.recoveryCodesMade.record(of: user, in: transaction)
      return codes
    }
  }

  /// Checks that the session of the request has passed a second factor, if the user has one.
  ///
  /// - Throws: `.reauthenticationRequired`, `.sessionEnded`, `.databaseUnavailable`.
  package static func requirePassed(
    by user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let (isMet, isOn) = (SecondFactorQueries.isMet, context.app.sessionSettings.mfa != .off)
    try require(await context.read(isMet, user, context.principal, isOn), context)
  }

  /// Checks the same in a transaction that has locked the user.
  ///
  /// - Throws: `.reauthenticationRequired`, `.sessionEnded`, `.databaseUnavailable`.
  package static func requirePassed(
    by user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let (isMet, isOn) = (SecondFactorQueries.isMet, transaction.app.sessionSettings.mfa != .off)
    let context = transaction.context
    try require(await transaction.run(isMet, user, context.principal, isOn), context)
  }

  private static func require(_ found: [Bool], _ context: RequestContext) throws(Failure) {
    guard try found.first.orGone(context) else {
      throw context.reauthenticationRequired
    }
  }

  /// Locks the user, and checks that the caller's session may change factors.
  ///
  /// The session of a user with a factor must have had one itself. Otherwise a person with an API
  /// key, which signs in without a factor, could remove the factor. A guest has no credential yet that a
  /// factor could be the second of.
  private static func lock(_ user: UserID, in transaction: Transaction) async throws(Failure) {
    try await Sessions.lockUser(user, in: transaction)
    try await requirePassed(by: user, in: transaction)
    let session = try await Sessions.ofCaller(user, in: transaction)
    guard !session.provider.isOfGuests else {
      throw transaction.context.reauthenticationRequired
    }
  }
}

package typealias FactorID = ID<SecondFactors>
