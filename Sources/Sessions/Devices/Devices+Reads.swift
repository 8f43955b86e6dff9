import EventLoop
import Postgres
import Runtime

/// The reads of a device and of its users.
extension Devices {
  @EventLoop static func known(_ context: RequestContext) throws(Failure) -> DeviceCredential {
    guard let proof = context.device else { throw .deviceUnknown }
    return proof
  }

  @EventLoop static func read(
    _ proof: DeviceCredential, _ context: RequestContext
  ) -> PendingQuery {
    let hash = proof.secret.hash(context.keys.master)
    return PendingQuery(DevicesQueries.record, proof.id, context.app.id, hash)
  }

  @EventLoop static func read(
    _ user: UserID, on device: DeviceID, _ context: RequestContext
  ) -> PendingQuery {
    let isRequired = context.app.sessionSettings.mfa == .required
    return PendingQuery(DevicesQueries.user, user, device, isRequired)
  }

  @EventLoop static func send(
    _ statement: Statement<DeviceRecord, DeviceID, AppID, BinaryBytes>, _ proof: DeviceCredential,
    in transaction: Transaction
  ) -> Sent<DeviceRecord> {
    let hash = proof.secret.hash(transaction.context.keys.master)
    return transaction.send(statement, proof.id, transaction.app.id, hash)
  }

  /// Locks the device of a valid credential and returns it; throws `.deviceUnknown`.
  @EventLoop static func use(
    _ proof: DeviceCredential, in transaction: Transaction
  ) async throws(Failure) -> DeviceRecord {
    let used = try await send(DevicesQueries.use, proof, in: transaction).rows()
    guard let record = used.first else { throw .deviceUnknown }
    return record
  }

  /// Returns the users of a locked device.
  @EventLoop static func users(
    of device: DeviceID, _ state: DeviceState, in transaction: Transaction
  ) async throws(Failure) -> DeviceUsers {
    let isRequired = transaction.app.sessionSettings.mfa == .required
    let reads = state.users.map {
      transaction.send(DevicesQueries.user, $0, device, isRequired)
    }
    var users: [DeviceUser] = []
    for read in reads { users += try await read.rows() }
    return DeviceUsers(users, on: state)
  }
}
