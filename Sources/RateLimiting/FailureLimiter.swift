import Encoding
package import EventLoop
package import Postgres
package import Runtime
import Tenancy
package import Records

/// The purpose of an attempt; each purpose is counted separately.
package enum AttemptPurpose: String, CaseIterable {
  /// Logins by an email address, counted by its key.
  case login
  /// Passwords sent in a session, or with a mailed token, counted by the user.
  case password
  /// Codes of an authenticator app, counted by the user over all flows.
  case secondFactor = "second-factor"
  /// Recovery codes, counted by the user over all flows, so that guesses of the short codes of an app
  /// do not lock them.
  case recoveryCode = "recovery-code"
  /// Mailed codes that name no address, counted by the network that may enter them.
  case networkCode = "network-code"
  /// Codes by which support sees an account, counted by the administrator who enters them.
  case supportCode = "support-code"
  /// Requests for codes that set a password and name no address, counted by network alone.
  case resetCode = "reset-code"
  /// Registrations of an email address, counted by its key.
  case registration
  /// Requests whether an email address has a user, counted by network alone.
  case lookup
  /// Mail to an email address, counted by its key.
  case mail
  /// Tokens and keys that were refused, counted by network alone.
  case refused
  /// New users without credentials, counted by network alone.
  case anonymous
  /// Requests for a sign-in at the pages, counted by the user who is signed in there, or by network.
  case authorization
  /// Codes and access tokens that another service has to judge, counted by network alone.
  case service
  /// Sign-ins of a user, with any credential, and switches on a device.
  case session
  /// First steps of sign-ins that wait for a second factor, counted by the user.
  case firstStep = "first-step"
  /// Changes of a user's own credentials.
  case change
  /// Changes of a user's own data in an app that records them.
  case dataChange = "data-change"

  /// The name of the limit from all networks; the plain value is that of one network.
  package var anywhere: String { "\(rawValue)-anywhere" }
  package var onDevice: String { "\(rawValue)-device" }
  package var inSession: String { "\(rawValue)-session" }
  package var fromSite: String { "\(rawValue)-site" }
  /// The name of a network's reserve, for when all networks have used up their limit.
  package var slowly: String { "\(rawValue)-slowly" }
  package var slowlyFromSite: String { "\(rawValue)-slowly-site" }
  package var ofNetwork: String { self == .anonymous ? rawValue : "\(rawValue)-network" }
  package var ofSite: String { "\(rawValue)-network-site" }
  /// The name of the limit of a day, from all networks.
  package var daily: String { "\(rawValue)-daily" }
  /// The name of the limit in a network from which the user has signed in.
  package var fromKnownNetwork: String { "\(rawValue)-known-network" }
}

/// Mailed codes that name no address.
package enum NetworkCode {
  /// The lengths of such codes.
  package static let digits = 6...8

  /// Returns the identifier under which guesses of a length at an address are counted.
  ///
  /// A short guess cannot match a long code. So guesses at short codes do not use up those at long
  /// ones, of which there may be more.
  package static func identifier(digits: Int, of key: String) -> String { "\(digits) \(key)" }
}

/// Limits how often a secret may be guessed.
///
/// Each failure counts against three kinds of limits:
///
/// - the identifier from the caller's network, so that no stranger can lock the user out;
/// - the identifier from all networks together, which come back more slowly;
/// - the caller's network, over all identifiers.
///
/// A device on which the user has logged in before has a limit of its own. So other callers'
/// failures do not slow it down. For codes of a second factor, the user must have passed one there. A
/// success gives its own attempt back.
package struct FailureLimiter {
  private let limits: RateLimitSet
  /// Whether the limit of a familiar device counts.
  package let isFamiliar: Bool

  /// - Parameters:
  ///   - purpose: the purpose, each of which is counted separately.
  ///   - identifier: the identifier, which counts also if it belongs to no user.
  ///   - isFamiliar: whether all users whom the attempt can log in have logged in before on the
  ///     caller's device. Only those users can have caused that.
  ///   - context: the app, with its limits, and the origin of the call.
  @EventLoop package init(
    _ purpose: AttemptPurpose, on identifier: String, isFamiliar: Bool = false,
    _ context: RequestContext
  ) {
    if isFamiliar, let own = RateLimit.onDevice(purpose, identifier, context) {
      limits = RateLimitSet([own], context)
      self.isFamiliar = true
      return
    }
    self.isFamiliar = false
    let all = RateLimit.anywhereHourly(purpose, identifier, context)
    limits = RateLimitSet(
      RateLimit.fromNetwork(purpose, identifier, context) + [all]
        + RateLimit.ofNetwork(purpose, context),
      context
    )
  }

  /// The reads that tell how much is left, for a batch of reads.
  @EventLoop package var calls: [PendingQuery] { limits.calls }

  /// Counts an attempt, before it is made.
  ///
  /// - Parameter known: what `calls` have read just now; nil to read it here.
  /// - Throws: `.tooManyAttempts` after too many attempts, `.databaseUnavailable`.
  @EventLoop package func count(knowing known: [Int]? = nil) async throws(Failure) {
    try await limits.spend(knowing: known)
  }

  /// Counts an attempt, and reads rows in the same round trip.
  @EventLoop package func count<Row>(
    knowing known: [Int], _ read: @EventLoop (Transaction) -> Sent<Row>?
  ) async throws(Failure) -> [Row] {
    try await limits.spend(knowing: known, read)
  }

  /// Gives the attempt back if it has failed for another reason than a wrong guess.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func giveBack(unlessWrong error: Failure) async throws(Failure) {
    switch error {
    case .wrongCredentials, .invalidCode, .invalidExternalToken: break
    default: try await takeBack()
    }
  }

  /// Counts an attempt and makes it.
  ///
  /// Gives the attempt back if the body throws for another reason than a wrong guess.
  /// - Parameter body: the attempt.
  /// - Returns: the result of the body.
  /// - Throws: `.tooManyAttempts` after too many attempts, `.databaseUnavailable`, errors of the
  ///   body.
  @EventLoop package func attempt<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await count()
    do throws(Failure) {
      return try await body()
    } catch {
      try await giveBack(unlessWrong: error)
      throw error
    }
  }

  /// Does what a right guess allows, and gives the attempt back if that fails.
  ///
  /// The transaction of the body gives the attempt back with `sendSuccess`.
  /// - Throws: `.databaseUnavailable`, errors of the body.
  @EventLoop package func complete<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    do throws(Failure) {
      return try await body()
    } catch {
      try await giveBack(after: error)
      throw error
    }
  }

  /// Gives the attempt back after a right guess, because the rest of the request has failed.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func giveBack(after error: Failure) async throws(Failure) {
    switch error {
    // The code of a second factor is a guess, too.
    case .invalidCode: break
    // The transaction that asks for a second factor is committed, and has given it back.
    case .additionalFactorRequired: break
    default: try await takeBack()
    }
  }

  /// Gives the attempt back at once: it was no failure, even if the request fails later.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func takeBack() async throws(Failure) { try await limits.giveBack() }

  /// Gives the attempt back, because it was no failure.
  @EventLoop package func succeed(in transaction: Transaction) async throws(Failure) {
    try await sendSuccess(in: transaction)()
  }

  /// Sends the statement of `succeed`, and returns a function that waits for it.
  @EventLoop package func sendSuccess(in transaction: Transaction) -> Completion {
    limits.sendBack(in: transaction)
  }
}

/// The settings of limits on attempts, mails and anonymous users.
package struct LimitSettings: RecordPart {
  package let failuresPerIdentifier: Int
  let failuresPerIdentifierHourly: Int
  let failuresPerAddress: Int
  /// The time in which failures are forgotten.
  package let failureWindow: Duration
  /// In an hour.
  package let anonymousPerAddress: Int
  /// In an hour.
  let authorizationsPerAddress: Int
  /// In an hour.
  let signInsPerUser: Int
  /// In an hour.
  let changesPerUser: Int
  /// In an hour.
  let recordedChangesPerUser: Int
  /// To one address, in a day.
  package let mailsPerAddressDaily: Int

  package init(_ read: inout RecordReader) {
    failuresPerIdentifier = read.number(
      "failures_per_identifier",
      1...10_000,
      10,
      "failed sign-ins with one email address from one network before further attempts are refused "
        + "(429)"
    )
    // The limit of ASVS 4.0 (2.2.1).
    failuresPerIdentifierHourly = read.number(
      "failures_per_identifier_hourly",
      1...1_000_000,
      100,
      "failed sign-ins with one email address from all networks in an hour before further attempts "
        + "are refused (429)"
    )
    failuresPerAddress = read.number(
      "failures_per_ip", 1...1_000_000, 100,
      "failed sign-ins from one network before further attempts are refused (429)"
    )
    failureWindow = read.duration(
      "failure_minutes", .minutes, 1...1_440, 15,
      "minutes in which the failures of one network are gradually forgotten"
    )
    // Enough for an office or the shared address of a mobile network during a launch.
    anonymousPerAddress = read.number(
      "anonymous_users_per_ip", 1...1_000_000, 300, "anonymous users from one network in an hour"
    )
    // Each is a stored row for an hour. People in an office begin a few sign-ins a day.
    authorizationsPerAddress = read.number(
      "sign_in_pages_per_ip", 1...1_000_000, 1_000,
      "sign-ins at the hosted pages that begin from one network in an hour; also codes and access "
        + "tokens of other services from it"
    )
    // Each is a session, often a device, and two events. Scripts sign in at each start.
    signInsPerUser = read.number(
      "sign_ins_per_user", 1...1_000_000, 300, "sign-ins of one user in an hour"
    )
    // Each is an event, and most are a mail.
    changesPerUser = read.number(
      "account_changes_per_user", 1...1_000_000, 60,
      "changes of one user's own credentials in an hour"
    )
    recordedChangesPerUser = read.number(
      "recorded_changes_per_user", 1...1_000_000, 3_600,
      "changes of one user's own data in an hour, where data_event_days records them; in each worker, "
        + "where they are only published"
    )
    mailsPerAddressDaily = read.number(
      "mails_per_email_daily", 1...1_000_000, 40,
      "mails to one address that devices unknown to its user may request in a day"
    )
  }
}

extension App {
  package var limitSettings: LimitSettings { settings[LimitSettings.self] }
}
