import Imaging
import Accounts
package import Runtime
package import Tenancy
import EventLoop
import JSON
import Postgres

extension Apps {
  /// Deletes an app with its users and all its data, including its audit events.
  ///
  /// It deletes the users first, a hundred at a time, and can be repeated after an interruption.
  /// Workers serve the app a moment longer. It therefore waits for `age`, and then deletes the
  /// users that they have created since.
  /// - Parameters:
  ///   - app: the app.
  ///   - age: how long a worker may serve an app that has changed.
  ///   - context: the context of the request.
  ///   - progress: receives the number of users deleted so far.
  /// - Returns: the number of deleted users.
  /// - Throws: `.appReserved` for the app of administrators, `.databaseUnavailable`.
  package static func delete(
    _ app: AppRecord, known age: Duration, _ context: RequestContext,
    _ progress: @EventLoop (Int) -> Void
  ) async throws(Failure) -> Int {
    guard app.id != .operators else { throw .appReserved }
    var count = try await deleteUsers(of: app.id, 0, context, progress)
    try await context.transaction { [count] transaction async throws(Failure) in
      _ = transaction.send(AppsDeletionQueries.deleteIndexes, app.id)
      _ = transaction.send(AppsDeletionQueries.deleteImports, app.id)
      // The maintenance deletes their parts.
      _ = transaction.send(AppsDeletionQueries.deleteJobs, app.id)
      _ = transaction.send(AppsDeletionQueries.delete, app.id)
      Event(
        "app_delete", detail: ["name": .string(app.name), "users": .number(JSONNumber(count))]
      ).record(in: transaction, app: .deployment)
    }
    await EventLoop.sleep(for: age)
    count = try await deleteUsers(of: app.id, count, context, progress)
    while case let events = try await context.read(
      AppsDeletionQueries.events, app.id, on: .exclusive),
      !events.isEmpty
    {
      let removed = try await context.write(
        events.sorted().map { PendingQuery(MaintenanceQueries.removeEvent, $0.key, $0.rest) },
        returning: Int.self
      )
      // If none was removed, another request removes them.
      if removed.isEmpty { break }
    }
    return count
  }

  /// Deletes the users of an app, and then the subjects, which no user needs any more.
  private static func deleteUsers(
    of app: AppID, _ before: Int, _ context: RequestContext, _ progress: @EventLoop (Int) -> Void
  ) async throws(Failure) -> Int {
    var count = before
    while case let users = try await context.read(AppsDeletionQueries.users, app, on: .exclusive),
      !users.isEmpty
    {
      let gone = try await context.write(
        users.map { PendingQuery(UserRemovalQueries.remove, $0) }, returning: ReplacedPicture.self
      )
      for user in gone { await context.pictures.shelf.forget(user.name) }
      count += gone.count
      progress(count)
    }
    while case let subjects = try await context.read(
      AppsDeletionQueries.subjects, app, on: .exclusive),
      !subjects.isEmpty
    {
      try await context.write(
        subjects.map { PendingQuery(AppsDeletionQueries.deleteSubject, app, $0.rest, $0.key) }
      )
    }
    return count
  }
}

package enum AppsDeletionQueries {
  /// Returns a hundred users of an app, of all shards.
  ///
  /// Served by `users_by_app`.
  static let users = Statement<UserID, AppID>(
    "apps.users", "select user_id from users where app_id = $1 order by user_id limit 100"
  )

  /// Returns the keys of a thousand subjects of an app, of all shards.
  ///
  /// Served by the primary key.
  static let subjects = Statement<RowKey, AppID>(
    "apps.subjects",
    """
    select subject, provider from identity_subjects where app_id = $1
    order by provider, subject limit 1000
    """)

  static let deleteSubject = Statement<NoRow, AppID, String, String>(
    "apps.delete_subject",
    "delete from identity_subjects where app_id = $1 and provider = $2 and subject = $3"
  )

  static let deleteIndexes = Statement<NoRow, AppID>(
    "apps.delete_indexes", "delete from search_indexes where app_id = $1"
  )

  static let deleteImports = Statement<NoRow, AppID>(
    "apps.delete_imports", "delete from imports where app_id = $1"
  )

  static let deleteJobs = Statement<NoRow, AppID>(
    "apps.delete_jobs", "delete from jobs where app_id = $1"
  )

  /// Deletes an app with the rows that refer to it.
  ///
  /// The maintenance deletes the devices without users, and rate limits when they have recovered.
  static let delete = Statement<NoRow, AppID>("apps.delete", "delete from apps where app_id = $1")

  /// Returns the keys of a thousand audit events of an app, of all shards.
  ///
  /// Served by `audit_by_app`.
  static let events = Statement<RowKey, AppID>(
    "apps.events",
    "select user_id, event_id from audit where app_id = $1 order by event_id limit 1000"
  )
}
