import Accounts
import EventLoop
package import Outbound
package import Runtime
package import Sessions

extension RateLimits {
  /// Resets the limits on the sign-ins, passwords and mails of an address and of a user.
  ///
  /// - Parameters:
  ///   - email: the address as typed, also of no user; nil for none.
  ///   - user: the user; nil for the user of the address, if any.
  ///   - network: an IP address whose network and site have all their limits reset too.
  ///   - context: the context of the app.
  /// - Returns: how many limits were not full.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func reset(
    ofEmail email: String?, user: UserID? = nil, from network: IPAddress? = nil,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    var (user, key) = (user, String?.none)
    if let email {
      let address = try await EmailAddress(email, context)
      if user == nil { user = try await Accounts.holder(of: address, context) }
      key = address.key
    }
    return try await reset(of: key, user.map { [$0] } ?? [], from: network, context)
  }
}
