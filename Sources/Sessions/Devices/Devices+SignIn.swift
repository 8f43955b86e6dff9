import EventLoop
package import Runtime
import Postgres

/// The device of a sign-in.
extension Devices {
  /// Checks before a login that the device credential is valid and the device has room for the
  /// user.
  ///
  /// `SignIn.complete` checks it again with the device locked. This check runs before the login
  /// creates, counts or mails anything.
  /// - Returns: the device to log in on; nil for a new one, also if the cookie is no longer valid.
  /// - Throws: `.deviceUnknown`, `.deviceFull`, `.databaseUnavailable`.
  @EventLoop package static func admit(
    _ user: UserID, _ context: RequestContext
  ) async throws(Failure) -> DeviceCredential? {
    guard let proof = context.device else {
      guard let bare = context.bareDevice else { return nil }
      // Ids that clients make up create no devices.
      guard let named = bare.named.map(DeviceCredential.init(bare:)),
        let record = try await record(of: named, context), record.isRight,
        try await hasRoom(record, for: user, on: named.id, context)
      else { return DeviceCredential(bare: DeviceID()) }
      return named
    }
    // No record: this server issued the secret, and a restored backup lost it. The login writes it.
    guard let record = try await record(of: proof, context) else { return proof }
    guard record.isRight else {
      guard proof.isCookie else { throw .deviceUnknown }
      return nil
    }
    // Another login has just replaced the secret, perhaps by an attacker who copied this one. The
    // attacker then holds the device, and could switch to a user who logged in there.
    guard record.isCurrent else { return nil }
    guard try await hasRoom(record, for: user, on: proof.id, context) else {
      throw .deviceFull(limit: limit)
    }
    return proof
  }

  /// Returns whether the device has room for this user.
  ///
  /// If it is full, users without an account there leave its list: they were deleted, or revoked
  /// their sessions elsewhere.
  @EventLoop private static func hasRoom(
    _ record: DeviceRecord, for user: UserID, on device: DeviceID, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let others = record.state.users.filter { $0 != user }
    guard others.count >= limit else { return true }
    let calls = others.map { PendingQuery(DevicesQueries.assurance, $0, device) }
    let found = try await context.read(DevicesQueries.assurance, calls, isLatest: true)
    let known = zip(others, found).filter { !$1.isEmpty }.map(\.0)
    guard known.count < limit else { return false }
    _ = try await context.write(
      DevicesQueries.replaceUsers, device, record.state.list, TextArray(known.map(\.text))
    )
    return true
  }

  /// Returns whether a user has logged in on the device before, with more than an API key.
  ///
  /// It takes the same time without a user as for a user who is not on the device.
  @EventLoop package static func knows(
    _ user: UserID?, by assurance: Assurance = .credential, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let proof = context.device, let record = try await record(of: proof, context),
      record.lists(user), let user,
      let known = try await context.first(DevicesQueries.assurance, user, proof.id)
    else { return false }
    return known >= assurance.rawValue
  }

  /// Asks how well a user has authenticated on the client's device, without waiting.
  @EventLoop package static func sendAssurance(
    of user: UserID?, in transaction: Transaction
  ) -> Sent<Int>? {
    guard let user, let proof = transaction.context.device else { return nil }
    return transaction.send(DevicesQueries.assurance, user, proof.id)
  }

  /// Adds the read of the device to a batch, and returns its index; nil without a device.
  @EventLoop package static func addRead(to batch: inout ReadBatch, _ context: RequestContext)
    -> Int?
  {
    context.device.map { batch.add([read($0, context)]).lowerBound }
  }

  /// Returns the record of the client's device, which is read once per request.
  @EventLoop private static func record(
    of proof: DeviceCredential, _ context: RequestContext
  ) async throws(Failure) -> DeviceRecord? {
    if let known = context.deviceRecord { return known }
    let record = try await context.read(DevicesQueries.record, [read(proof, context)])[0].first
    context.deviceRecord = .some(record)
    return record
  }
}
