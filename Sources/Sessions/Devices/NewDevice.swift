import Delivery
package import EventLoop
package import Postgres
package import Runtime

/// The mail about a sign-in on a device that is new to the user.
@EventLoop package enum NewDevice {
  /// Queues the mail if the app wants it and the user has signed in elsewhere before.
  ///
  /// An API key gets none: a program with a key is on a new device each time.
  package static func tell(
    _ credential: VerifiedCredential, on device: DeviceID?, in transaction: Transaction
  ) async throws(Failure) {
    guard transaction.app.mailSettings.tellsNewDevices, credential.apiKey == nil else { return }
    let found = try await transaction.run(
      NewDeviceQueries.isNew, credential.user, device ?? DeviceID()
    )
    guard !found.isEmpty else { return }
    try await SecurityNotice.signedIn.notice(of: credential.user, in: transaction)
      .queue(in: transaction)
  }
}

package enum NewDeviceQueries {
  /// Returns a row if the user has been on other devices, but not on this one.
  ///
  /// Served by the primary key.
  static let isNew = Statement<Int, UserID, DeviceID>(
    "devices.is_new",
    """
    select count(*) from device_accounts where user_id = $1
    having count(*) > 0 and not bool_or(device_id = $2)
    """)

  package static let all: [any PreparedStatement] = [isNew]
}
