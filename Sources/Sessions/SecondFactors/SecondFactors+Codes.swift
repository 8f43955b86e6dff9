internal import Crypto
import Delivery
import Encoding
import Glibc
import JSON
import PasswordHashes
import Postgres
package import RateLimiting
package import Runtime

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
      uri: ProvisioningURI.text(
        secret, of: account, at: issuer.isEmpty ? context.mailer.name(of: context.app) : issuer
      )
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
      throw .internalError(
        reason: "this master key does not decrypt the second factor \(factor.id)")
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

/// A code that a user keeps on paper, in place of an authenticator that is lost.
///
/// It has 120 random bits, in four groups of six characters. So a fast keyed hash is enough to store
/// it; codes of less than 112 bits need a password hash.
/// - Source: OWASP ASVS 5.0, 6.5.2, for the entropy.
struct RecoveryCode: Hashable {
  /// How many codes a user gets at once.
  static let count = 10
  private static let length = 24
  private static let groupLength = 6

  private let characters: [UInt8]

  /// Makes a new code.
  init() { characters = SpokenAlphabet.random(Self.length) }

  /// Reads what a user typed, in either case, with any spaces and hyphens.
  ///
  /// Returns nil if it does not have the form of a recovery code.
  init?(_ typed: String) {
    guard let characters = SpokenAlphabet.characters(of: typed, count: Self.length) else {
      return nil
    }
    self.characters = characters
  }

  /// Returns the code as the user sees it.
  var text: String { SpokenAlphabet.text(characters, inGroupsOf: Self.groupLength) }

  /// Returns what the database stores: a keyed hash with the first master key.
  func hash(of user: UserID, _ master: MasterKey) -> BinaryBytes {
    hashes(of: user, master)[0]
  }

  /// Returns the hash by each master key: a code may be older than the first key.
  func hashes(of user: UserID, _ master: MasterKey) -> [BinaryBytes] {
    let named = Array("recovery code \(user) ".utf8) + characters
    return master.checks.indices.map { BinaryBytes(master.hash(of: named, by: $0)) }
  }

  /// Makes the codes of a user, no two of which are the same.
  static func make() -> [RecoveryCode] {
    var codes: Set<RecoveryCode> = []
    while codes.count < count { codes.insert(RecoveryCode()) }
    return Array(codes)
  }
}

/// The codes of an authenticator app: six digits that change every 30 seconds.
///
/// All authenticator apps know this form: SHA-1, six digits, 30 seconds. Some of them ignore any other.
/// - Source: RFC 6238; RFC 4226 section 5.3.
package enum TimeBasedCode {
  package static let length = 6
  /// The length of a time step, in seconds.
  static let period = 30
  /// How many steps before the present one are accepted, while a code is typed and sent.
  ///
  /// - Source: RFC 6238 section 5.2, which recommends one step at most. No code of a later step is
  ///   accepted, which would prolong its life (OWASP ASVS 5.0, 6.5.5).
  static let delay = 1

  /// Returns the number of the time step at a time in seconds since 1970.
  static func step(at time: Int) -> Int { time / period }

  /// Returns the code of a time step.
  static func code(of secret: [UInt8], at step: Int) -> String {
    var code = HMAC<Insecure.SHA1>(key: SymmetricKey(data: secret))
    code.update(data: stride(from: 56, through: 0, by: -8).map { UInt8(step >> $0 & 255) })
    let hash = Array(code.finalize())
    let offset = Int(hash[hash.count - 1] & 15)
    let number = hash[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } & 0x7fff_ffff
    return String(number % 1_000_000, digits: length)
  }

  /// Finds the time step whose code was entered.
  ///
  /// - Parameters:
  ///   - code: six digits.
  ///   - secret: the secret of the authenticator.
  ///   - now: the present time step.
  ///   - last: the step of the last code that was accepted. Codes up to it are used.
  /// - Returns: the step, or nil if the code is wrong or used.
  static func step(of code: String, _ secret: [UInt8], near now: Int, after last: Int) -> Int? {
    let entered = Array(code.utf8)
    return (now - delay...now).first { step in
      step > last && areSame(Array(self.code(of: secret, at: step).utf8), entered)
    }
  }
}

/// The content of the QR code for an authenticator app.
///
/// - Source: github.com/google/google-authenticator/wiki/Key-Uri-Format.
enum ProvisioningURI {
  /// Returns the URI of a secret.
  ///
  /// Form, digits and period are the defaults of the format, which some apps take no others for.
  static func text(_ secret: [UInt8], of account: String, at issuer: String) -> String {
    let (issuer, account) = (PercentCoding.encode(issuer), PercentCoding.encode(account))
    return "otpauth://totp/\(issuer):\(account)?secret=\(secret.base32)&issuer=\(issuer)"
  }
}
