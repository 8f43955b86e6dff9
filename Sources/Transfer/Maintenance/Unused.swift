import Accounts
import EventLoop
import IdentitySubjects
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
        EventQueries.publish, user.user.text, EventID(), user.app, "user_delete", "system",
        nil, nil, nil, nil, TextBytes(Array(#"{"reason": "unused"}"#.utf8)), nil
      )
      return true
    }
  }

  /// Deletes unused devices, and returns their number.
  ///
  /// A device may list users who have no account there any more. They are removed from the list.
  func removeDevices(_ database: Database) async throws(DatabaseError) -> Int {
    var removed = 0
    try await devices.run(database) { (page) async throws(DatabaseError) in
      let old = page.compactMap { device in device.list.map { (device.id, $0) } }
      let listed = old.flatMap { device, list in
        DeviceState.users(in: list).map { (user: $0.text, device: device) }
      }
      let accounts = Set(
        try await database.write(
          UnusedQueries.deviceAccounts, TextArray(listed.map(\.user)),
          TextArray(listed.map(\.device))
        )
      )
      for (device, list) in old {
        let users = DeviceState.users(in: list)
        let kept = users.filter { accounts.contains("\(device) \($0.text)") }
        if kept.isEmpty {
          removed += try await database.write(UnusedQueries.removeDevice, device, list).count
        } else if kept.count < users.count {
          let texts = TextArray(kept.map(\.text))
          _ = try await database.write(UnusedQueries.keepUsers, device, list, texts)
        }
      }
    }
    return removed
  }
}

/// An anonymous user of a page.
struct AnonymousUser: SweptRow {
  let app: AppID
  let user: UserID
  /// Whether the user has no profile, and was not seen for the days of the app.
  let isStale: Bool

  var id: String { user.text }

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    user = try row.id(1)
    isStale = try row.bool(2)
  }
}

/// A device, with its users as the database prints them, or nil if it was used in the last day.
struct OldDevice: SweptRow {
  let id: String
  let list: String?

  init(from row: Row) throws(DatabaseError) {
    id = try row.text(0)
    list = row.text(ifAny: 1)
  }
}

extension SQL {
  /// The condition that the user `u` of the app `a` has no profile, and was not seen for its days.
  fileprivate static let isStale: SQL = """
    a.anonymous_user_retention_days > 0 and u.anonymous and u.blocked_at is null
      and greatest(u.created_at, u.last_login_at)
        < now() - a.anonymous_user_retention_days * interval '1 day'
      and num_nonnulls(
        u.email, u.name, u.given_name, u.family_name, u.nickname, u.phone, u.locale, u.zone,
        u.picture) = 0
    """
}

package enum UnusedQueries {
  /// Returns the page of all shards after that user.
  ///
  /// Served by `users_anonymous`.
  static let users = Statement<AnonymousUser, String>(
    "unused.users",
    """
    select u.app_id, u.user_id, \(.isStale)
    from users u join apps a on a.app_id = u.app_id
    where u.anonymous and u.user_id > $1
    order by u.user_id limit 1000
    """)

  /// Returns a row if a user has no data, no other identity and no session in use.
  ///
  /// A new table of user data belongs here too; a test checks this. The version of the user does not
  /// matter.
  static let find = Statement<Int, UserID>(
    "unused.find",
    """
    select 1 from users u join apps a on a.app_id = u.app_id
    where u.user_id = $1 and \(.isStale)
      and exists (
        select 1 from identities t where t.user_id = $1 and t.provider = 'anonymous')
      and not exists (
        select 1 from identities t where t.user_id = $1 and t.provider <> 'anonymous')
      and not exists (
        select 1 from sessions t where t.user_id = $1
          and t.refreshed_at >= now() - a.anonymous_user_retention_days * interval '1 day')
      and not exists (select 1 from documents t where t.user_id = $1 and t.deleted_at is null)
      and not exists (select 1 from document_versions t where t.user_id = $1)
      and not exists (select 1 from properties t where t.user_id = $1)
      and not exists (select 1 from additional_subjects t where t.user_id = $1)
      and not exists (select 1 from pictures t where t.user_id = $1)
      and not exists (select 1 from api_keys t where t.user_id = $1)
      and not exists (select 1 from passkeys t where t.user_id = $1)
      and not exists (select 1 from merges t where t.user_id = $1)
      and not exists (select 1 from authentication_flows t where t.place = $1)
      and not exists (select 1 from support_codes t where t.user_id = $1)
      and not exists (select 1 from second_factors t where t.user_id = $1)
      and not exists (select 1 from recovery_codes t where t.user_id = $1)
      and not exists (select 1 from passwords t where t.user_id = $1)
    """)

  /// Locks a user: every write for a user also locks its row, and waits.
  static let lock = Statement<NoRow, UserID>(
    "unused.lock", "select 1 from users where user_id = $1 for update"
  )

  /// Returns the page after that device.
  static let devices = Statement<OldDevice, String>(
    "unused.devices",
    """
    select device_id, case when last_seen_at < now() - interval '1 day' then user_ids end
    from devices where device_id > $1::text order by device_id limit 1000
    """)

  /// Returns which of the users `$1` have accounts on the devices `$2`, each user on the device at
  /// the same place: the device, a space and the user.
  ///
  /// It asks all nodes of a distributed database once, where one read for each user would ask one
  /// node a thousand times.
  static let deviceAccounts = Statement<String, TextArray, TextArray>(
    "unused.device_accounts",
    """
    select p.device_id || ' ' || p.user_id from unnest($1::text[], $2::text[]) i (user_id, device_id)
    join device_accounts p on p.user_id = i.user_id and p.device_id = i.device_id
    """)

  /// Replaces the list of users of a device, unless it has changed meanwhile.
  static let keepUsers = Statement<NoRow, String, String, TextArray>(
    "unused.keep_users",
    "update devices set user_ids = $3::text[] where device_id = $1 and user_ids = $2::text[]")

  /// Deletes a device, unless it was used meanwhile.
  ///
  /// The secret of a deleted device remains valid, since its MAC proves that this server issued it.
  static let removeDevice = Statement<String, String, String>(
    "unused.remove_device",
    """
    delete from devices where device_id = $1 and user_ids = $2::text[]
      and last_seen_at < now() - interval '1 day'
    returning device_id
    """)
}
