package import Runtime
import EventLoop
import JSON
import Encoding
package import Outbound
package import Postgres

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
      networks += try await context.search(AttemptLiftQueries.refused, app)
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
    while case let page = try await context.readLatest(AttemptLiftQueries.page, app, last),
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

  package static let all: [any PreparedStatement] = [own, refused, forget, page]
}
