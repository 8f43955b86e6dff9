import Encoding
package import EventLoop
import JSON
package import Outbound
import Postgres
package import Runtime

extension Event {
  /// Records a change of user data, and counts it if the user made it.
  ///
  /// - Throws: `.tooManyRequests`, which undoes the transaction.
  @EventLoop package func recordChange(
    of user: UserID, version: Int? = nil, in transaction: Transaction
  ) async throws(Failure) {
    if isOnlyPublished {
      try transaction.context.countPublishedChange(of: user)
    } else if let limit = RateLimits.own(.dataChange, of: user, transaction.context) {
      try await limit.sendSpending(in: transaction)()
    }
    (version.map { adding(version: $0) } ?? self).record(in: transaction)
  }
}

extension RequestContext {
  /// Counts a change that is only published.
  ///
  /// Each worker counts for itself: a row of the database would cost more than the change.
  /// - Throws: `.tooManyRequests`.
  @EventLoop package func countPublishedChange(of user: UserID) throws(Failure) {
    let wait = PublishedChanges.spend(of: user, app.limitSettings.recordedChangesPerUser)
    if let wait { throw RateLimit.refused(ofUser: wait) }
  }
}

/// The changes of users that are only published, as this worker has counted them.
@EventLoop private enum PublishedChanges {
  /// When all changes of a user have come back, by the clock of the loop.
  private static var ends = EndTimes<UserID>(atMost: 10_000)
  private static let window = Duration.seconds(3_600).nanoseconds

  /// Uses a change of a user, who has so many at once and in an hour.
  ///
  /// - Returns: nil, or how long to wait for the next one.
  static func spend(of user: UserID, _ burst: Int) -> Duration? {
    let now = EventLoop.now()
    let end = max(ends[user] ?? 0, now) + window / UInt64(max(1, burst))
    guard end - now <= window else { return .nanoseconds(Int64(end - now - window)) }
    ends.set(user, to: end, at: now)
    return nil
  }
}

/// The counted attempts of rate limits, and their reset.
package enum RateLimits {
  /// Counts a change of a user's own credentials, if the user makes it.
  ///
  /// - Throws: `.tooManyRequests`, `.databaseUnavailable`.
  @EventLoop package static func countChange(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await own(.change, of: user, context)?.spend()
  }

  /// Returns the limit of what a user does to itself; nil for a back end and an operator, which have
  /// none.
  @EventLoop fileprivate static func own(
    _ purpose: AttemptPurpose, of user: UserID, _ context: RequestContext
  ) -> RateLimitSet? {
    guard context.principal.user == user else { return nil }
    return RateLimitSet([.ofUser(purpose, user, context)], context)
  }

  /// Forgets the failed logins of an address, and the sign-ins of its user, after a caller has used
  /// a token from its email.
  ///
  /// The right password then logs in at once from the caller's network and device, despite all
  /// attempts of strangers. The limits of strangers' own networks stay used up.
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - user: the user.
  ///   - transaction: the transaction of that request. Call this last in it, as attempts are locked
  ///     after users.
  /// - Returns: a function that waits for the statements.
  @EventLoop package static func sendForget(
    of key: String, _ user: UserID, in transaction: Transaction
  ) -> Completion {
    let context = transaction.context
    let limits =
      RateLimit.fromNetwork(.login, key, context)
      + [
        RateLimit.anywhereHourly(.login, key, context), .ofUser(.session, user, context),
        .ofUser(.firstStep, user, context),
      ]
      + [RateLimit.onDevice(.login, key, context)].compactMap(\.self)
    // In the order in which `rate_limits.spend` locks them.
    let subjects = limits.map(\.subject.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    let sent = subjects.map { subject in
      transaction.send(AttemptLiftQueries.forget, context.app.id, BinaryBytes(subject))
    }
    return { () async throws(Failure) in
      for sent in sent { try await sent.rows() }
    }
  }
}

/// Resets rate limits that callers have used up (429), for an operator.
extension RateLimits {
  /// Resets the limits on a user's sign-ins, passwords and mails.
  ///
  /// Attempts are counted under keyed hashes, which only known subjects lead to. So this resets the
  /// limits of the address and the users, for each network and device that the database knows.
  /// The networks are those of the app's newest 1,000 refusals of the past two days.
  /// - Parameters:
  ///   - key: the key of the address, also of no user; nil if the user has none.
  ///   - users: the users of the address.
  ///   - network: an IP address whose network and site have all their limits reset too.
  ///   - context: the context of the app.
  /// - Returns: how many limits were not full.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func reset(
    of key: String?, _ users: [UserID], from network: IPAddress?, _ context: RequestContext
  ) async throws(Failure) -> Int {
    let app = context.app.id
    var identifiers: [(AttemptPurpose, String)] = users.flatMap {
      let user = $0.text
      return [
        AttemptPurpose.password, .secondFactor, .recoveryCode, .authorization, .session, .firstStep,
        .change, .dataChange,
      ].map { ($0, user) }
    }
    var keys = key.map { [$0] } ?? []
    var devices: [DeviceID] = []
    for user in users {
      let own = try await context.read(AttemptLiftQueries.own, user, app)
      keys += own.compactMap(\.address)
      devices += own.compactMap(\.device)
    }
    identifiers += keys.flatMap { key in
      [(.login, key), (.registration, key), (.mail, key)]
        + NetworkCode.digits.map { (.networkCode, NetworkCode.identifier(digits: $0, of: key)) }
    }
    var networks = network.map { [$0] } ?? []
    if !identifiers.isEmpty {
      networks += try await context.read(AttemptLiftQueries.refused, app, on: .search)
        .compactMap(IPAddress.init)
    }
    let places = Set(networks.map { String(hexadecimal: $0.network) })
    let sites = Set(networks.compactMap { $0.site.map { String(hexadecimal: $0) } })
    var subjects: [(name: String, parts: [String])] = []
    for (purpose, identifier) in identifiers {
      subjects += [purpose.anywhere, purpose.daily, purpose.inSession].map { ($0, [identifier]) }
      subjects += places.flatMap { place in
        [purpose.rawValue, purpose.slowly, purpose.fromKnownNetwork].map { name in
          (name, [identifier, place])
        }
      }
      subjects += sites.flatMap {
        [(purpose.fromSite, [identifier, $0]), (purpose.slowlyFromSite, [identifier, $0])]
      }
      subjects += devices.map { (purpose.onDevice, [identifier, $0.text]) }
    }
    if let network {
      let place = String(hexadecimal: network.network)
      subjects.append((AttemptPurpose.networkCode.rawValue, [place, place]))
      subjects.append((AttemptPurpose.networkCode.anywhere, [place]))
      subjects += AttemptPurpose.allCases.map { ($0.ofNetwork, [place]) }
      if let site = network.site.map({ String(hexadecimal: $0) }) {
        subjects += AttemptPurpose.allCases.map { ($0.ofSite, [site]) }
      }
    }
    let master = context.keys.master
    let hashes = subjects.map { ($0.name, RateLimit.subject($0.name, $0.parts, master)) }
    let recorded = hashes.map {
      RateLimit.subject(RateLimit.recorded($0), [String(hexadecimal: $1)], master)
    }
    let count = try await forget(hashes.map(\.1), context, app)
    // These count audit events: once they are reset too, the next refusal is recorded again.
    _ = try await forget(recorded, context, app)
    try await record(count, of: users.count == 1 ? users.first : nil, context, app)
    return count
  }

  /// Resets all limits in an app.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func resetAll(_ context: RequestContext) async throws(Failure) -> Int {
    let app = context.app.id
    var (count, last) = (0, BinaryBytes([]))
    while case let page = try await context.read(AttemptLiftQueries.page, app, last, on: .exclusive),
      let next = page.last
    {
      count += try await forget(page.map(\.bytes), context, app)
      last = next
    }
    try await record(count, of: nil, context, app)
    return count
  }

  /// Resets limits; returns how many were used.
  ///
  /// This is no transaction. After a failure, the operator repeats the command.
  @EventLoop private static func forget(
    _ subjects: [[UInt8]], _ context: RequestContext, _ app: AppID
  ) async throws(Failure) -> Int {
    let sorted = subjects.sorted { $0.lexicographicallyPrecedes($1) }
    let calls = sorted.map { PendingQuery(AttemptLiftQueries.forget, app, BinaryBytes($0)) }
    return try await context.write(calls, returning: Int.self).count
  }

  @EventLoop private static func record(
    _ count: Int, of user: UserID?, _ context: RequestContext, _ app: AppID
  ) async throws(Failure) {
    let detail: JSON = ["count": .number(JSONNumber(count))]
    try await Event("rate_limit_reset", of: user, detail: detail).record(app: app, context)
  }
}

/// An address or a device by which a user's attempts may be counted.
struct AttemptIdentity: RowDecodable {
  /// The key of the address by which the user logs in.
  let address: String?
  let device: DeviceID?

  init(from row: Row) throws(DatabaseError) {
    address = row.text(ifAny: 0)
    device = row.text(ifAny: 1).map(DeviceID.init(trusted:))
  }
}

package enum AttemptLiftQueries {
  static let own = Statement<AttemptIdentity, UserID, AppID>(
    "rate_limits.own",
    """
    select subject, null from identities
    where user_id = $1 and app_id = $2 and provider in ('password', 'linked-password', 'email')
    union all
    select null, p.device_id from device_accounts p join users u on u.user_id = p.user_id
    where p.user_id = $1 and u.app_id = $2
    """)

  /// Returns the IP addresses of the newest 1,000 refusals of the past two days.
  ///
  /// Served by `audit_refusals`.
  static let refused = Statement<String, AppID>(
    "rate_limits.refused",
    """
    select distinct host(address) from (
      select address from audit
      where user_id = $1 and action = 'rate_limited' and address is not null
        and event_id > lpad(to_hex(extract(epoch from now() - interval '2 days')::bigint), 8, '0')
      order by event_id desc limit 1000) refusals
    """)

  /// Resets a limit; returns no row if it was not used.
  static let forget = Statement<Int, AppID, BinaryBytes>(
    "rate_limits.forget",
    """
    delete from rate_limits
    where app_id = $1 and subject = $2 and theoretical_arrival_at > now() returning 1
    """)

  /// Returns the subjects of a thousand limits that are used, of all shards, after `$2`.
  ///
  /// Served by the primary key.
  static let page = Statement<BinaryBytes, AppID, BinaryBytes>(
    "rate_limits.page",
    """
    select subject from rate_limits
    where app_id = $1 and subject > $2 and theoretical_arrival_at > now()
    order by subject limit 1000
    """)
}

package enum AttemptQueries {
  /// Counts an attempt against one limit; undoes the transaction if the limit is used up.
  ///
  /// Parallel attempts wait for one another at the row of the subject. Each reads the count that
  /// the attempt before it has written.
  /// - Parameter 3: the time.
  /// - Parameter 4: the cost of one attempt.
  /// - Parameter 5: the time in which all attempts come back.
  static let spend = Statement<Int, AppID, BinaryBytes, ServerTime, Duration, Duration>(
    "rate_limits.spend",
    """
    insert into rate_limits as a (app_id, subject, theoretical_arrival_at)
    values ($1, $2, ($3::timestamptz at time zone 'UTC' + $4::interval) at time zone 'UTC')
    on conflict (app_id, subject) do update
      set theoretical_arrival_at = case when require(greatest(a.theoretical_arrival_at, $3) - $3 + $4 <= $5::interval)
        then (greatest(a.theoretical_arrival_at, $3) at time zone 'UTC' + $4) at time zone 'UTC' end
    returning (extract(epoch from a.theoretical_arrival_at - $3) * 1000000)::bigint
    """)

  /// Returns in how many microseconds all attempts come back; no row if none was counted.
  static let ahead = Statement<Int, AppID, BinaryBytes>(
    "rate_limits.ahead",
    """
    select (extract(epoch from greatest(theoretical_arrival_at, now()) - now()) * 1000000)::bigint
    from rate_limits where app_id = $1 and subject = $2
    """)

  /// Gives an attempt back, and returns the same as `ahead`.
  ///
  /// - Parameter 3: the time.
  /// - Parameter 4: the cost of one attempt.
  static let giveBack = Statement<Int, AppID, BinaryBytes, ServerTime, Duration>(
    "rate_limits.give_back",
    """
    update rate_limits set theoretical_arrival_at = (theoretical_arrival_at at time zone 'UTC' - $4::interval) at time zone 'UTC'
    where app_id = $1 and subject = $2
    returning (extract(epoch from greatest(theoretical_arrival_at, $3::timestamptz) - $3) * 1000000)::bigint
    """)
}

/// Logins that were refused though no password was guessed.
///
/// An attacker cannot guess a token or a key, so these logins are not slowed down. But the limit on
/// a network's failures also limits the audit events that strangers cause.
@EventLoop package enum RefusedLogin {
  /// Records a refused login, unless the network has reached its limit of failures.
  ///
  /// - Parameters:
  ///   - provider: the kind of credential: `jwt`, `api-key`, `client-secret`.
  ///   - user: the owner of the credential; nil if unknown.
  ///   - connection: the name of the connection; nil without one.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  package static func record(
    _ provider: String, of user: UserID? = nil, connection: String? = nil,
    _ context: RequestContext
  ) async throws(Failure) {
    let left = RateLimitSet(RateLimit.ofNetwork(.refused, context), context)
    guard try await left.spendIfLeft(isReported: false) else { return }
    try await Event(loginFailureBy: provider, of: user, connection: connection).record(context)
  }
}
