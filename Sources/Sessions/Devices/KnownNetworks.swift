import EventLoop
package import Postgres
package import Runtime

/// The networks from which users have signed in.
///
/// A network is weaker evidence than a device, so it proves nothing. It only has limits of its own:
/// strangers elsewhere cannot use them up. Clients without a device need this.
package enum KnownNetworks {
  /// Returns whether a user has signed in from the client's network, with more than an API key.
  ///
  /// A session that was revoked does not count, since an attacker may have had it. It takes the same
  /// time without a user.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func has(
    _ user: UserID?, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let address = context.address.text else { return false }
    return try await context.first(KnownNetworkQueries.has, user ?? UserID(), address) == true
  }
}

package enum KnownNetworkQueries {
  /// Returns whether one of the newest 200 sessions of a user began in the network of an address.
  ///
  /// Served by the primary key.
  /// - Parameter 2: the address. The network is the one of `IPAddress.network`.
  static let has = Statement<Bool, UserID, String>(
    "known_networks.has",
    """
    select exists (
      select 1 from (
        select address, key_id, ended_at, end_reason from sessions
        where user_id = $1 order by session_id desc limit 200) s
      where s.key_id is null and (s.ended_at is null or s.end_reason in ('logout', 'login'))
        and s.address <<= network(set_masklen($2::inet, case family($2::inet) when 4 then 32 else 64 end)))
    """)

  package static let all: [any PreparedStatement] = [has]
}
