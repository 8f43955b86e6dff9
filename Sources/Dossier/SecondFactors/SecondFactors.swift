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
  /// Throws `.factorsOff`, `.tooManyFactors`, `.reauthenticationRequired` in a session of an API key or a
  /// guest, or of a user with a factor whose session had none; `.unauthenticated`, `.unavailable`.
  package static func enroll(
    _ caller: Caller,
    _ context: Context
  ) async throws(Failure) -> Enrollment {
    try requireOffered(context)
    return try await context.store.transaction { transaction async throws(Failure) in
      try await lock(caller, in: transaction, context)
      return try await begin(of: caller.user, in: transaction, context)
    }
  }

  /// Confirms a factor by its first code, and ends the user's other sessions.
  ///
  /// A mail reports it.
  /// - Parameters:
  ///   - code: a code of the factor.
  ///   - factor: the factor.
  ///   - caller: its user, whose session counts as one with a second factor from then on.
  ///   - context: the context of the request.
  /// - Returns: new recovery codes, in place of those from before.
  /// - Throws: `.invalidCode`, `.notFound` if the factor is confirmed already, and as `enroll`.
  package static func confirm(
    _ code: String,
    of factor: FactorID,
    by caller: Caller,
    _ context: Context
  ) async throws(Failure) -> [String] {
    try requireOffered(context)
    return try await context.store.transaction { transaction async throws(Failure) in
      try await lock(caller, in: transaction, context)
      let factors = try await transaction.run(SecondFactorQueries.factors, caller.user)
      guard let found = factors.first(where: { $0.id == factor && !$0.isConfirmed }) else {
        throw .notFound
      }
      try await confirm(found, by: code, of: caller.user, in: transaction, context)
      let codes = try await replaceRecoveryCodes(of: caller.user, in: transaction, context)
      if let session = caller.session {
        _ = try await transaction.run(SecondFactorQueries.addMethods, caller.user, session, methods)
      }
      try await Sessions.end(
        .others(than: caller.session),
        of: caller.user,
        "second_factor_add",
        by: caller.actor,
        from: context.origin,
        in: transaction
      )
      try await WayInChange.factorAdded.record(by: caller, in: transaction, context)
      return codes
    }
  }

  /// Returns the caller's confirmed factors, the oldest first, and how many recovery codes are left.
  ///
  /// Throws `.unauthenticated`, `.unavailable`.
  package static func list(
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> (factors: [SecondFactor], recoveryCodesLeft: Int) {
    let rows = try await context.store.read(
      SecondFactorQueries.list,
      caller.user,
      caller.authority
    )
    guard let first = rows.first else { throw caller.gone }
    return (rows.compactMap(\.factor), first.recoveryCodesLeft)
  }

  /// Removes a factor.
  ///
  /// The last one takes the recovery codes with it. A mail reports it.
  /// Throws `.notFound`, `.reauthenticationRequired` as `enroll`, `.unauthenticated`, `.unavailable`.
  package static func remove(
    _ factor: FactorID,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    try await context.store.transaction { transaction async throws(Failure) in
      try await lock(caller, in: transaction, context)
      let removed = try await transaction.run(SecondFactorQueries.remove, caller.user, factor)
      guard let wasConfirmed = removed.first else { throw .notFound }
      guard wasConfirmed else { return }
      _ = try await transaction.run(SecondFactorQueries.removeStrandedCodes, caller.user)
      try await WayInChange.factorRemoved.record(by: caller, in: transaction, context)
    }
  }

  /// Makes new recovery codes, in place of those from before.
  ///
  /// Throws `.factorsOff`, `.notFound` if the user has no factor, `.reauthenticationRequired` as
  /// `enroll`, `.unauthenticated`, `.unavailable`.
  package static func makeRecoveryCodes(
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> [String] {
    try requireOffered(context)
    return try await context.store.transaction { transaction async throws(Failure) in
      try await lock(caller, in: transaction, context)
      let isEnrolled = try await transaction.run(SecondFactorQueries.isEnrolled, caller.user).first
      guard isEnrolled == true else { throw .notFound }
      let codes = try await replaceRecoveryCodes(of: caller.user, in: transaction, context)
      try await WayInChange.recoveryCodesMade.record(by: caller, in: transaction, context)
      return codes
    }
  }

  /// Locks the user, and checks that the caller's session may change factors.
  ///
  /// The session of a user with a factor must have had one itself. Otherwise a person with an API
  /// key, which signs in without a factor, could remove the factor. A guest has no credential yet that a
  /// factor could be the second of.
  private static func lock(
    _ caller: Caller,
    in transaction: Transaction,
    _ context: Context
  ) async throws(Failure) {
    guard try await Identities.lock(caller, in: transaction) else { throw caller.gone }
    let found = try await transaction.run(
      SecondFactorQueries.mayChange,
      caller.user,
      caller.authority,
      context.app.settings.mfa != .off
    )
    guard let mayChange = found.first else { throw caller.gone }
    guard mayChange else {
      throw .reauthenticationRequired(maxAge: context.app.settings.proofLifetime)
    }
  }
}

package typealias FactorID = ID<SecondFactors>
