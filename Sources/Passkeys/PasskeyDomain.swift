import EventLoop
package import JSON
import Postgres
package import Runtime
import Tenancy

/// The domain for which an app has passkeys made: its RP ID.
extension Passkeys {
  /// The greatest number of passkeys that a refusal tells.
  private nonisolated static let mostCounted = 1_000

  /// Refuses a change of the domain while the app has passkeys for it, which would work no longer.
  ///
  /// - Parameters:
  ///   - settings: a merge patch of the settings; faults are for the change itself.
  ///   - name: the name of the app.
  ///   - context: the context of the request.
  /// - Throws: `.passkeyDomainInUse` with their number, `.unknownApp`, `.databaseUnavailable`.
  package static func requireSameDomain(
    after settings: JSONObject, of name: String, _ context: RequestContext
  ) async throws(Failure) {
    guard let new = settings["passkey_rp_id"], new == .null || new.string != nil else { return }
    let app = try await Apps.record(of: name, context).app
    let domain = app.passkeySettings.relyingPartyID
    guard !domain.isEmpty, !domain.hasSameBytes(as: new.string ?? "") else { return }
    let found =
      try await context.read(
        PasskeyDomainQueries.count, app.id, domain, mostCounted, on: .search
      ).first ?? 0
    guard found > 0 else { return }
    let number = found < mostCounted ? "\(found)" : "at least \(mostCounted)"
    throw .passkeyDomainInUse(
      "The app has passkeys for \(domain): \(number). \(Failure.passkeyDomainInUse.explanation)",
      members: [("passkeys", .number(JSONNumber(found)))])
  }
}

package enum PasskeyDomainQueries {
  /// Counts the passkeys of an app for a domain.
  ///
  /// Asks all shards, once; rare.
  /// - Parameter 3: the greatest number that it counts to.
  static let count = Statement<Int, AppID, String, Int>(
    "passkey_domain.count",
    """
    select count(*) from (
      select 1 from passkeys p
      join identities i on i.user_id = p.user_id and i.identity_id = p.passkey_id
      where i.app_id = $1 and p.rp_id = $2
      limit $3) found
    """)
}
