import Delivery
package import Runtime
import JSON
import Sessions
package import EventLoop
package import Postgres

/// The takeover of an unverified account by a person who reads the mail of its address.
///
/// An attacker may have made the account, to wait there for the owner of the address (Sudhodanan and
/// Paverd, "Pre-hijacked accounts", 2022). So all credentials are revoked. The data stays.
@EventLoop package enum Takeover {
  /// Revokes all credentials of a user, marks its address as verified, records it and mails it.
  ///
  /// The transaction has locked the user. A password that the reader of the mail has chosen is set
  /// after this.
  static func run(
    _ account: Account,
    _ address: EmailAddress,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    let user = account.user
    try await revokeAll(of: user, in: transaction, context)
    _ = try await transaction.run(PasswordQueries.remove, user)
    try await Accounts.markVerified(address, of: user, in: transaction, context)
    try await SecurityNotice.takenOver.record(ofReader: user, in: transaction, context)
  }

  /// Revokes the sessions, API keys, linked identities, second factors and places on devices of a
  /// user: all but the password.
  ///
  /// Second factors stay that are older than `time`, in microseconds since 1970.
  static func revokeAll(
    of user: UserID,
    factorsSince time: Int = 0,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    try await Sessions.end(.all, of: user, "account_takeover", in: transaction, context)
    _ = transaction.send(TakeoverQueries.removeFlows, user)
    try await revokeCredentials(of: user, in: transaction, context)
    _ = try await transaction.run(TakeoverQueries.removeFactors, user, time)
  }

  /// Revokes API keys, linked identities, and accounts on devices, and records that.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - app: the app of the user; nil for that of the request.
  ///   - spared: a device on which the user stays; nil for none.
  ///   - transaction: the transaction.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  package static func revokeCredentials(
    of user: UserID,
    app: AppID? = nil,
    sparing spared: DeviceID? = nil,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    let identities = transaction.send(TakeoverQueries.removeIdentities, user)
    _ = transaction.send(TakeoverQueries.removeSubjects, user)
    let devices = transaction.send(TakeoverQueries.leaveDevices, user, spared)
    _ = transaction.send(TakeoverQueries.removeKeys, user)
    let actor = context.principal
    for provider in try await identities.rows() where provider != "anonymous" {
      let place = EventPlace(session: nil, device: nil)
      _ = Event("unlink", of: user, at: place, detail: ["provider": .string(provider)])
        .send(in: transaction, app: app, by: actor, context)
    }
    for device in try await devices.rows() {
      _ = Event("device_remove", of: user, at: EventPlace(session: nil, device: device))
        .send(in: transaction, app: app, by: actor, context)
    }
  }
}

package enum TakeoverQueries {
  static let removeFlows = Statement<NoRow, UserID>(
    "takeover.remove_flows",
    "delete from authentication_flows where user_id = $1"
  )

  /// Deletes the identities without an address, and returns their providers.
  static let removeIdentities = Statement<String, UserID>(
    "takeover.remove_identities",
    """
    delete from identities where user_id = $1 and provider not in ('password', 'email')
    returning provider
    """
  )

  static let removeSubjects = Statement<NoRow, UserID>(
    "takeover.remove_subjects",
    "delete from identity_subjects where user_id = $1 and provider not in ('email', 'auth0')"
  )

  /// - Parameter 2: the device to spare; null for none.
  static let leaveDevices = Statement<DeviceID, UserID, DeviceID?>(
    "takeover.leave_devices",
    """
    delete from device_users where user_id = $1 and ($2::text is null or device_id <> $2)
    returning device_id
    """
  )

  static let removeKeys = Statement<NoRow, UserID>(
    "takeover.remove_keys",
    """
    with keys as (delete from api_keys where user_id = $1)
    update users set version = version + 1, updated_at = now() where user_id = $1
    """
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
    """
  )

  package static let all: [any PreparedStatement] = [
    removeFlows, removeIdentities, removeSubjects, leaveDevices, removeKeys, removeFactors,
  ]
}
