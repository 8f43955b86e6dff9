import EventLoop
import Notation
import Postgres

/// What attempts are counted for, each for itself.
enum AttemptPurpose: String, CaseIterable {
  /// Logins by an address, by its key.
  case login
  /// Codes that were mailed to log in by, by the key of the address.
  case code
  /// Passwords shown in a session, by the user.
  case password
  /// Mail to an address, by its key.
  case mail
  /// Tokens and keys that were refused, which are counted by network alone.
  case refused

  /// Names of the allowances: by who is guessed at and from where there is no more to it.
  var anywhere: String { "\(rawValue)-anywhere" }
  var onDevice: String { "\(rawValue)-device" }
  var ofNetwork: String { "\(rawValue)-network" }
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
    let settings = context.app.settings
    let burst = settings.failuresPerIdentifier
    let master = context.store.keys.master
    if isFamiliar, let device = context.device {
      let own = Allowance(
        purpose.onDevice,
        of: identifier,
        device.id.text,
        burst: burst,
        in: settings.failureWindow,
        master
      )
      allowances = Allowances([own], context)
      return
    }
    allowances = Allowances(
      Allowance.of(
        purpose,
        identifier,
        anywhere: settings.failuresPerIdentifierHourly,
        in: .seconds(3_600),
        context
      ),
      context
    )
  }

  /// Counts an attempt.
  ///
  /// - Throws: `.tooManyAttempts` when there were too many, `.unavailable`.
  @EventLoop func attempt() async throws(Failure) { try await allowances.spend() }

  /// Takes the attempt away: it was no failure.
  @EventLoop func succeed(in transaction: Transaction) async throws(DatabaseError) {
    try await sendSuccess(in: transaction)()
  }

  /// As `succeed`, to be waited for later.
  @EventLoop func sendSuccess(in transaction: Transaction) -> Proof.Completion {
    allowances.sendBack(in: transaction)
  }
}

extension Allowance {
  /// What may be attempted with one identifier from one network, by anybody with that identifier, and
  /// by one network with whatever.
  ///
  /// - Parameters:
  ///   - purpose: each is counted for itself.
  ///   - identifier: counts also when it is nobody's.
  ///   - burst: from all networks.
  ///   - window: in which those come back.
  ///   - context: the app, with its limits, and where the call comes from.
  /// - Returns: the three.
  @EventLoop static func of(
    _ purpose: AttemptPurpose,
    _ identifier: String,
    anywhere burst: Int,
    in window: Duration,
    _ context: Context
  ) -> [Allowance] {
    let settings = context.app.settings
    let master = context.store.keys.master
    return [
      Allowance(
        purpose.rawValue,
        of: identifier,
        String(hexadecimal: context.origin.network),
        burst: settings.failuresPerIdentifier,
        in: settings.failureWindow,
        master
      ),
      Allowance(
        purpose.anywhere,
        of: identifier,
        burst: burst,
        in: window,
        isReported: false,
        master
      ),
      .ofNetwork(purpose, context),
    ]
  }

  /// What one network may attempt, whatever it is about.
  @EventLoop static func ofNetwork(_ purpose: AttemptPurpose, _ context: Context) -> Allowance {
    Allowance(
      purpose.ofNetwork,
      of: String(hexadecimal: context.origin.network),
      burst: context.app.settings.failuresPerAddress,
      in: context.app.settings.failureWindow,
      context.store.keys.master
    )
  }
}
