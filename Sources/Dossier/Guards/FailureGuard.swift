import EventLoop
import Notation
import Postgres

/// What attempts are counted for, each for itself.
enum AttemptPurpose: String, CaseIterable {
  /// Logins by an address, by its key.
  case login
  /// Passwords shown in a session, or beside a mailed token, by the user.
  case password
  /// Registrations of an address, by its key.
  case registration
  /// Mail to an address, by its key.
  case mail
  /// Tokens and keys that were refused, which are counted by network alone.
  case refused
  /// Users without credentials, which are counted by network alone.
  case anonymous

  /// Names of the allowances: by who is guessed at and from where there is no more to it.
  var anywhere: String { "\(rawValue)-anywhere" }
  var onDevice: String { "\(rawValue)-device" }
  var inSession: String { "\(rawValue)-session" }
  var fromSite: String { "\(rawValue)-site" }
  /// What each network has left where all together have used up what they may.
  var slowly: String { "\(rawValue)-slowly" }
  var slowlyFromSite: String { "\(rawValue)-slowly-site" }
  var ofNetwork: String { self == .anonymous ? rawValue : "\(rawValue)-network" }
  var ofSite: String { "\(rawValue)-network-site" }
  /// In a day, from everywhere.
  var daily: String { "\(rawValue)-daily" }
}

/// Limits how often a secret may be guessed.
///
/// Failures are counted by who is guessed at and from where, so that nobody can lock out another;
/// more slowly by who is guessed at, from wherever; and by where they come from, whoever is guessed
/// at. A device on which the user has logged in before is counted for itself alone: what others do
/// does not concern it. A success takes its own attempt away again.
struct FailureGuard {
  private let allowances: Allowances

  /// - Parameters:
  ///   - purpose: each is counted for itself.
  ///   - identifier: counts also when it is nobody's.
  ///   - isFamiliar: whether everyone whom the attempt can let in has logged in before on the
  ///     caller's device, which only they can have brought about.
  ///   - context: the app, with its limits, and where the call comes from.
  @EventLoop init(
    _ purpose: AttemptPurpose,
    on identifier: String,
    isFamiliar: Bool = false,
    _ context: Context
  ) {
    if isFamiliar, let own = Allowance.onDevice(purpose, identifier, context) {
      allowances = Allowances([own], context)
      return
    }
    let all = Allowance.anywhereHourly(purpose, identifier, context)
    allowances = Allowances(
      Allowance.fromNetwork(purpose, identifier, context) + [all]
        + Allowance.ofNetwork(purpose, context),
      context
    )
  }

  /// Counts an attempt, makes it, and takes it away again where no guess was made: when the body
  /// throws because something else refuses it.
  ///
  /// - Throws: `.tooManyAttempts` when there were too many, `.unavailable`, what the body throws.
  @EventLoop func attempt<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await allowances.spend()
    do throws(Failure) {
      return try await body()
    } catch {
      switch error {
      case .overloaded, .unavailable, .issuerUnavailable, .wayInClosed, .tooManyAtOnce:
        try await takeBack()
      default: break
      }
      throw error
    }
  }

  /// Takes the attempt away at once: it was no failure, whatever becomes of the request.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop func takeBack() async throws(Failure) { try await allowances.giveBack() }

  /// Takes the attempt away: it was no failure.
  @EventLoop func succeed(in transaction: Transaction) async throws(DatabaseError) {
    try await sendSuccess(in: transaction)()
  }

  /// As `succeed`, to be waited for later.
  @EventLoop func sendSuccess(in transaction: Transaction) -> Proof.Completion {
    allowances.sendBack(in: transaction)
  }
}
