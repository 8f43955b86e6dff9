package import Accounts
import EventLoop
package import Postgres
package import Runtime

/// The values that the overview of the account page shows of a user, beside the sessions.
package struct AccountSummary: RowDecodable {
  package let profile: Profile
  package let hasPassword: Bool
  /// Whether the user has an identity that is not linked, such as an address.
  package let hasOwnIdentity: Bool
  /// How many identities were linked: of issuers, and further addresses.
  package let linkedIdentities: Int
  package let hasFactor: Bool
  package let recoveryCodesLeft: Int
  /// How many clients have the user's consent.
  package let applications: Int
  package let passkeys: Int

  package init(from row: Row) throws(DatabaseError) {
    profile = try Profile(from: row)
    hasPassword = try row.bool(16)
    hasOwnIdentity = try row.bool(17)
    linkedIdentities = try row.int(18)
    hasFactor = try row.bool(19)
    recoveryCodesLeft = try row.int(20)
    applications = try row.int(21)
    passkeys = try row.int(22)
  }

  /// Whether the user signs in with passkeys only, and has an address that is not verified.
  ///
  /// Without their device, such users cannot come back: a mail would take the account over.
  package var needsVerification: Bool {
    passkeys > 0 && !hasPassword && linkedIdentities == 0 && profile.email != nil
      && !profile.isEmailVerified
  }

  /// Adds the read of a user's summary to a batch; it throws `.sessionEnded`.
  @EventLoop package static func addRead(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<AccountSummary> {
    let place = batch.add(AccountSummaryQueries.read, user, context.principal)
    return { (results) throws(Failure) in try results.first(place).orGone(context) }
  }
}

package enum AccountSummaryQueries {
  /// The identities of the user that are not linked; the names are those of `IdentityProvider`.
  private static let own: SQL =
    "i.provider in ('anonymous', 'password', 'email', 'api-key', 'passkey')"

  /// Returns one row if the session is live.
  ///
  /// Served by the primary keys.
  static let read = Statement<AccountSummary, UserID, Principal>(
    "account_summary.read",
    """
    select \(.profile),
      exists (select 1 from identities i where i.user_id = $1 and i.provider = 'password'),
      exists (select 1 from identities i where i.user_id = $1 and \(own)),
      (select count(*) from identities i where i.user_id = $1 and not \(own)),
      exists (
        select 1 from second_factors f where f.user_id = $1 and f.confirmed_at is not null),
      (select count(*) from recovery_codes r where r.user_id = $1),
      (select count(distinct k.client_id) from consents k where k.user_id = $1),
      (select count(*) from passkeys p where p.user_id = $1)
    from users c where \(.isAuthorized)
    """)
}
