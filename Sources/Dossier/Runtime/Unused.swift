import EventLoop
import Postgres

/// What nobody would miss: anonymous users who have stored nothing and were not seen for long, and
/// devices that nobody is on.
///
/// No index tells these from those in use, so all are looked at, a page at a time: a statement takes far less than it may.
enum Unused {
  /// Returns how many users went.
  @EventLoop static func removeUsers(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    var place = UnusedUsers()
    while let page = try await database.write(UnusedQueries.users, place.app, place.user).first {
      place = page
      guard !page.unused.isEmpty else { continue }
      removed += try await database.transaction { (transaction) async throws(DatabaseError) in
        // Nobody writes for a user who is locked, and what was written before is looked at again.
        _ = try await transaction.run(UnusedQueries.lock, page.unused)
        return try await transaction.run(UnusedQueries.removeUsers, page.unused).first ?? 0
      }
    }
    return removed
  }

  /// Returns how many devices went.
  @EventLoop static func removeDevices(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    var place = ""
    while let page = try await database.write(UnusedQueries.devices, place).first {
      place = page.last
      removed += page.removed
    }
    return removed
  }
}
