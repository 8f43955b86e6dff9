package import Runtime
import Glibc
import Delivery
import Encoding
import JSON
import Postgres

// Shared by sign-ins and a user's own requests. All of it runs in their transaction.

extension SecondFactors {
  /// The authentication methods that a second factor adds to a session.
  ///
  /// - Source: RFC 8176 section 2.
  package nonisolated static let methods = "mfa otp"

  /// The length of a secret, in bytes.
  ///
  /// - Source: RFC 4226 section 4, R6.
  private nonisolated static let secretLength = 20

  /// Throws `.mfaDisabled` if the app has no second factors.
  package static func requireOffered(_ context: RequestContext) throws(Failure) {
    guard context.app.sessionSettings.mfa != .off else { throw .mfaDisabled }
  }

  /// Returns the limiter of a user's codes of the kind that was entered.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func limiter(
    of code: String, by user: UserID, _ context: RequestContext
  ) async throws(Failure) -> FailureLimiter {
    FailureLimiter(
      RecoveryCode(code) == nil ? .secondFactor : .recoveryCode, on: user.text,
      isFamiliar: try await Devices.knows(user, by: .secondFactor, context), context
    )
  }

  /// Records a wrong code.
  package static func recordFailure(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await Event(loginFailureBy: "second-factor", of: user).record(context)
  }

  /// Stores a new factor of a locked user, in place of one that was not confirmed.
  package static func begin(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> Enrollment {
    let context = transaction.context
    let id = FactorID()
    let secret = (0..<secretLength).map { _ in UInt8.random(in: .min ... .max) }
    let sealed = try sealed(secret, as: id, of: user, context)
    _ = transaction.send(SecondFactorQueries.removeUnconfirmed, user)
    let added = transaction.send(SecondFactorQueries.add, user, id, BinaryBytes(sealed), limit)
    let account = try await transaction.run(SecondFactorQueries.account, user).first ?? user.text
    guard try await !added.rows().isEmpty else { throw .tooManyFactors(limit: limit) }
    let issuer = context.app.sessionSettings.mfaIssuer
    return Enrollment(
      id: id, secret: secret.base32,
      uri: ProvisioningURI.text(secret, of: account, at: issuer.isEmpty ? context.app.name : issuer)
    )
  }

  /// Returns the secret of a factor as the database stores it.
  package static func sealed(
    _ secret: [UInt8], as factor: FactorID, of user: UserID, _ context: RequestContext
  ) throws(Failure) -> [UInt8] {
    try context.keys.master.sealed(secret, as: sealName(of: factor, user))
  }

  /// Confirms a factor of a locked user, and ends all sessions but that of the request.
  ///
  /// A mail reports it. Throws `.invalidCode` if the code is wrong.
  package static func confirm(
    _ factor: StoredFactor, by code: String, of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> [String] {
    guard let step = try step(of: code, factor, user, transaction.context) else {
      throw .invalidCode
    }
    _ = transaction.send(SecondFactorQueries.confirm, user, factor.id, step)
    let recoveryCodes = replaceRecoveryCodes(of: user, in: transaction)
    try await Sessions.end(
      .others(than: transaction.principal.session), of: user, "second_factor_add", in: transaction
    )
    try await SecurityNotice.factorAdded.record(of: user, in: transaction)
    return recoveryCodes
  }

  /// Uses a code of an authenticator, or a recovery code.
  ///
  /// Each code is good once: of two requests with the same code, the second finds it used.
  /// Throws `.invalidCode` if the code is wrong or used.
  package static func use(
    _ code: String, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    if let recovery = RecoveryCode(code) {
      for hash in recovery.hashes(of: user, transaction.context.keys.master) {
        let used = try await transaction.run(SecondFactorQueries.useRecoveryCode, user, hash)
        guard used.isEmpty else { return }
      }
      throw .invalidCode
    }
    let factors = try await transaction.run(SecondFactorQueries.factors, user)
    for factor in factors where factor.isConfirmed {
      guard let step = try step(of: code, factor, user, transaction.context) else { continue }
      let used = try await transaction.run(SecondFactorQueries.use, user, factor.id, step)
      guard used.isEmpty else { return }
    }
    throw .invalidCode
  }

  /// Makes new recovery codes of a locked user, in place of those from before.
  static func replaceRecoveryCodes(of user: UserID, in transaction: Transaction) -> [String] {
    let codes = RecoveryCode.make()
    let hashes = codes.map {
      String(hexadecimal: $0.hash(of: user, transaction.context.keys.master).bytes)
    }
    _ = transaction.send(SecondFactorQueries.removeRecoveryCodes, user)
    _ = transaction.send(SecondFactorQueries.addRecoveryCodes, user, hashes.joined(separator: " "))
    return codes.map(\.text)
  }

  /// Returns the time step of a code as typed, or nil if the code is wrong or used.
  private static func step(
    of code: String, _ factor: StoredFactor, _ user: UserID, _ context: RequestContext
  ) throws(Failure) -> Int? {
    let master = context.keys.master
    guard let secret = master.opened(factor.sealed, as: sealName(of: factor.id, user)) else {
      throw .internalError("this master key does not decrypt the second factor \(factor.id)")
    }
    return TimeBasedCode.step(
      of: code.withoutSpacesAndHyphens, secret, near: TimeBasedCode.step(at: time(nil)),
      after: factor.lastStep
    )
  }

  /// Returns the name that the secret of a factor is bound to.
  private static func sealName(of factor: FactorID, _ user: UserID) -> String {
    "factor \(user) \(factor)"
  }
}
