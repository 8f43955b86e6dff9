import EventLoop
import JSON
import Notation
import Postgres

/// How often something may be attempted: so many times at once, and then once in each share of its window.
///
/// Nobody is locked out: who has used an allowance up is slowed down, and it comes back by itself.
struct Allowance {
  /// What `RateLimit` calls it.
  let name: String
  let subject: BinaryBytes
  /// How many attempts there are when none was made for long.
  let burst: Int
  /// In which all of them come back; whole seconds.
  let window: Duration
  /// Whether an attempt that is let through is told how much is left.
  ///
  /// Not of what others use up too: it would tell of them.
  let isReported: Bool

  /// - Parameters:
  ///   - name: one of its kind among those of a request.
  ///   - subject: who or what attempts; the database sees a keyed hash of it.
  ///   - burst: at least 1.
  ///   - window: at least a second.
  ///   - isReported: false for what strangers share.
  ///   - master: makes the hash.
  init(
    _ name: String,
    of subject: [String],
    burst: Int,
    in window: Duration,
    isReported: Bool = true,
    _ master: MasterKey
  ) {
    self.name = name
    self.subject = BinaryBytes(Self.subject(name, subject, master))
    self.burst = burst
    self.window = window
    self.isReported = isReported
  }

  /// What the database knows who or what attempts by.
  static func subject(_ name: String, _ parts: [String], _ master: MasterKey) -> [UInt8] {
    // With its length before each part, no two lists of parts are one text.
    master.attemptSubject(([name] + parts).map { "\($0.utf8.count):\($0)" }.joined())
  }

  /// In microseconds.
  fileprivate var whole: Int { window.wholeSeconds * 1_000_000 }
  /// What one attempt costs, in microseconds.
  private var share: Int { whole / burst }

  /// As the statements read it.
  fileprivate var json: JSON {
    [
      "subject": .string("\\x" + String(hexadecimal: subject.bytes)),
      "burst": .number(JSONNumber(burst)), "seconds": .number(JSONNumber(window.wholeSeconds)),
    ]
  }

  fileprivate func isUsedUp(_ ahead: Int) -> Bool { ahead + share > whole }

  /// How long to wait for the next attempt.
  fileprivate func wait(_ ahead: Int) -> Duration {
    max(.seconds(1), .microseconds(ahead + share - whole))
  }

  fileprivate func left(_ ahead: Int) -> RateLimit {
    RateLimit(
      name: name,
      quota: burst,
      window: window,
      remaining: min(max(0, (whole - ahead) / share), burst),
      reset: .microseconds(ahead)
    )
  }
}

/// The allowances that one attempt uses: one attempt of each, or nothing.
///
/// Attempts are counted before they are made, in the database: all workers count together, and many
/// attempts at once are many.
struct Allowances {
  private let all: [Allowance]
  private let context: Context

  init(_ all: [Allowance], _ context: Context) {
    self.all = all
    self.context = context
  }

  /// Uses one attempt of each, and notes what is left for the answer.
  ///
  /// - Throws: `.tooManyAttempts` when one of them is used up, `.unavailable`.
  @EventLoop func spend() async throws(Failure) {
    let rows = try await spendAllOrNone()
    let missed = zip(all, rows).map { (allowance: $0, row: $1) }.filter { !$0.row.isSpent }
    guard !missed.isEmpty else { return note(rows) }
    // Without one that was used up before, others that came at the same moment have taken the last.
    let used = missed.filter { $0.allowance.isUsedUp($0.row.ahead) }
    let refusing =
      used.isEmpty
      ? missed.map { ($0.allowance, $0.allowance.whole) }
      : used.map { ($0.allowance, $0.row.ahead) }
    for (allowance, ahead) in refusing { context.store.limits.note(allowance.left(ahead)) }
    for (allowance, _) in refusing { try await allowance.recordOnce(context) }
    throw .tooManyAttempts(retryAfter: refusing.map { $0.wait($1) }.max() ?? .seconds(1))
  }

  /// Refuses as `spend` does where one is used up; else uses nothing yet, and `sendSpending` will.
  @EventLoop func requireLeft() async throws(Failure) {
    if try await !areLeft() { try await spend() }
  }

  /// Whether there is one left of each.
  @EventLoop func areLeft() async throws(Failure) -> Bool {
    let left = try await context.store.read(AttemptQueries.areLeft, context.app.id, Self.list(all))
    return left.first == true
  }

  /// Uses one attempt of each in the transaction of what is attempted, which is undone when one of
  /// them is used up.
  ///
  /// For what is no guess: there is nothing to be learned from an attempt that is undone.
  @EventLoop func sendSpending(in transaction: Transaction) -> Proof.Completion {
    let sent = transaction.send(AttemptQueries.spend, context.app.id, Self.list(all))
    return { () async throws(DatabaseError) in
      let rows = try await sent.rows()
      guard rows.allSatisfy(\.isSpent) else {
        throw DatabaseError(.undone, "an allowance is used up", constraint: "allowance_used_up")
      }
      note(rows)
    }
  }

  /// Uses one attempt of each if there is one left of each; the client is told when it was used.
  ///
  /// - Returns: whether it was used.
  /// - Throws: `.unavailable`.
  @EventLoop func spendIfLeft() async throws(Failure) -> Bool {
    let rows = try await spendAllOrNone()
    guard rows.allSatisfy(\.isSpent) else { return false }
    note(rows)
    return true
  }

  /// As `spendIfLeft`; the client is told nothing.
  @EventLoop func spendUnseen() async throws(Failure) -> Bool {
    try await spendAllOrNone().allSatisfy(\.isSpent)
  }

  /// Uses one attempt of each, or of none: what others took at the same moment is given back.
  @EventLoop private func spendAllOrNone() async throws(Failure) -> [SpentRow] {
    let rows = try await context.store.write(AttemptQueries.spend, context.app.id, Self.list(all))
    let spent = zip(all, rows).filter { $1.isSpent }.map { $0.0 }
    if !spent.isEmpty, spent.count < all.count {
      _ = try await context.store.write(AttemptQueries.giveBack, context.app.id, Self.list(spent))
    }
    return rows
  }

  /// Gives the attempt back outside of a transaction: what it was to guard has not happened.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop func giveBack() async throws(Failure) {
    note(try await context.store.write(AttemptQueries.giveBack, context.app.id, Self.list(all)))
  }

  /// Gives the attempt back: it was none of those that are to be few.
  @EventLoop func sendBack(in transaction: Transaction) -> Proof.Completion {
    let sent = transaction.send(AttemptQueries.giveBack, context.app.id, Self.list(all))
    return { () async throws(DatabaseError) in note(try await sent.rows()) }
  }

  @EventLoop private func note(_ rows: [SpentRow]) {
    for (allowance, row) in zip(all, rows) where allowance.isReported {
      context.store.limits.note(allowance.left(row.ahead))
    }
  }

  private static func list(_ allowances: [Allowance]) -> TextBytes {
    TextBytes(JSON.array(allowances.map(\.json)).serialized())
  }
}

extension Allowance {
  /// What counts that one of that name was recorded.
  static func recorded(_ name: String) -> String { "told-\(name)" }

  /// Records that it was used up: once while it comes back, however often somebody tries.
  @EventLoop fileprivate func recordOnce(_ context: Context) async throws(Failure) {
    let once = Allowance(
      Self.recorded(name),
      of: [String(hexadecimal: subject.bytes)],
      burst: 1,
      in: window,
      context.store.keys.master
    )
    guard try await Allowances([once], context).spendUnseen() else { return }
    try await AuditEvent(
      "attempts_refused",
      of: nil,
      by: "anyone",
      detail: ["guard": .string(name)]
    ).record(context)
  }
}
