import Delivery
package import EventLoop
import Postgres
package import Runtime

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
    let found = try await context.read(DevicesQueries.assurance, calls, on: .exclusive)
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
}

/// The choice of the next active user of a device, after its active user logs out.
package enum NextActive: String, CaseIterable, Sendable {
  /// The logged-in user who logged in, or was chosen, last.
  case mostRecent = "most_recent"
  case none
}

/// The facts that a request has read of its device; most requests name no device.
@EventLoop private final class RequestDeviceRecord: RequestPart {
  var record: DeviceRecord??
  var users: (listed: ListedUsers, change: Int)?
}

/// The users of the device of a request, as they were before the request has written.
struct ListedUsers {
  /// Whether they were read on the lane of writes.
  let isLatest: Bool
  /// Nil if the credential of the device is not valid.
  let users: [DeviceUser]?
}

extension RequestContext {
  /// The record of the request's device; nil until it is read.
  package var deviceRecord: DeviceRecord?? {
    get { part(RequestDeviceRecord.self)?.record ?? nil }
    set { ownDeviceRecord.record = newValue }
  }

  /// The users of that device; nil until they are read, for another device, and after a write.
  var listedUsers: ListedUsers? {
    get {
      guard !hasWritten, let users = part(RequestDeviceRecord.self)?.users,
        users.change == deviceChanges
      else { return nil }
      return users.listed
    }
    set { if !hasWritten { ownDeviceRecord.users = newValue.map { ($0, deviceChanges) } } }
  }

  private var ownDeviceRecord: RequestDeviceRecord {
    if let known = part(RequestDeviceRecord.self) { return known }
    let part = RequestDeviceRecord()
    keep(part)
    return part
  }
}

/// The networks from which users have signed in.
///
/// A network is weaker evidence than a device, so it proves nothing. It only has limits of its own:
/// strangers elsewhere cannot use them up. Clients without a device need this.
package enum KnownNetworks {
  /// Returns whether a user has signed in from the client's network, with more than an API key.
  ///
  /// A session that was revoked does not count, since an attacker may have had it. It takes the same
  /// time without a user.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func has(
    _ user: UserID?, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let address = context.address.text else { return false }
    return try await context.first(KnownNetworkQueries.has, user ?? UserID(), address) == true
  }
}

package enum KnownNetworkQueries {
  /// Returns whether one of the newest 200 sessions of a user began in the network of an address.
  ///
  /// Served by the primary key.
  /// - Parameter 2: the address. The network is the one of `IPAddress.network`.
  static let has = Statement<Bool, UserID, String>(
    "known_networks.has",
    """
    select exists (
      select 1 from (
        select address, provider, ended_at, end_reason from sessions
        where user_id = $1 order by session_id desc limit 200) s
      where s.provider <> 'api-key' and (s.ended_at is null or s.end_reason in ('logout', 'login'))
        and s.address <<= network(set_masklen($2::inet, case family($2::inet) when 4 then 32 else 64 end)))
    """)
}
