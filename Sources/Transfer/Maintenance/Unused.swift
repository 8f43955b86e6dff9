import Accounts
import EventLoop
import Postgres
import Runtime
import Sessions

/// Unused data: anonymous users without stored data or recent activity, and devices without users.
///
/// No index finds them, so sweeps look at all rows.
@EventLoop final class Unused {
  private let users: Sweep<AnonymousUser>
  private let devices: Sweep<OldDevice>

  /// - Parameter pages: the most pages of each kind that a run looks at.
  init(pages: Int) {
    users = Sweep(UnusedQueries.users, pages: pages)
    devices = Sweep(UnusedQueries.devices, pages: pages)
  }

  /// Deletes unused users, and returns their number.
  func removeUsers(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    try await users.run(database) { (page) async throws(DatabaseError) in
      let stale = page.filter(\.isStale)
      let reads = stale.map { PendingQuery(UnusedQueries.find, $0.user) }
      let found = try await database.answers(to: reads, on: .exclusive)
      for (user, found) in zip(stale, found) where found.count > 0 {
        if try await remove(user, database) { removed += 1 }
      }
    }
    return removed
  }

  /// Deletes a user; returns false if the user is used again.
  private func remove(
    _ user: AnonymousUser, _ database: Database
  ) async throws(DatabaseError) -> Bool {
    try await database.transaction { (transaction) async throws(DatabaseError) in
      // The lock excludes concurrent writes, and the read sees earlier ones.
      _ = transaction.send(UnusedQueries.lock, user.user)
      let subjects = transaction.send(SubjectQueries.ofUser, user.user)
      guard try await transaction.send(UnusedQueries.find, user.user).rows().first != nil else {
        return false
      }
      // An import may have given a foreign id to a guest.
      for subject in try await subjects.rows().sorted() {
        let (provider, name) = (subject.provider, subject.name)
        _ = transaction.send(SubjectQueries.release, user.app, provider, name, user.user)
      }
      _ = transaction.send(UserRemovalQueries.remove, user.user)
      _ = transaction.send(
        EventQueries.record, user.user.text, EventID(), user.app, "user_delete", "system", nil, nil,
        nil, nil, TextBytes(Array(#"{"reason": "unused"}"#.utf8))
      )
      return true
    }
  }

  /// Deletes unused devices, and returns their number.
  ///
  /// A device may list users who have no account there any more.
  func removeDevices(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    try await devices.run(database) { (page) async throws(DatabaseError) in
      let old = page.compactMap { device in device.list.map { (device.id, $0) } }
      let listed = old.flatMap { device, list in
        DeviceState.users(in: list).map { (user: $0.text, device: device) }
      }
      let used = Set(
        try await database.write(
          UnusedQueries.deviceAccounts, TextArray(listed.map(\.user)),
          TextArray(listed.map(\.device))
        )
      )
      for (device, list) in old where !used.contains(device) {
        removed += try await database.write(UnusedQueries.removeDevice, device, list).count
      }
    }
    return removed
  }
}
