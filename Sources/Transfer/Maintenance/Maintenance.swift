package import Runtime
package import EventLoop
package import Postgres

/// Deletes expired data: pages of the keys of rows, and then each row by its key.
///
/// No statement locks rows of several keys, which a distributed database has on several nodes.
@EventLoop package enum Maintenance {
  /// Deletes all data that has expired.
  ///
  /// Several runs may overlap; none blocks another for long.
  /// - Returns: the numbers of deleted rows, by the statement's name.
  /// - Throws: `.databaseUnavailable`; the rows deleted before stay deleted.
  package static func run(_ database: Database) async throws(Failure) -> [String: Int] {
    var removed: [String: Int] = [:]
    do throws(DatabaseError) {
      for rows in ExpiredRows.all {
        removed["\(rows.deletion.name)"] = try await remove(by: rows.deletion, database) {
          () async throws(DatabaseError) in try await database.write(rows.page)
        }
      }
      for statement in MaintenanceQueries.local {
        removed["\(statement.name)"] = try await database.write(statement).count
      }
      for app in try await database.write(MaintenanceQueries.apps) {
        removed["maintenance.audit", default: 0] += try await removeEvents(of: app, database)
        removed["maintenance.document_versions", default: 0] += try await trimVersions(
          of: app,
          database
        )
      }
      removed["maintenance.anonymous"] = try await Unused.removeUsers(database)
      removed["maintenance.devices"] = try await Unused.removeDevices(database)
    } catch {
      throw Failure(error)
    }
    return removed
  }

  /// Deletes the rows of pages by their keys, and returns their number.
  private static func remove(
    by deletion: Statement<Int, String, String>,
    _ database: Database,
    _ page: @EventLoop () async throws(DatabaseError) -> [RowKey]
  ) async throws(DatabaseError) -> Int {
    var count = 0
    while true {
      let keys = try await page().sorted()
      let calls = keys.map { PendingQuery(deletion, $0.key, $0.rest) }
      let removed = try await database.write(calls, returning: Int.self).count
      count += removed
      // If none was removed, another run removes them, or the clocks of two nodes differ.
      guard keys.count == MaintenanceQueries.batch, removed > 0 else { return count }
    }
  }

  /// Deletes events that are older than the settings of an app.
  private static func removeEvents(
    of app: AppRetention,
    _ database: Database
  ) async throws(DatabaseError) -> Int {
    var count = try await remove(by: MaintenanceQueries.removeEvent, database) {
      () async throws(DatabaseError) in
      try await database.write(MaintenanceQueries.oldEvents, app.id, app.firstEvent)
    }
    guard let first = app.firstOwnChange else { return count }
    count += try await remove(by: MaintenanceQueries.removeEvent, database) {
      () async throws(DatabaseError) in
      try await database.write(MaintenanceQueries.oldChanges, app.id, first)
    }
    return count
  }

  /// Deletes document versions beyond the number that an app keeps; writes do the same for their
  /// document.
  ///
  /// The newest version of a document with too many was written when the app kept more. Each such
  /// document is therefore trimmed as a whole, and its remaining versions are marked.
  private static func trimVersions(
    of app: AppRetention,
    _ database: Database
  ) async throws(DatabaseError) -> Int {
    guard let kept = app.versionsKept else { return 0 }
    var count = 0
    while true {
      let found = try await database.write(MaintenanceQueries.excessVersions, app.id, kept)
      for document in Set(found).sorted() {
        count += try await database.transaction { (transaction) async throws(DatabaseError) in
          let (user, kind) = (document.key, document.rest)
          // The lock excludes the writers of the document.
          _ = transaction.send(MaintenanceQueries.lockDocument, user, kind)
          let gone = transaction.send(MaintenanceQueries.trimVersions, user, kind, kept)
          _ = transaction.send(MaintenanceQueries.markVersions, user, kind, kept)
          transaction.sendCommit()
          return try await gone.rows().count
        }
      }
      guard found.count == MaintenanceQueries.batch else { return count }
    }
  }
}

/// The key of a row: the column that distributes its table, and the rest.
struct RowKey: RowDecodable, Hashable, Comparable {
  let key: String
  let rest: String

  init(from row: Row) throws(DatabaseError) {
    key = try row.text(0)
    rest = try row.text(1)
  }

  static func < (one: RowKey, other: RowKey) -> Bool {
    (one.key, one.rest) < (other.key, other.rest)
  }
}

/// The limits of the data that an app keeps.
struct AppRetention: RowDecodable {
  let id: String
  /// The ids of older events are less.
  let firstEvent: String
  /// The same for users' changes of their own data; nil for the deployment.
  let firstOwnChange: String?
  /// The number of versions of a document; nil for the deployment.
  let versionsKept: Int?

  init(from row: Row) throws(DatabaseError) {
    id = try row.text(0)
    firstEvent = try row.text(1)
    firstOwnChange = row.text(ifAny: 2)
    versionsKept = try row.int(ifAny: 3)
  }
}
