import Encoding
package import EventLoop
import JSON
package import Postgres
package import Runtime

/// A rate limit: `burst` attempts at once, and then one in each equal share of the window.
///
/// It locks no user out. A caller who has used it up is slowed down, and attempts come back with
/// time.
package struct RateLimit {
  /// The name that `RateLimitStatus` reports.
  package let name: String
  package let subject: BinaryBytes
  /// The number of attempts when none was made for a whole window.
  package let burst: Int
  /// The time in which all of them come back; whole seconds.
  package let window: Duration
  /// Whether the response to an allowed attempt reports how much is left.
  ///
  /// It is false for a limit that others use too: the number would reveal their attempts.
  let isReported: Bool
  /// The error of a refusal; too many attempts, unless the user has authenticated.
  var refusal = Failure.tooManyAttempts

  /// - Parameters:
  ///   - name: the name, unique among the limits of a request.
  ///   - subject: the parts that identify the subject; the database stores a keyed hash of them.
  ///   - burst: the number of attempts at once; at least 1.
  ///   - window: the time in which all of them come back; at least a second.
  ///   - isReported: false for a limit that strangers share.
  ///   - master: the key of the hash.
  package init(
    _ name: String, of subject: [String], burst: Int, in window: Duration, isReported: Bool = true,
    _ master: MasterKey
  ) {
    self.name = name
    self.subject = BinaryBytes(Self.subject(name, subject, master))
    self.burst = burst
    self.window = window
    self.isReported = isReported
  }

  /// Returns the keyed hash under which the database counts attempts of the subject.
  package static func subject(_ name: String, _ parts: [String], _ master: MasterKey) -> [UInt8] {
    var text: [UInt8] = []
    for part in [name] + parts {
      // The length before each part keeps two different lists from making one text.
      text += String(part.utf8.count).utf8
      text.append(UInt8(ascii: ":"))
      text += part.utf8
    }
    return master.attemptSubject(text)
  }

  /// The window, in microseconds.
  fileprivate var whole: Int { window.wholeSeconds * 1_000_000 }
  /// The cost of one attempt, in microseconds.
  private var share: Int { max(1, whole / max(1, burst)) }
  /// The cost of one attempt.
  fileprivate var cost: Duration { .microseconds(share) }

  func isUsedUp(_ ahead: Int) -> Bool { ahead + share > whole }

  /// Returns how long to wait for the next attempt.
  func wait(_ ahead: Int) -> Duration {
    max(.seconds(1), .microseconds(ahead + share - whole))
  }

  fileprivate func refused(after wait: Duration) -> Failure {
    refusal.is(.tooManyRequests) ? Self.refused(ofUser: wait) : refusal(nil, retryAfter: wait)
  }

  /// Returns the error of a user who has used up a limit of its own.
  static func refused(ofUser wait: Duration) -> Failure {
    .tooManyRequests(
      "The user has reached its own limit of sign-ins or changes in an hour.",
      retryAfter: max(.seconds(1), wait))
  }

  fileprivate func left(_ ahead: Int) -> RateLimitStatus {
    RateLimitStatus(
      name: name, quota: burst, window: window,
      remaining: min(max(0, (whole - ahead) / share), burst), reset: .microseconds(ahead)
    )
  }
}

/// The limits that one attempt uses: one attempt of each, or nothing.
///
/// The database counts attempts before they are made. So all workers count together, and parallel
/// attempts all count. A refused attempt writes nothing. Once a worker has seen a limit used up,
/// further attempts take no connection from its writers.
package struct RateLimitSet {
  private let all: [RateLimit]
  /// The indexes of `all` by subject, which is the order in which all transactions lock rows.
  private let order: [Int]
  private let context: RequestContext

  package init(_ all: [RateLimit], _ context: RequestContext) {
    self.all = all
    order = all.indices.sorted {
      all[$0].subject.bytes.lexicographicallyPrecedes(all[$1].subject.bytes)
    }
    self.context = context
  }

  /// The reads that tell how much of each is used, for a batch of reads; none if `refuseEarly` needs
  /// none.
  @EventLoop package var calls: [PendingQuery] { areDoubtful ? reads : [] }

  @EventLoop private var reads: [PendingQuery] {
    all.map { PendingQuery(AttemptQueries.ahead, context.app.id, $0.subject) }
  }

  /// Whether this worker has lately seen one of them used up.
  @EventLoop private var areDoubtful: Bool { all.contains { UsedUpLimits.contains($0.subject) } }

  /// Uses one attempt of each, and notes what is left for the response.
  ///
  /// - Parameter known: what `calls` have read just now; nil to read it here.
  /// - Throws: `.tooManyAttempts` if one of them is used up, `.databaseUnavailable`.
  @EventLoop package func spend(knowing known: [Int]? = nil) async throws(Failure) {
    _ = try await spend(knowing: known, Self.noRead)
  }

  /// Does as the function above, and reads rows in the same round trip.
  @EventLoop func spend<Row>(
    knowing known: [Int]?, _ read: @EventLoop (Transaction) -> Sent<Row>?
  ) async throws(Failure) -> [Row] {
    try await refuseEarly(knowing: known)
    guard let (aheads, rows) = try await spent(read) else {
      // This reports which one is used up.
      try await requireLeft()
      throw all[0].refused(after: .seconds(1))
    }
    note(aheads)
    return rows
  }

  private static let noRead: @EventLoop (Transaction) -> Sent<NoRow>? = { _ in nil }

  /// Refuses an attempt before it takes a connection of writers; uses none, which `sendSpending` does
  /// later.
  ///
  /// It reads the limits only if this worker has lately seen one used up. Else, the attempt finds out.
  /// - Parameter known: what `calls` have read just now; nil to read it here.
  /// - Throws: `.tooManyAttempts` if one of them is used up, `.databaseUnavailable`.
  @EventLoop package func refuseEarly(knowing known: [Int]? = nil) async throws(Failure) {
    var aheads = known
    if aheads == nil, areDoubtful { aheads = try await self.aheads() }
    if let aheads { try await refuse(used(aheads)) }
  }

  /// Checks that an attempt of each is left, and uses none.
  ///
  /// - Throws: `.tooManyAttempts` if one of them is used up, which is reported and recorded;
  ///   `.databaseUnavailable`.
  @EventLoop package func requireLeft() async throws(Failure) {
    try await refuse(used(aheads()))
  }

  /// Uses one attempt of each in the transaction that makes the attempt.
  ///
  /// If one of them is used up, the transaction is undone. Use this only for attempts that are no
  /// guesses: a caller learns nothing from one that is undone.
  @EventLoop package func sendSpending(in transaction: Transaction) -> Completion {
    let sent = sendSpends(in: transaction)
    return { () async throws(Failure) in note(try await sent()) }
  }

  /// Uses one attempt of each, if each has one left.
  ///
  /// - Parameter isReported: whether the response reports what is left.
  /// - Returns: whether the attempts were used.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func spendIfLeft(isReported: Bool = true) async throws(Failure) -> Bool {
    if areDoubtful, try await !used(aheads()).isEmpty { return false }
    guard let aheads = try await spent(Self.noRead)?.aheads else {
      _ = try await used(aheads())
      return false
    }
    if isReported { note(aheads) }
    return true
  }

  /// Gives the attempts back in a transaction of their own, if the guarded action did not happen.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func giveBack() async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      let sent = sendBack(in: transaction)
      transaction.sendCommit()
      try await sent()
    }
  }

  /// Gives the attempts back, because what happened need not count.
  @EventLoop func sendBack(in transaction: Transaction) -> Completion {
    let app = context.app.id
    let sent = order.map { index in
      let (subject, cost) = (all[index].subject, all[index].cost)
      return (index, transaction.send(AttemptQueries.giveBack, app, subject, ServerTime(), cost))
    }
    return { () async throws(Failure) in
      var aheads = Array(repeating: 0, count: all.count)
      for (index, statement) in sent { aheads[index] = try await statement.rows().first ?? 0 }
      note(aheads)
    }
  }

  /// Returns for each in how many microseconds all its attempts come back.
  @EventLoop private func aheads() async throws(Failure) -> [Int] {
    try await context.read(AttemptQueries.ahead, reads).map { $0.first ?? 0 }
  }

  /// Returns those that are used up, each with the microseconds in which all its attempts come back.
  @EventLoop private func used(_ aheads: [Int]) -> [(RateLimit, Int)] {
    let used = zip(all, aheads).filter { $0.isUsedUp($1) }
    for (limit, ahead) in used { UsedUpLimits.insert(limit.subject, for: limit.wait(ahead)) }
    return used
  }

  /// Uses one attempt of each, or nothing.
  ///
  /// - Returns: for each in how many microseconds all its attempts come back, and the rows of the
  ///   read; nil if one of them is used up.
  @EventLoop private func spent<Row>(
    _ read: @EventLoop (Transaction) -> Sent<Row>?
  ) async throws(Failure) -> (aheads: [Int], rows: [Row])? {
    do throws(Failure) {
      return try await context.transaction {
        transaction async throws(Failure) -> (aheads: [Int], rows: [Row]) in
        let sent = sendSpends(in: transaction)
        let rows = read(transaction)
        transaction.sendCommit()
        return (try await sent(), try await rows?.rows() ?? [])
      }
    } catch let error where error.is(.tooManyAttempts) || error.is(.tooManyRequests) {
      return nil
    }
  }

  @EventLoop private func sendSpends(
    in transaction: Transaction
  ) -> @EventLoop () async throws(Failure) -> [Int] {
    let app = context.app.id
    let sent = order.map { index in
      let one = all[index]
      return (
        index,
        transaction.send(AttemptQueries.spend, app, one.subject, ServerTime(), one.cost, one.window)
      )
    }
    return { () async throws(Failure) in
      var aheads = Array(repeating: 0, count: all.count)
      for (index, statement) in sent {
        // By then, another attempt has come back.
        let refused = all[index].refused(after: max(.seconds(1), all[index].cost))
        let rows = try await statement.rows(undone: refused)
        aheads[index] = rows.first ?? 0
      }
      return aheads
    }
  }

  /// Records each limit that is used up, and reports them to the client; does nothing for none.
  ///
  /// - Parameter used: each with the microseconds in which all its attempts come back.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop private func refuse(_ used: [(RateLimit, Int)]) async throws(Failure) {
    guard !used.isEmpty else { return }
    for (limit, ahead) in used { context.note(limit.left(ahead)) }
    for (limit, _) in used { try await limit.recordOnce(context) }
    throw used[0].0.refused(after: used.map { $0.wait($1) }.max() ?? .seconds(1))
  }

  @EventLoop private func note(_ aheads: [Int]) {
    for (limit, ahead) in zip(all, aheads) where limit.isReported {
      context.note(limit.left(ahead))
    }
  }
}

/// The limits that this worker has lately seen used up.
///
/// It only decides whether a limit is read before an attempt, which counts in the database in any case.
/// So it may forget a limit, and may hold one that an operator has reset.
@EventLoop private enum UsedUpLimits {
  /// A stranger adds one by a whole burst of attempts.
  private static var ends = EndTimes<BinaryBytes>(atMost: 4_096)
  private static let longest = Duration.seconds(60)

  static func contains(_ subject: BinaryBytes) -> Bool {
    ends[subject].map { EventLoop.now() < $0 } ?? false
  }

  /// Adds a limit, until its next attempt comes back.
  static func insert(_ subject: BinaryBytes, for time: Duration) {
    let now = EventLoop.now()
    ends.set(subject, to: now + UInt64(min(time, longest).wholeSeconds) * 1_000_000_000, at: now)
  }
}

/// Times in this worker, by the clock of the loop, of a limited number of keys.
struct EndTimes<Key: Hashable> {
  private var ends: [Key: UInt64] = [:]
  private let most: Int

  init(atMost most: Int) { self.most = most }

  subscript(key: Key) -> UInt64? { ends[key] }

  /// Sets the time of a key; if there are too many, past times are left out, or else all.
  mutating func set(_ key: Key, to end: UInt64, at now: UInt64) {
    if ends.count >= most { ends = ends.filter { now < $0.value } }
    if ends.count >= most { ends = [:] }
    ends[key] = end
  }
}

extension RateLimit {
  /// Returns the name of the limit that limits audit events for a limit.
  package static func recorded(_ name: String) -> String { "told-\(name)" }

  /// Records that the limit is used up, once in a window for any number of attempts.
  @EventLoop fileprivate func recordOnce(_ context: RequestContext) async throws(Failure) {
    let once = RateLimit(
      Self.recorded(name), of: [String(hexadecimal: subject.bytes)], burst: 1, in: window,
      context.keys.master
    )
    guard try await RateLimitSet([once], context).spendIfLeft(isReported: false) else { return }
    try await Event("rate_limited", detail: ["guard": .string(name)]).record(context)
  }
}

/// The limits of a purpose, a place and an identifier.
///
/// An identifier counts also if it belongs to no user.
extension RateLimit {
  /// The limit of a site, as a multiple of that of one network; a site is a /48 of IPv6.
  ///
  /// A client that rents one server has a site with 65,536 networks. So have all customers of a
  /// phone company in one town.
  static let networksOfSite = 4

  /// Returns the limit of one identifier on the caller's device; nil without a device.
  @EventLoop package static func onDevice(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit? {
    context.device.map { onDevice($0.id, purpose, identifier, context) }
  }

  /// Returns the limit of one identifier on a device.
  @EventLoop static func onDevice(
    _ device: DeviceID, _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      purpose.onDevice, of: [identifier, device.text],
      burst: context.app.limitSettings.failuresPerIdentifier,
      in: context.app.limitSettings.failureWindow, context.keys.master
    )
  }

  /// Returns the limit of one identifier in a network from which its owner has signed in.
  @EventLoop package static func fromKnownNetwork(
    _ purpose: AttemptPurpose, _ identifier: String, in window: Duration, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      purpose.fromKnownNetwork, of: [identifier, String(hexadecimal: context.address.network)],
      burst: context.app.limitSettings.failuresPerIdentifier, in: window, isReported: false,
      context.keys.master
    )
  }

  /// Returns the limit of one identifier in sessions of its owner.
  @EventLoop package static func inSession(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      purpose.inSession, of: [identifier], burst: context.app.limitSettings.failuresPerIdentifier,
      in: context.app.limitSettings.failureWindow, context.keys.master
    )
  }

  /// Returns the limits of one identifier from the caller's network and its site.
  @EventLoop package static func fromNetwork(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> [RateLimit] {
    let settings = context.app.limitSettings
    return ofPlaces(
      (purpose.rawValue, purpose.fromSite), of: [identifier], burst: settings.failuresPerIdentifier,
      in: settings.failureWindow, context
    )
  }

  /// Returns the reserves of one identifier for the caller's network and its site.
  ///
  /// They hold one attempt a window, for when other networks have used up the shared limit.
  @EventLoop package static func slowlyFromNetwork(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> [RateLimit] {
    ofPlaces(
      (purpose.slowly, purpose.slowlyFromSite), of: [identifier], burst: 1,
      in: context.app.limitSettings.failureWindow, isReported: false, context
    )
  }

  /// Returns the limits of the caller's network and its site, over all identifiers.
  @EventLoop package static func ofNetwork(
    _ purpose: AttemptPurpose, _ context: RequestContext
  ) -> [RateLimit] {
    let settings = context.app.limitSettings
    let (burst, window) =
      switch purpose {
      case .anonymous: (settings.anonymousPerAddress, Duration.seconds(3_600))
      case .authorization, .service: (settings.authorizationsPerAddress, .seconds(3_600))
      // A client asks before each sign-in.
      case .lookup: (4 * settings.failuresPerAddress, settings.failureWindow)
      case .resetCode: (settings.failuresPerIdentifier, settings.failureWindow)
      default: (settings.failuresPerAddress, settings.failureWindow)
      }
    return ofPlaces((purpose.ofNetwork, purpose.ofSite), of: [], burst: burst, in: window, context)
  }

  /// Returns the limit of what a user does in an hour, from all networks.
  ///
  /// It bounds the rows that one user adds by right credentials.
  @EventLoop package static func ofUser(
    _ purpose: AttemptPurpose, _ user: UserID, _ context: RequestContext
  ) -> RateLimit {
    let settings = context.app.limitSettings
    let burst =
      switch purpose {
      case .change: settings.changesPerUser
      case .dataChange: settings.recordedChangesPerUser
      default: settings.signInsPerUser
      }
    var limit = anywhere(purpose.anywhere, user.text, burst: burst, in: .seconds(3_600), context)
    limit.refusal = .tooManyRequests
    return limit
  }

  /// Returns the limit of a user's first steps that wait for a second factor, in an hour.
  ///
  /// A familiar device has one of its own. So a stranger who knows the password does not slow the
  /// user down there.
  @EventLoop package static func ofFirstSteps(
    of user: UserID, onFamiliarDevice isFamiliar: Bool, _ context: RequestContext
  ) -> RateLimit {
    let whole = ofUser(.firstStep, user, context)
    guard isFamiliar, let device = context.device else { return whole }
    var own = RateLimit(
      AttemptPurpose.firstStep.onDevice, of: [user.text, device.id.text], burst: whole.burst,
      in: whole.window, context.keys.master
    )
    own.refusal = whole.refusal
    return own
  }

  /// Returns the limit of one identifier from all networks together, in an hour.
  @EventLoop static func anywhereHourly(
    _ purpose: AttemptPurpose, _ identifier: String, _ context: RequestContext
  ) -> RateLimit {
    anywhere(
      purpose.anywhere, identifier, burst: context.app.limitSettings.failuresPerIdentifierHourly,
      in: .seconds(3_600), context
    )
  }

  /// Returns a limit of one identifier from all networks together.
  @EventLoop package static func anywhere(
    _ name: String, _ identifier: String, burst: Int, in window: Duration, _ context: RequestContext
  ) -> RateLimit {
    RateLimit(
      name, of: [identifier], burst: burst, in: window, isReported: false, context.keys.master
    )
  }

  @EventLoop private static func ofPlaces(
    _ names: (network: String, site: String), of identifier: [String], burst: Int,
    in window: Duration, isReported: Bool = true, _ context: RequestContext
  ) -> [RateLimit] {
    let master = context.keys.master
    let network = RateLimit(
      names.network, of: identifier + [String(hexadecimal: context.address.network)], burst: burst,
      in: window, isReported: isReported, master
    )
    guard let place = context.address.site else { return [network] }
    let site = RateLimit(
      names.site, of: identifier + [String(hexadecimal: place)], burst: burst * networksOfSite,
      in: window, isReported: false, master
    )
    return [network, site]
  }
}
