import Delivery
package import Runtime
import Sessions
package import EventLoop
import Postgres

/// The takeover of an unverified account by the reader of the mail of its address, or by a back end
/// that verifies the address.
///
/// An attacker may have made the account, to wait there for the owner of the address (Sudhodanan and
/// Paverd, "Pre-hijacked accounts", 2022). So all credentials are revoked. The data stays.
@EventLoop package enum Takeover {
  /// Revokes all credentials of a user, marks its address as verified, records it and mails it.
  ///
  /// The transaction has locked the user. A password that the reader of the mail has chosen is set
  /// after this.
  package static func run(
    of user: UserID, _ address: EmailAddress, in transaction: Transaction
  ) async throws(Failure) {
    try await revokeAll(of: user, in: transaction)
    _ = transaction.send(PasswordQueries.remove, user)
    _ = transaction.send(MailTokenQueries.removeRestores, user)
    try await Accounts.markVerified(address, of: user, in: transaction)
    try await SecurityNotice.takenOver.record(of: user, in: transaction)
  }

  /// Revokes the sessions, API keys, passkeys, linked identities, second factors, consents and places on
  /// devices of a user: all but the password.
  ///
  /// Second factors stay that are older than `time`, in microseconds since 1970.
  static func revokeAll(
    of user: UserID, factorsSince time: Int = 0, in transaction: Transaction
  ) async throws(Failure) {
    try await Sessions.end(.all, of: user, "account_takeover", in: transaction)
    _ = transaction.send(TakeoverQueries.removeFlows, user)
    _ = transaction.send(TakeoverQueries.removeConsents, user)
    try await Sessions.revokeCredentials(of: user, in: transaction)
    _ = transaction.send(TakeoverQueries.removeFactors, user, time)
  }
}

package enum TakeoverQueries {
  /// Used passkey ceremonies stay, so that none is used twice.
  static let removeFlows = Statement<NoRow, UserID>(
    "takeover.remove_flows",
    "delete from authentication_flows where place = $1 and purpose <> 'passkey'"
  )

  static let removeConsents = Statement<NoRow, UserID>(
    "takeover.remove_consents", "delete from consents where user_id = $1"
  )

  /// Removes second factors that were confirmed, and recovery codes that were made, since a time.
  static let removeFactors = Statement<NoRow, UserID, Int>(
    "takeover.remove_factors",
    """
    with codes as (
      delete from recovery_codes
      where user_id = $1 and created_at >= to_timestamp($2::bigint / 1000000.0)
    )
    delete from second_factors
    where user_id = $1
      and coalesce(confirmed_at, created_at) >= to_timestamp($2::bigint / 1000000.0)
    """)
}
