import EventLoop
import Postgres
package import Runtime

extension Devices {
  /// Removes a user who is deleted from the lists of the user's devices.
  ///
  /// The maintenance does the same for all devices, and so also for those that this leaves out.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func forget(
    _ user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    for device in try await transaction.run(DeviceListQueries.ofUser, user) {
      _ = transaction.send(DevicesQueries.removeUser, device, user)
    }
  }
}

package enum DeviceListQueries {
  /// Returns the devices on which a user has an account; of very many, the others come later.
  ///
  /// Served by the primary key.
  static let ofUser = Statement<DeviceID, UserID>(
    "devices.of_user",
    "select device_id from device_accounts where user_id = $1 order by device_id limit 1000"
  )
}
