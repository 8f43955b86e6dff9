import Tenancy
import EventLoop
import JSON
package import Postgres
package import Runtime

extension Sessions {
  /// Revokes API keys, linked identities, and accounts on devices, and records that.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - spared: a device on which the user stays; nil for none.
  ///   - transaction: the transaction.
  /// - Throws: `.databaseUnavailable`.
  package static func revokeCredentials(
    of user: UserID,
    sparing spared: DeviceID? = nil,
    in transaction: Transaction
  ) async throws(Failure) {
    let context = transaction.context
    let identities = transaction.send(CredentialRevocationQueries.removeIdentities, user)
    let devices = transaction.send(CredentialRevocationQueries.leaveDevices, user, spared)
    _ = transaction.send(CredentialRevocationQueries.removeKeys, user)
    let actor = context.principal
    let removed = try await identities.rows()
    let subjects = removed.compactMap { Subject(ofIdentityAt: $0.provider, $0.name) }
    Subjects.release(subjects, of: user, in: transaction)
    for identity in removed where identity.provider != .anonymous {
      let place = EventPlace(session: nil, device: nil)
      Event("unlink", of: user, at: place, detail: ["provider": .string(identity.provider.text)])
        .record(in: transaction, by: actor)
    }
    for device in try await devices.rows() {
      Event("device_remove", of: user, at: EventPlace(session: nil, device: device))
        .record(in: transaction, by: actor)
    }
  }
}

package enum CredentialRevocationQueries {
  /// Deletes and returns the identities without an address.
  static let removeIdentities = Statement<Subject, UserID>(
    "credential_revocations.remove_identities",
    """
    delete from identities where user_id = $1 and provider not in ('password', 'email')
    returning provider, subject
    """
  )

  /// - Parameter 2: the device to spare; null for none.
  static let leaveDevices = Statement<DeviceID, UserID, DeviceID?>(
    "credential_revocations.leave_devices",
    """
    delete from device_accounts where user_id = $1 and ($2::text is null or device_id <> $2)
    returning device_id
    """
  )

  static let removeKeys = Statement<NoRow, UserID>(
    "credential_revocations.remove_keys",
    """
    with keys as (delete from api_keys where user_id = $1)
    update users set version = version + 1, updated_at = now() where user_id = $1
    """
  )

  package static let all: [any PreparedStatement] = [
    removeIdentities, leaveDevices, removeKeys,
  ]
}
