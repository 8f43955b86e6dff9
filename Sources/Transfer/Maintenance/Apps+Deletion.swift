import Imaging
import Accounts
package import Runtime
package import Tenancy
import EventLoop
import JSON
package import Postgres

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
  /// - Throws: `.databaseUnavailable`.
  package static func delete(
    _ app: AppRecord,
    known age: Duration,
    _ context: RequestContext,
    _ progress: @EventLoop (Int) -> Void
  ) async throws(Failure) -> Int {
    var count = try await deleteUsers(of: app.id, 0, context, progress)
    try await context.transaction { [count] transaction async throws(Failure) in
      _ = try await transaction.run(AppsDeletionQueries.delete, app.id)
      try await Event(
        "app_delete",
        detail: ["name": .string(app.name), "users": .number(JSONNumber(count))]
      ).record(in: transaction, app: .deployment, context)
    }
    await EventLoop.sleep(for: age)
    count = try await deleteUsers(of: app.id, count, context, progress)
    while try await context.write(AppsDeletionQueries.deleteTrail, app.id).first != 0 {}
    return count
  }

  private static func deleteUsers(
    of app: AppID,
    _ before: Int,
    _ context: RequestContext,
    _ progress: @EventLoop (Int) -> Void
  ) async throws(Failure) -> Int {
    var count = before
    while true {
      let gone = try await context.write(AppsDeletionQueries.deleteUsers, app)
      guard !gone.isEmpty else { return count }
      for user in gone { await context.pictures.shelf.forget(user.name) }
      count += gone.count
      progress(count)
    }
  }
}

package enum AppsDeletionQueries {
  /// Deletes the next hundred users of an app, and returns a row for each, with its picture.
  ///
  /// `Users.remove` records an event for each, which is deleted with the app.
  ///
  /// Served by `users_by_app`.
  static let deleteUsers = Statement<ReplacedPicture, AppID>(
    "apps.delete_users",
    """
    with batch as (
      select user_id from users where app_id = $1 order by user_id limit 100
    ), subjects as (
      delete from identity_subjects s using batch b where s.user_id = b.user_id
    ), answers as (
      delete from idempotency_keys k using batch b where k.owner = b.user_id
    )
    delete from users u using batch b where u.user_id = b.user_id
    returning u.picture
    """
  )

  /// Deletes an app with its rows that have no user.
  ///
  /// Housekeeping deletes the devices without users and the remaining attempts.
  static let delete = Statement<NoRow, AppID>(
    "apps.delete",
    """
    with indexes as (delete from search_indexes where app_id = $1),
      imports as (delete from imports where app_id = $1),
      attempts as (delete from rate_limits where app_id = $1)
    delete from apps where app_id = $1
    """
  )

  /// Deletes the next thousand audit events of an app.
  ///
  /// Served by `audit_by_app`.
  static let deleteTrail = Statement<Int, AppID>(
    "apps.delete_trail",
    """
    with old as (
      select user_id, event_id from audit where app_id = $1 order by event_id limit 1000
    ), removed as (
      delete from audit a using old o where a.user_id = o.user_id and a.event_id = o.event_id
      returning 1
    )
    select count(*) from removed
    """
  )

  package static let all: [any PreparedStatement] = [deleteUsers, delete, deleteTrail]
}
