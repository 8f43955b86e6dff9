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
  /// What one attempt costs.
  fileprivate var cost: Duration { .microseconds(share) }

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
/// attempts at once are many. A refused attempt writes nothing, and takes no connection from writers.
struct Allowances {
  private let all: [Allowance]
  /// Indexes of `all`, ordered by subject: all transactions lock the rows in this order.
  private let order: [Int]
  private let context: Context

  init(_ all: [Allowance], _ context: Context) {
    self.all = all
    order = all.indices.sorted {
      all[$0].subject.bytes.lexicographicallyPrecedes(all[$1].subject.bytes)
    }
    self.context = context
  }

  /// Uses one attempt of each, and notes what is left for the answer.
  ///
  /// - Throws: `.tooManyAttempts` when one of them is used up, `.unavailable`.
  @EventLoop func spend() async throws(Failure) {
    try await requireLeft()
    let aheads = try await spent()
    let missed = zip(all, aheads).filter { $1 == nil }.map { ($0.0, $0.0.whole) }
    // Other attempts have taken the last since it was read.
    guard missed.isEmpty else { try await refuse(missed) }
    note(aheads.compactMap(\.self))
  }

  /// Uses nothing yet; `sendSpending` will.
  ///
  /// - Throws: `.tooManyAttempts` when one of them is used up, `.unavailable`.
  @EventLoop func requireLeft() async throws(Failure) {
    let used = zip(all, try await aheads()).filter { $0.isUsedUp($1) }
    guard used.isEmpty else { try await refuse(used) }
  }

  /// Returns whether one is left of each.
  @EventLoop func areLeft() async throws(Failure) -> Bool {
    try await !zip(all, aheads()).contains { $0.isUsedUp($1) }
  }

  /// Uses one attempt of each in the transaction of what is attempted, which is undone when one of
  /// them is used up.
  ///
  /// For what is no guess: there is nothing to be learned from an attempt that is undone.
  @EventLoop func sendSpending(in transaction: Transaction) -> Proof.Completion {
    let sent = sendSpends(in: transaction)
    return { () async throws(DatabaseError) in
      let aheads = try await sent()
      guard !aheads.contains(nil) else { throw Self.usedUp }
      note(aheads.compactMap(\.self))
    }
  }

  /// Uses one attempt of each if one is left of each, and reports to the client what is left.
  ///
  /// - Returns: whether it was used.
  /// - Throws: `.unavailable`.
  @EventLoop func spendIfLeft() async throws(Failure) -> Bool {
    guard try await areLeft() else { return false }
    let aheads = try await spent()
    guard !aheads.contains(nil) else { return false }
    note(aheads.compactMap(\.self))
    return true
  }

  /// As `spendIfLeft`, but reports nothing to the client.
  @EventLoop func spendUnseen() async throws(Failure) -> Bool {
    guard try await areLeft() else { return false }
    return try await !spent().contains(nil)
  }

  /// Returns the attempts in a transaction of their own, because what they guard did not happen.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop func giveBack() async throws(Failure) {
    try await context.store.transaction { transaction async throws(DatabaseError) in
      try await sendBack(in: transaction)()
    }
  }

  /// Gives the attempt back: it was none of those that are to be few.
  @EventLoop func sendBack(in transaction: Transaction) -> Proof.Completion {
    let app = context.app.id
    let sent = order.map { index in
      let (subject, cost) = (all[index].subject, all[index].cost)
      return (index, transaction.send(AttemptQueries.giveBack, app, subject, ServerTime(), cost))
    }
    return { () async throws(DatabaseError) in
      var aheads = Array(repeating: 0, count: all.count)
      for (index, statement) in sent { aheads[index] = try await statement.rows().first ?? 0 }
      note(aheads)
    }
  }

  /// Returns of each in how many microseconds all its attempts come back.
  @EventLoop private func aheads() async throws(Failure) -> [Int] {
    try await context.store.read(
      AttemptQueries.ahead,
      all.map { StatementCall(AttemptQueries.ahead, context.app.id, $0.subject) }
    ).map { $0.first ?? 0 }
  }

  /// Uses one attempt of each, or nothing.
  ///
  /// - Returns: of each in how many microseconds all its attempts come back, nil if it is used up.
  @EventLoop private func spent() async throws(Failure) -> [Int?] {
    if all.count == 1 {
      return [
        try await context.store.write(
          AttemptQueries.spend,
          context.app.id,
          all[0].subject,
          ServerTime(),
          all[0].cost,
          all[0].window
        ).first
      ]
    }
    var aheads: [Int?] = []
    do throws(Failure) {
      try await context.store.transaction { transaction async throws(DatabaseError) in
        aheads = try await sendSpends(in: transaction)()
        if aheads.contains(nil) { throw Self.usedUp }
      }
    } catch .tooManyAttempts {
      // Undone; `aheads` tells of which there was none.
    }
    return aheads
  }

  @EventLoop private func sendSpends(
    in transaction: Transaction
  ) -> @EventLoop () async throws(DatabaseError) -> [Int?] {
    let app = context.app.id
    let sent = order.map { index in
      let one = all[index]
      return (
        index,
        transaction.send(
          AttemptQueries.spend,
          app,
          one.subject,
          ServerTime(),
          one.cost,
          one.window
        )
      )
    }
    return { () async throws(DatabaseError) in
      var aheads: [Int?] = Array(repeating: nil, count: all.count)
      for (index, statement) in sent { aheads[index] = try await statement.rows().first }
      return aheads
    }
  }

  private static let usedUp = DatabaseError(
    .undone,
    "an allowance is used up",
    constraint: "allowance_used_up"
  )

  /// Records each allowance that is used up, and reports them to the client.
  ///
  /// - Parameter used: with the microseconds in which all attempts of each come back.
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop private func refuse(_ used: [(Allowance, Int)]) async throws(Failure) -> Never {
    for (allowance, ahead) in used { context.store.limits.note(allowance.left(ahead)) }
    for (allowance, _) in used { try await allowance.recordOnce(context) }
    throw .tooManyAttempts(retryAfter: used.map { $0.wait($1) }.max() ?? .seconds(1))
  }

  @EventLoop private func note(_ aheads: [Int]) {
    for (allowance, ahead) in zip(all, aheads) where allowance.isReported {
      context.store.limits.note(allowance.left(ahead))
    }
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
