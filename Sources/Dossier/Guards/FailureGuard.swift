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
  /// What each network has left where all together have used up what they may.
  var slowly: String { "\(rawValue)-slowly" }
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
    if isFamiliar, let own = Allowance.onDevice(purpose, identifier, context) {
      allowances = Allowances([own], context)
      return
    }
    let hourly = context.app.settings.failuresPerIdentifierHourly
    allowances = Allowances(
      [
        .fromNetwork(purpose, identifier, context),
        .anywhere(purpose, identifier, burst: hourly, in: .seconds(3_600), context),
        .ofNetwork(purpose, context),
      ],
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

/// What may be attempted: by a purpose, and an identifier that counts also when it is nobody's.
extension Allowance {
  /// With one identifier on the caller's device; nil where it shows none.
  @EventLoop static func onDevice(
    _ purpose: AttemptPurpose,
    _ identifier: String,
    _ context: Context
  ) -> Allowance? {
    context.device.map { device in
      Allowance(
        purpose.onDevice,
        of: identifier,
        device.id.text,
        burst: context.app.settings.failuresPerIdentifier,
        in: context.app.settings.failureWindow,
        context.store.keys.master
      )
    }
  }

  /// With one identifier from one network; slowly, where others have used up what all may: once a
  /// window.
  @EventLoop static func fromNetwork(
    _ purpose: AttemptPurpose,
    _ identifier: String,
    isSlow: Bool = false,
    _ context: Context
  ) -> Allowance {
    Allowance(
      isSlow ? purpose.slowly : purpose.rawValue,
      of: identifier,
      String(hexadecimal: context.origin.network),
      burst: isSlow ? 1 : context.app.settings.failuresPerIdentifier,
      in: context.app.settings.failureWindow,
      isReported: !isSlow,
      context.store.keys.master
    )
  }

  /// With one identifier from all networks.
  @EventLoop static func anywhere(
    _ purpose: AttemptPurpose,
    _ identifier: String,
    burst: Int,
    in window: Duration,
    _ context: Context
  ) -> Allowance {
    Allowance(
      purpose.anywhere,
      of: identifier,
      burst: burst,
      in: window,
      isReported: false,
      context.store.keys.master
    )
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
