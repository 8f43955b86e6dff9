import Encoding
import EventLoop
import JSON
import Postgres
package import Runtime

/// A rate limit that has refused attempts lately.
package struct ThrottledCaller: Sendable {
  /// The name of the limit, as header fields have it.
  package let limit: String
  /// An address of the network.
  package let network: String
  package let refusedAt: Timestamp
  /// When attempts are possible again, at the latest.
  package let endsAt: Timestamp
}

extension RateLimits {
  /// Returns the limits of an app that refuse attempts now, the last refusal first.
  ///
  /// Attempts are counted under keyed hashes, which no list can show. So this reads the newest 1,000
  /// refusals of the past two days, which are recorded once in the window of a limit. A limit of a
  /// network is then read itself. A limit of an identifier counts until its window has passed.
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func throttled(
    _ context: RequestContext
  ) async throws(Failure) -> [ThrottledCaller] {
    let app = context.app.id
    let refusals = try await context.read(ThrottledQueries.refusals, app, on: .search)
    let now = Timestamp.now
    var found: [ThrottledCaller] = []
    var exact: [(refusal: Refusal, limit: RateLimit)] = []
    for refusal in refusals {
      if let limit = limit(of: refusal, context) {
        exact.append((refusal, limit))
        continue
      }
      let end = refusal.at.after(window(of: refusal.limit, context))
      guard end.microseconds > now.microseconds else { continue }
      found.append(refusal.caller(until: end))
    }
    let calls = exact.map { PendingQuery(AttemptQueries.ahead, app, $0.limit.subject) }
    for ((refusal, limit), rows) in zip(exact, try await context.read(AttemptQueries.ahead, calls))
    {
      guard let ahead = rows.first, limit.isUsedUp(ahead) else { continue }
      found.append(refusal.caller(until: now.after(limit.wait(ahead))))
    }
    return found.sorted { $0.refusedAt.microseconds > $1.refusedAt.microseconds }
  }

  /// Returns the limit of the network of a refusal; nil for a limit of an identifier.
  @EventLoop private static func limit(
    of refusal: Refusal, _ context: RequestContext
  ) -> RateLimit? {
    let there = RequestContext(context.dependencies, app: context.app)
    there.address = ClientAddress(refusal.network)
    for purpose in AttemptPurpose.allCases
    where [purpose.ofNetwork, purpose.ofSite].contains(refusal.limit) {
      return RateLimit.ofNetwork(purpose, there).first {
        $0.name.utf8.elementsEqual(refusal.limit.utf8)
      }
    }
    return nil
  }

  @EventLoop private static func window(of limit: String, _ context: RequestContext) -> Duration {
    if limit.hasSuffix("-daily") { return .seconds(86_400) }
    return max(.seconds(3_600), context.app.limitSettings.failureWindow)
  }
}

extension Timestamp {
  fileprivate func after(_ duration: Duration) -> Timestamp {
    Timestamp(microseconds: microseconds + duration.wholeSeconds * 1_000_000)
  }
}

/// The last refusal by a limit in a network.
struct Refusal: RowDecodable {
  let limit: String
  let network: String
  let at: Timestamp

  init(from row: Row) throws(DatabaseError) {
    limit = try row.text(0)
    network = try row.text(1)
    at = try row.time(2)
  }

  func caller(until end: Timestamp) -> ThrottledCaller {
    ThrottledCaller(limit: limit, network: network, refusedAt: at, endsAt: end)
  }
}

package enum ThrottledQueries {
  /// Returns the last refusal of each limit and address, of the newest 1,000 of the past two days.
  ///
  /// Served by `audit_refusals`.
  static let refusals = Statement<Refusal, AppID>(
    "rate_limits.refusals",
    """
    select guard, host(address), max(at) from (
      select detail ->> 'guard' as guard, address, at from audit
      where user_id = $1 and action = 'rate_limited' and address is not null
        and detail ->> 'guard' is not null
        and event_id > lpad(to_hex(extract(epoch from now() - interval '2 days')::bigint), 8, '0')
      order by event_id desc limit 1000) refusals
    group by guard, address
    """)
}
