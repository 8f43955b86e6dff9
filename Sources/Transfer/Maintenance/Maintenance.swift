package import EventLoop
package import Postgres

/// Deletes expired data: pages of the keys of rows, and then each row by its key.
///
/// No statement locks rows of several keys, which a distributed database has on several nodes.
@EventLoop package final class Maintenance {
  private let database: Database
  private let unused: Unused

  /// - Parameters:
  ///   - database: the database.
  ///   - pages: the most pages of a thousand guests, and of a thousand devices, that a run looks
  ///     at. The next run continues there.
  package init(_ database: Database, pages: Int = 500) {
    self.database = database
    unused = Unused(pages: pages)
  }

  /// Deletes all data that has expired.
  ///
  /// Several runs may overlap; none blocks another for long. A task that fails stops no other task;
  /// the rows that it deleted before stay deleted.
  package func run() async -> MaintenanceReport {
    var report = MaintenanceReport()
    for rows in ExpiredRows.all {
      await report.run("\(rows.deletion.name)") { () async throws(DatabaseError) in
        try await remove(by: rows.deletion) { () async throws(DatabaseError) in
          try await database.write(rows.page)
        }
      }
    }
    for statement in MaintenanceQueries.local {
      await report.run("\(statement.name)") { () async throws(DatabaseError) in
        try await database.write(statement).count
      }
    }
    var apps: [AppRetention] = []
    await report.run("maintenance.apps") { () async throws(DatabaseError) in
      apps = try await database.write(MaintenanceQueries.apps)
      return 0
    }
    for app in apps {
      await report.run("maintenance.audit") { () async throws(DatabaseError) in
        try await removeEvents(of: app)
      }
      await report.run("maintenance.document_versions") { () async throws(DatabaseError) in
        try await trimVersions(of: app)
      }
    }
    await report.run("maintenance.anonymous") { () async throws(DatabaseError) in
      try await unused.removeUsers(database)
    }
    await report.run("maintenance.devices") { () async throws(DatabaseError) in
      try await unused.removeDevices(database)
    }
    return report
  }

  /// Deletes the rows of pages by their keys, and returns their number.
  private func remove(
    by deletion: Statement<Int, String, String>,
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
  private func removeEvents(of app: AppRetention) async throws(DatabaseError) -> Int {
    var count = try await remove(by: MaintenanceQueries.removeEvent) {
      () async throws(DatabaseError) in
      try await database.write(MaintenanceQueries.oldEvents, app.id, app.firstEvent)
    }
    guard let first = app.firstOwnChange else { return count }
    count += try await remove(by: MaintenanceQueries.removeEvent) {
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
  private func trimVersions(of app: AppRetention) async throws(DatabaseError) -> Int {
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

/// The result of a run of the maintenance.
package struct MaintenanceReport: Sendable {
  /// The numbers of deleted rows, by the task; only tasks that deleted some.
  package private(set) var removed: [String: Int] = [:]
  /// The errors of the tasks that failed.
  package private(set) var faults: Set<String> = []

  /// Runs a task that deletes rows, and notes their number or its error.
  @EventLoop fileprivate mutating func run(
    _ task: String, _ body: @EventLoop () async throws(DatabaseError) -> Int
  ) async {
    do throws(DatabaseError) {
      let count = try await body()
      if count > 0 { removed[task, default: 0] += count }
    } catch {
      faults.insert("\(task): \(error)")
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
