import EventLoop
import Postgres
import Runtime

/// Unused data: anonymous users without stored data or recent activity, and devices without users.
///
/// No index finds them, so each run scans all of them in pages. A page takes far less than the
/// statement timeout.
enum Unused {
  /// Deletes unused users, and returns their number.
  @EventLoop static func removeUsers(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    var place = UnusedUsers()
    while let page = try await database.write(UnusedQueries.users, place.app, place.user).first {
      place = page
      guard !page.unused.isEmpty else { continue }
      removed += try await database.transaction { (transaction) async throws(DatabaseError) in
        // The lock excludes concurrent writes, and the deletion checks earlier ones.
        _ = try await transaction.run(UnusedQueries.lock, page.unused)
        let users = try await transaction.run(UnusedQueries.removeUsers, page.unused)
        for user in users {
          _ = transaction.send(
            EventQueries.record,
            user.user.text,
            EventID(),
            user.app,
            "user_delete",
            "system",
            nil,
            nil,
            nil,
            nil,
            TextBytes(Array(#"{"reason": "unused"}"#.utf8))
          )
        }
        return users.count
      }
    }
    return removed
  }

  /// Deletes unused devices, and returns their number.
  ///
  /// A device may list users who have no account there any more.
  @EventLoop static func removeDevices(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    var place = ""
    while true {
      let page = try await database.write(UnusedQueries.devices, place)
      guard let last = page.last else { return removed }
      place = last.device
      let old = page.compactMap { device in device.list.map { (device.device, $0) } }
      let listed = old.flatMap { device, list in
        list.split { "{,}".contains($0) }.map { (user: String($0), device: device) }
      }
      let used = Set(
        try await database.write(
          UnusedQueries.deviceAccounts,
          "{\(listed.map(\.user).joined(separator: ","))}",
          "{\(listed.map(\.device).joined(separator: ","))}"
        )
      )
      for (device, list) in old where !used.contains(device) {
        removed += try await database.write(UnusedQueries.removeDevice, device, list).count
      }
    }
  }
}
